import json
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from echo_constants import AuthError, EchoError, UpstreamError
from echo_core import PromptBlocked, TokensSpentThinking, TurnEngine, TurnPlan, TurnRecord
from echo_core.ports import OnWait, ToolProgress, ToolRequest
from echo_core.tool_rounds import ROUND_NOTICES
from echo_events import (
    CallsHandedOver,
    HandedCall,
    MediaShown,
    NoticeShown,
    SourcesFound,
    TextStreamed,
    ThoughtEnded,
    ThoughtStreamed,
    ToolCalled,
    ToolFinished,
    ToolProgressed,
    TurnEvent,
    TurnFinished,
    UsageCounted,
)
from echo_prompts import SHIPPED
from scripted import FakeClock, ListJournal, ListMedia, ScriptedBackend, ScriptedTools, call, chunk

USER = b'{"role":"user","parts":[{"text":"Hi"}]}'
PLAN = TurnPlan(model_id="m", contents=[USER], tools=b'[{"functionDeclarations":[]}]', max_rounds=3)


def engine_over(
    backend: ScriptedBackend,
    tools: ScriptedTools | None = None,
    media: ListMedia | None = None,
    on_wait: OnWait | None = None,
) -> TurnEngine:
    return TurnEngine(
        backend=backend,
        tools=tools or ScriptedTools(lambda request: f"{request.name} done"),
        journal=ListJournal(),
        media=media or ListMedia(),
        clock=FakeClock(),
        record=TurnRecord(),
        on_wait=on_wait,
    )


async def run(engine: TurnEngine, plan: TurnPlan = PLAN) -> list[TurnEvent]:
    return [event async for event in engine.run(plan)]


async def test_a_plain_answer_streams_and_ends_with_usage() -> None:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5, "totalTokenCount": 17}
    backend = ScriptedBackend([chunk({"text": "Hel"}), chunk({"text": "lo"}, finish="STOP", usage=usage)])
    events = await run(engine_over(backend))
    assert events[:2] == [TextStreamed("Hel"), TextStreamed("lo")]
    assert isinstance(events[2], UsageCounted)
    assert events[2].usage["completion_tokens"] == 7
    assert events[3] == TurnFinished("stop")


async def test_the_backends_waits_are_told() -> None:
    told: list[tuple[float, str]] = []

    async def on_wait(wait_s: float, error: EchoError) -> None:
        told.append((wait_s, error.code))

    backend = ScriptedBackend([chunk({"text": "At last"}, finish="STOP")], waits=[(8.0, UpstreamError())])
    await run(engine_over(backend, on_wait=on_wait))
    assert told == [(8.0, "upstream")]


async def test_thoughts_come_apart_and_never_go_back() -> None:
    backend = ScriptedBackend(
        [chunk({"text": "hm", "thought": True}), chunk({"text": "Yes", "thoughtSignature": "c2ln"}, finish="STOP")]
    )
    engine = engine_over(backend)
    events = await run(engine)
    assert [type(event) for event in events[:3]] == [ThoughtStreamed, ThoughtEnded, TextStreamed]
    assert json.loads(engine.record.hops[0]) == {
        "role": "model",
        "parts": [{"text": "Yes", "thoughtSignature": "c2ln"}],
    }


async def test_parallel_calls_are_answered_in_call_order_under_their_ids() -> None:
    backend = ScriptedBackend(
        [chunk(call("a", "id1", signature="c2ln", x=1), call("b", "id2"), finish="STOP")],
        [chunk({"text": "done"}, finish="STOP")],
    )
    engine = engine_over(backend)
    events = await run(engine)
    cards = [event.call_id for event in events if isinstance(event, ToolCalled)]
    results = [event.call_id for event in events if isinstance(event, ToolFinished)]
    assert results == cards[::-1]
    sent = backend.requests[1]["contents"]
    assert [c["role"] for c in sent] == ["user", "model", "user"]
    assert sent[1]["parts"][0]["thoughtSignature"] == "c2ln"
    assert [p["functionResponse"]["id"] for p in sent[2]["parts"]] == ["id1", "id2"]
    assert [p["functionResponse"]["response"] for p in sent[2]["parts"]] == [{"output": "a done"}, {"output": "b done"}]


async def test_each_request_begins_with_the_bytes_of_the_one_before() -> None:
    steps: list[list[Any]] = [[chunk(call("a"), finish="STOP")] for _ in range(3)]
    backend = ScriptedBackend(*steps, [chunk({"text": "done"}, finish="STOP")])
    await run(engine_over(backend))
    contents = [body.split(b'"contents":[')[1].split(b'],"toolConfig"')[0].rstrip(b"]}") for body in backend.bodies]
    for before, after in pairwise(contents):
        assert after.startswith(before)


