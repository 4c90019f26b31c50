"""Tools as people write them; only Open WebUI's own reading of a result is played."""

import asyncio
import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from echo_core.ports import ToolOutcome, ToolProgress, ToolRequest
from echo_protocol import InlineDataPart
from echo_runtime import PipeCall, _owui, tool_runner
from echo_runtime.own_tools import OutputError, kept_for, read_tool_output_entry
from echo_runtime.tool_approval import DENIED, NOBODY
from echo_runtime.tool_results import MAX_RESULT_CHARS, ResultReader
from echo_runtime.tool_runner import OwuiToolRunner
from echo_runtime.tools_cache import SEAT
from echo_state_manager.memory import MemoryShadowStore

PNG = "iVBORw0KGgo="


@pytest.fixture(autouse=True)
def read_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    async def readable(
        request: Any, name: str, result: Any, tool: Mapping[str, Any], metadata: Any, user: Any, off_loop: bool = False
    ) -> tuple[str, list[Any], list[Any]]:
        if isinstance(result, dict) and "picture" in result:
            return "[image]", [{"type": "image", "url": result["picture"]}], []
        return json.dumps(result) if isinstance(result, dict | list) else str(result), [], []

    monkeypatch.setattr(_owui, "readable_result", readable)


def call_of(**changes: Any) -> PipeCall:
    values: dict[str, Any] = {"body": {}, "user": {"id": "u"}, "metadata": {}, "valves": SimpleNamespace(), "tools": {}}
    return PipeCall(**(values | changes))


def runner_of(
    tools: Mapping[str, Any],
    call: PipeCall | None = None,
    store: MemoryShadowStore | None = None,
    *,
    timeout_s: float = 5,
    sees_media: bool = True,
) -> OwuiToolRunner:
    call = call or call_of()
    return OwuiToolRunner(call, tools, ResultReader(call, store, "answer", sees_media=sees_media), timeout_s)


def entry(function: Callable[..., Any]) -> dict[str, Any]:
    return {"callable": function, "spec": {"name": "tool", "parameters": {"properties": {"x": {}}}}}


async def outcomes(runner: OwuiToolRunner, *requests: ToolRequest) -> dict[str, ToolOutcome]:
    return {outcome.card_id: outcome async for outcome in runner.run(requests)}