async def test_after_the_last_round_the_model_is_asked_for_words() -> None:
    steps: list[list[Any]] = [[chunk(call("a"), finish="STOP")] for _ in range(3)]
    backend = ScriptedBackend(*steps, [chunk({"text": "enough"}, finish="STOP")])
    events = await run(engine_over(backend))
    modes = [request.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode") for request in backend.requests]
    assert modes == [None, None, None, "NONE"]
    assert all(request["tools"] == backend.requests[0]["tools"] for request in backend.requests)
    assert events[-1] == TurnFinished("stop")


async def test_the_last_round_is_told_to_the_model_and_to_the_user() -> None:
    steps: list[list[Any]] = [[chunk(call("a", n=n), call("b"), finish="STOP")] for n in range(3)]
    backend = ScriptedBackend(*steps, [chunk({"text": "enough"}, finish="STOP")])
    events = await run(engine_over(backend), replace(PLAN, locale="fr"))
    responses = [part["functionResponse"]["response"] for part in backend.requests[-1]["contents"][-1]["parts"]]
    assert responses == [{"output": "a done"}, {"output": "b done", "note": SHIPPED.text("note_last_round", "fr")}]
    [notice] = [event for event in events if isinstance(event, NoticeShown)]
    assert notice == NoticeShown(ROUND_NOTICES["last_round"].fr, "warning")


async def test_a_model_that_repeats_itself_is_told_and_then_asked_for_words() -> None:
    steps: list[list[Any]] = [[chunk(call("a"), finish="STOP")] for _ in range(5)]
    backend = ScriptedBackend(*steps, [chunk({"text": "I give up."}, finish="STOP")])
    events = await run(engine_over(backend), replace(PLAN, max_rounds=50))
    contents = backend.requests[-1]["contents"]
    notes = [c["parts"][0]["functionResponse"]["response"].get("note") for c in contents[2::2]]
    repeats, stuck = (SHIPPED.text(name, "en") for name in ("note_repeats", "note_stuck"))
    assert notes == [None, None, repeats, repeats, stuck]
    assert backend.requests[-1]["toolConfig"]["functionCallingConfig"] == {"mode": "NONE"}
    assert NoticeShown(ROUND_NOTICES["stuck"].en, "warning") in events
    assert events[-1] == TurnFinished("stop")


async def test_calls_of_the_callers_own_tools_end_the_turn_and_wait_for_it() -> None:
    backend = ScriptedBackend([chunk(call("ours"), call("theirs", "id2", x=1), finish="STOP")])
    engine = engine_over(backend)
    events = await run(engine, replace(PLAN, handed_over=frozenset({"theirs"})))
    [cards] = [event for event in events if isinstance(event, ToolCalled)]
    assert cards.name == "ours"
    [handed] = [event for event in events if isinstance(event, CallsHandedOver)]
    assert handed.calls == (HandedCall("call_1_1", "theirs", '{"x":1}'),)
    assert events[-1] == TurnFinished("tool_calls")
    _, answered = engine.record.hops
    assert [part["functionResponse"]["name"] for part in json.loads(answered)["parts"]] == ["ours"]


async def test_without_calls_the_flag_for_googles_tools_stays_in_the_request() -> None:
    steps: list[list[Any]] = [[chunk(call("a", n=n), finish="STOP")] for n in range(3)]
    backend = ScriptedBackend(*steps, [chunk({"text": "enough"}, finish="STOP")])
    flag = {"includeServerSideToolInvocations": True}
    await run(engine_over(backend), replace(PLAN, tool_config=flag))
    assert backend.requests[-1]["toolConfig"] == flag | {"functionCallingConfig": {"mode": "NONE"}}


async def test_a_continuation_sends_the_same_request_with_the_token() -> None:
    first = chunk({"text": "part one, "}, finish="CONTINUATION")
    first["candidates"][0]["continuationToken"] = "dG9r"
    backend = ScriptedBackend([first], [chunk({"text": "part two"}, finish="STOP")])
    engine = engine_over(backend)
    await run(engine)
    assert backend.requests[1]["continuationToken"] == "dG9r"
    assert engine.record.transcript.text == "part one, part two"
    assert backend.requests[1]["contents"] == backend.requests[0]["contents"]
    [hop] = engine.record.hops
    assert [part["text"] for part in json.loads(hop)["parts"]] == ["part one, ", "part two"]


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        ([{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}], PromptBlocked),
        ([chunk({"text": "hm", "thought": True}), chunk(finish="MAX_TOKENS")], TokensSpentThinking),
    ],
)
async def test_answers_that_are_none_become_errors(stream: list[Any], error: type[EchoError]) -> None:
    with pytest.raises(error):
        await run(engine_over(ScriptedBackend(stream)))


async def test_reaching_the_limit_with_text_is_a_finish_with_length() -> None:
    events = await run(engine_over(ScriptedBackend([chunk({"text": "long"}, finish="MAX_TOKENS")])))
    assert events[-1] == TurnFinished("length")