async def run(function: Callable[..., Any], timeout_s: float = 5, **args: Any) -> ToolOutcome:
    runner = runner_of({"tool": entry(function)}, timeout_s=timeout_s)
    return (await outcomes(runner, ToolRequest(card_id="c", name="tool", args=args)))["c"]


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def raising(error: BaseException) -> Callable[..., Any]:
    async def tool() -> str:
        raise error

    return tool


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        SystemExit(1),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        Speechless(),
        ValueError("a\ud800b"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_is_an_answer_that_names_it(error: BaseException) -> None:
    outcome = await run(raising(error))
    assert type(error).__name__ in outcome.response["error"]
    outcome.text.encode("utf-8")


async def test_a_tool_that_hangs_is_told_as_such() -> None:
    outcome = await run(lambda: asyncio.Event().wait(), timeout_s=0.01)
    assert "did not answer within" in outcome.response["error"]


async def test_only_declared_arguments_reach_the_tool() -> None:
    async def tool(x: int) -> int:
        return x

    assert (await run(tool, x=3, __user__="forged")).text == "3"


async def test_a_call_that_lacks_an_argument_is_told_which() -> None:
    async def tool(x: int, y: int) -> int:
        return x + y

    needy = {"callable": tool, "spec": {"name": "tool", "parameters": {"properties": {"x": {}, "y": {}}}}}
    needy["spec"]["parameters"]["required"] = ["x", "y"]
    got = await outcomes(runner_of({"tool": needy}), ToolRequest(card_id="c", name="tool", args={"x": 1}))
    assert got["c"].response["error"].startswith("The call lacks y.")


async def test_a_result_with_a_lone_surrogate_becomes_storable_text() -> None:
    async def tool() -> str:
        return "a\ud800b"

    assert (await run(tool)).text == "a\ufffdb"


async def test_a_huge_result_is_cut_and_says_so() -> None:
    async def tool() -> str:
        return "x" * (MAX_RESULT_CHARS + 1000)

    outcome = await run(tool)
    assert len(outcome.text) < MAX_RESULT_CHARS + 200
    assert f"the first {MAX_RESULT_CHARS} of {MAX_RESULT_CHARS + 1000} characters" in outcome.text
    assert "The rest is lost." in outcome.text


async def test_what_is_cut_off_can_be_read_on_by_the_id_that_is_told() -> None:
    whole = "".join(f"{n:07d}\n" for n in range(40_000))

    async def tool() -> str:
        return whole

    store = MemoryShadowStore()
    own = read_tool_output_entry(store, call_of().user_id)
    runner = runner_of({"tool": entry(tool), "read_tool_output": own}, store=store)
    cut = (await outcomes(runner, ToolRequest(card_id="call_1_0", name="tool", args={})))["call_1_0"]
    told = cut.text.rpartition("read_tool_output(")[2]
    args = dict(part.split("=") for part in told.split(").")[0].replace('"', "").split(", "))
    read = (await outcomes(runner, ToolRequest(card_id="c", name="read_tool_output", args=args)))["c"]
    head, _, text = read.text.partition("\n")
    assert cut.text.startswith(whole[:MAX_RESULT_CHARS])
    assert head == "[characters 240000-320000 of 320000]"
    assert text == whole[MAX_RESULT_CHARS:]


@pytest.mark.parametrize(
    ("span", "got"),
    [("", "0123456789"), ("3-5", "34"), ("7-", "789"), ("-2", "89"), ("8", "89"), ("0-99999999", "0123456789")],
)
async def test_ranges_as_a_model_writes_them(span: str, got: str) -> None:
    store = MemoryShadowStore()
    await store.keep_tool_output("m", kept_for("c", "ada"), "0123456789")
    text = await read_tool_output_entry(store, "ada")["callable"](id="c@m", range=span)
    assert text.partition("\n")[2] == got


async def test_nobody_else_who_writes_in_the_chat_reads_a_result() -> None:
    store = MemoryShadowStore()
    await store.keep_tool_output("m", kept_for("c", "ada"), "0123456789")
    with pytest.raises(OutputError, match="No result is kept"):
        await read_tool_output_entry(store, "bob")["callable"](id="c@m")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"id": "c@m", "range": "ten to twenty"}, "is no range"),
        ({"id": "c@m", "range": "5-3"}, "ends before it begins"),
        ({"id": "c@m", "range": "50-60"}, "has 10 characters"),
        ({"id": "x@m"}, "No result is kept"),
        ({"id": ""}, "No result is kept"),
        ({}, "The call lacks id."),
    ],
)
async def test_what_cannot_be_read_is_an_answer_that_the_model_can_act_on(args: dict[str, Any], told: str) -> None:
    store = MemoryShadowStore()
    await store.keep_tool_output("m", kept_for("c", "ada"), "0123456789")
    runner = runner_of({"read_tool_output": read_tool_output_entry(store, "ada")}, store=store)
    [outcome] = (await outcomes(runner, ToolRequest(card_id="c", name="read_tool_output", args=args))).values()
    assert told in outcome.response["error"]


async def test_many_long_results_of_one_step_share_the_room() -> None:
    async def tool() -> str:
        return "x" * 1_000_000

    runner = runner_of({"tool": entry(tool)}, store=MemoryShadowStore())
    requests = [ToolRequest(card_id=f"c{n}", name="tool", args={}) for n in range(16)]
    texts = [outcome.text for outcome in (await outcomes(runner, *requests)).values()]
    assert sum(map(len, texts)) < 1_000_000


async def test_large_results_are_read_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, bool]] = []

    async def readable(*args: Any, off_loop: bool) -> tuple[str, list[Any], list[Any]]:
        read.append((type(args[2]).__name__, off_loop))
        return "read", [], []

    monkeypatch.setattr(_owui, "readable_result", readable)
    large = "x" * 1_000_000
    for result in ("small", {"row": 1}, [large], {"rows": [[large]]}):
        await run(_returning(result))
    assert read == [("str", False), ("dict", False), ("list", True), ("dict", True)]
    for result in (large, [{"type": "text", "text": large}]):
        assert (await run(_returning(result))).text.startswith("xxx")
    assert len(read) == 4, "plain long text needs no reading at all"


def _returning(result: Any) -> Callable[..., Any]:
    async def tool() -> Any:
        return result

    return tool