async def test_a_failure_for_good_in_the_middle_keeps_what_had_come() -> None:
    engine = engine_over(ScriptedBackend([chunk({"text": "half"}), AuthError("revoked")]))
    seen: list[TurnEvent] = []
    with pytest.raises(AuthError):
        async for event in engine.run(PLAN):
            seen.append(event)
    engine.record.close()
    assert seen == [TextStreamed("half")]
    assert json.loads(engine.record.hops[0])["parts"] == [{"text": "half"}]


async def test_leaving_early_closes_the_stream_at_once() -> None:
    backend = ScriptedBackend([chunk({"text": "a"}), chunk({"text": "b"}, finish="STOP")])
    async with aclosing(engine_over(backend).run(PLAN)) as events:
        assert await anext(events) == TextStreamed("a")
    assert backend.closed == 1


async def test_every_chunk_is_kept_before_it_is_shown_and_written_before_tools_run() -> None:
    journal = ListJournal()
    backend = ScriptedBackend([chunk(call("a"), finish="STOP")], [chunk({"text": "x"}, finish="STOP")])
    engine = TurnEngine(
        backend=backend,
        tools=ScriptedTools(lambda _: str(len(journal.records))),
        journal=journal,
        media=ListMedia(),
        clock=FakeClock(),
        record=TurnRecord(),
    )
    async for event in engine.run(PLAN):
        if isinstance(event, ToolCalled):
            assert journal.records[-1] == "flush"
        if isinstance(event, TextStreamed):
            assert journal.records[-1]["candidates"][0]["content"]["parts"] == [{"text": "x"}]


async def test_images_are_stored_and_shown_by_address() -> None:
    media = ListMedia()
    image = {"inlineData": {"mimeType": "image/png", "data": "aW1n"}, "thoughtSignature": "c2ln"}
    engine = engine_over(ScriptedBackend([chunk(image, finish="STOP")]), media=media)
    events = await run(engine)
    assert MediaShown("/files/1") in events
    assert media.kept == [("image/png", "aW1n")]
    assert json.loads(engine.record.hops[0])["parts"] == [image]


async def test_grounding_becomes_sources() -> None:
    last = chunk({"text": "So it is."}, finish="STOP")
    last["candidates"][0]["groundingMetadata"] = {
        "groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}]
    }
    events = await run(engine_over(ScriptedBackend([last])))
    [found] = [event for event in events if isinstance(event, SourcesFound)]
    assert found.sources[0]["source"]["url"] == "https://a.example"


async def test_every_card_gets_a_result_even_when_running_tools_breaks() -> None:
    def broken(request: ToolRequest) -> str:
        if request.name == "a":
            raise RuntimeError("nobody foresaw this")
        return "fine"

    backend = ScriptedBackend([chunk(call("a"), call("b"), finish="STOP")])
    seen: list[TurnEvent] = []
    with pytest.raises(RuntimeError):
        async for event in engine_over(backend, ScriptedTools(broken)).run(PLAN):
            seen.append(event)
    cards = {event.call_id for event in seen if isinstance(event, ToolCalled)}
    assert {event.call_id for event in seen if isinstance(event, ToolFinished)} == cards
    assert len(cards) == 2


@pytest.mark.parametrize("limit", [{"max_tokens": 25}, {"conclude_at_s": 0.0}])
async def test_a_turn_whose_tokens_or_time_are_used_up_is_asked_for_words(limit: dict[str, Any]) -> None:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    steps: list[list[Any]] = [[chunk(call("a", n=n), finish="STOP", usage=usage)] for n in range(2)]
    backend = ScriptedBackend(*steps, [chunk({"text": "enough"}, finish="STOP")])
    rounds = 2 if "max_tokens" in limit else 1
    backend.streams[rounds:2] = []
    await run(engine_over(backend), replace(PLAN, **limit))
    assert backend.requests[-1]["toolConfig"]["functionCallingConfig"] == {"mode": "NONE"}
    response = backend.requests[-1]["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert response["note"] == SHIPPED.text("note_last_round", "en")
    assert len(backend.requests) == rounds + 1


async def test_progress_of_a_tool_is_shown_before_its_result() -> None:
    class Telling(ScriptedTools):
        async def run(self, requests: Any) -> Any:
            yield ToolProgress(card_id=requests[0].card_id, doing="half way", steps=("begun",))
            async for outcome in super().run(requests):
                yield outcome

    backend = ScriptedBackend([chunk(call("a"), finish="STOP")], [chunk({"text": "done"}, finish="STOP")])
    events = await run(engine_over(backend, Telling(lambda request: "ok")))
    about = [event for event in events if isinstance(event, ToolCalled | ToolProgressed | ToolFinished)]
    assert [type(event) for event in about] == [ToolCalled, ToolProgressed, ToolFinished]
    assert about[1] == ToolProgressed(call_id=about[0].call_id, doing="half way", steps=("begun",))