async def test_binary_results_are_told_or_shown() -> None:
    async def noise() -> bytes:
        return bytes(range(256))

    async def words() -> bytes:
        return "déjà".encode()

    async def picture() -> bytes:
        return b"\x89PNG\r\n\x1a\n"

    assert "256 bytes of binary data" in (await run(noise)).text
    assert (await run(words)).text == "déjà"
    shown = await run(picture)
    [part] = shown.media
    assert isinstance(part, InlineDataPart) and part.mime_type == "image/png"
    assert shown.files == ({"type": "image", "url": f"data:image/png;base64,{PNG}"},)


async def test_values_that_json_has_no_word_for_become_text() -> None:
    async def odd() -> dict[Any, Any]:
        return {"when": object, "nan": float("nan")}

    async def cyclic() -> list[Any]:
        knot: list[Any] = []
        knot.append(knot)
        return knot

    assert "NaN" in (await run(odd)).response["output"]
    assert (await run(cyclic)).response["output"] == "[[...]]"


async def test_c20_an_image_from_a_tool_reaches_the_model_beside_its_response() -> None:
    async def tool() -> dict[str, str]:
        return {"picture": f"data:image/png;base64,{PNG}"}

    outcome = await run(tool)
    [part] = outcome.media
    assert isinstance(part, InlineDataPart) and (part.mime_type, part.data) == ("image/png", PNG)


async def test_c10_a_picture_of_a_saved_chat_becomes_a_file_and_no_chunk_holds_its_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[str] = []

    async def keep_image(request: Any, metadata: Any, user: Any, data_uri: str) -> str:
        kept.append(data_uri)
        return "/api/v1/files/1/content"

    async def tool() -> dict[str, str]:
        return {"picture": f"data:image/png;base64,{'A' * 5_000_000}"}

    monkeypatch.setattr(_owui, "keep_image", keep_image)
    saved = {"session_id": "s", "message_id": "m", "chat_id": "c", "user_message_id": "u"}
    runner = runner_of({"tool": entry(tool)}, call_of(metadata=saved))
    [outcome] = (await outcomes(runner, ToolRequest(card_id="c", name="tool", args={}))).values()
    assert len(kept) == 1
    assert outcome.files == ({"type": "image", "url": "/api/v1/files/1/content"},)
    assert len(outcome.media) == 1


async def test_media_that_the_model_cannot_take_is_named() -> None:
    async def tool() -> dict[str, Any]:
        return {
            "output": "a song",
            "echo_tool_multiparts": [
                {"inlineData": {"mimeType": "audio/mp3", "data": "AAAA"}},
                {"inlineData": {"mimeType": "image/png", "data": "A" * 9_000_000}},
                {"text": "la la"},
            ],
        }

    outcome = await run(tool)
    assert outcome.media == ()
    for told in ("a song", "audio/mp3", "too large", "la la"):
        assert told in outcome.response["output"]
    blind = runner_of({"tool": entry(tool)}, sees_media=False)
    [outcome] = (await outcomes(blind, ToolRequest(card_id="c", name="tool", args={}))).values()
    assert "does not see media" in outcome.response["output"]


async def test_transient_artifacts_are_told_beside_the_result() -> None:
    async def tool() -> dict[str, Any]:
        return {"output": "done", "aec_event": "<artifact/>"}

    assert (await run(tool)).response == {"output": "done", "artifacts": ["<artifact/>"]}


async def test_a_tool_that_swallows_its_cancellation_does_not_hold_up_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_runner, "GRACE_S", 0.01)
    released = asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    assert "did not answer within" in (await run(stubborn, timeout_s=0.01)).response["error"]
    released.set()


class Browser:
    """Answers the dialogs of a tab in turn."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, event: dict[str, Any]) -> Any:
        self.asked.append(event)
        return self.answers.pop(0)


def asking_call(browser: Browser | None, **metadata: Any) -> PipeCall:
    told = {"params": {"tool_approval_mode": "ask"}, "session_id": "s", "message_id": "m", "chat_id": "temporary:s"}
    return call_of(metadata=told | metadata, event_call=browser)


async def test_permissions_are_asked_one_after_the_other_and_a_refusal_is_told_to_the_model() -> None:
    ran: list[int] = []

    async def tool(x: int) -> str:
        ran.append(x)
        return f"done {x}"

    browser = Browser(True, False, {"error": "Client session disconnected."})
    runner = runner_of({"tool": entry(tool)}, asking_call(browser))
    requests = [ToolRequest(card_id=f"c{x}", name="tool", args={"x": x}) for x in range(3)]
    got = await outcomes(runner, *requests)
    assert [event["data"]["tool_call"]["arguments"] for event in browser.asked] == [{"x": 0}, {"x": 1}, {"x": 2}]
    assert {event["type"] for event in browser.asked} == {"confirmation"}
    assert ran == [0]
    assert got["c0"].response == {"output": "done 0"}
    assert got["c1"].response == {"error": DENIED}
    assert got["c2"].response == {"error": NOBODY}


async def test_waiting_for_permission_does_not_count_as_the_tools_time() -> None:
    asked = asyncio.Event()

    async def patient(event: dict[str, Any]) -> bool:
        await asyncio.sleep(0.05)
        asked.set()
        return True

    async def tool() -> str:
        return "done"

    call = call_of(
        metadata={"params": {"tool_approval_mode": "ask"}, "session_id": "s", "message_id": "m"}, event_call=patient
    )
    runner = runner_of({"tool": entry(tool)}, call, timeout_s=0.02)
    [outcome] = (await outcomes(runner, ToolRequest(card_id="c", name="tool", args={}))).values()
    assert outcome.text == "done"


async def test_a_question_to_the_user_needs_no_permission_and_waits_for_its_answer() -> None:
    asked = asyncio.Event()

    async def ask() -> str:
        await asyncio.wait_for(asked.wait(), 5)
        return "green"

    browser = Browser()
    tool = entry(ask) | {"tool_id": "builtin:ask_user", "type": "builtin"}
    runner = runner_of({"ask_user": tool}, asking_call(browser), timeout_s=0.01)
    asyncio.get_running_loop().call_later(0.05, asked.set)
    [outcome] = (await outcomes(runner, ToolRequest(card_id="c", name="ask_user", args={}))).values()
    assert outcome.text == "green"
    assert browser.asked == []


async def test_a_running_tool_tells_what_it_does_and_adds_to_its_card_and_to_the_citations() -> None:
    async def tool(x: str) -> str:
        seat = SEAT.get()
        assert seat is not None
        seat.tell("half way", ["begun"])
        seat.sources.append({"source": {"name": x}})
        seat.files.append({"type": "image", "url": x})
        return "done"

    runner = runner_of({"tool": entry(tool)})
    requests = [ToolRequest(card_id=name, name="tool", args={"x": name}) for name in ("c1", "c2")]
    news = [one async for one in runner.run(requests)]
    for card in ("c1", "c2"):
        progress, outcome = (one for one in news if one.card_id == card)
        assert progress == ToolProgress(card_id=card, doing="half way", steps=("begun",))
        assert isinstance(outcome, ToolOutcome)
        assert (outcome.sources, outcome.files) == (
            ({"source": {"name": card}},),
            ({"type": "image", "url": card},),
        )
    assert SEAT.get() is None


async def test_full_access_chosen_during_the_turn_counts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = ["ask", "full"]

    async def approval_mode(chat_id: str) -> str:
        return modes.pop(0)

    async def tool(x: int) -> str:
        return "done"

    monkeypatch.setattr(_owui, "approval_mode", approval_mode)
    browser = Browser(True)
    runner = runner_of({"tool": entry(tool)}, asking_call(browser, chat_id="saved", user_message_id="u"))
    requests = [ToolRequest(card_id=f"c{x}", name="tool", args={"x": x}) for x in range(3)]
    got = await outcomes(runner, *requests)
    assert len(browser.asked) == 1
    assert {outcome.text for outcome in got.values()} == {"done"}


async def test_without_a_browser_nothing_that_needs_permission_runs() -> None:
    async def tool() -> str:
        raise AssertionError("ran without permission")

    runner = runner_of({"tool": entry(tool)}, asking_call(None))
    [outcome] = (await outcomes(runner, ToolRequest(card_id="c", name="tool", args={}))).values()
    assert outcome.response == {"error": NOBODY}


async def test_stopping_the_turn_stops_its_tools() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def tool() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    turn = asyncio.create_task(run(tool))
    await asyncio.wait_for(started.wait(), 5)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert ended.is_set()
