"""Whatever breaks, users read what happened and what to do in their language, with a reference that is in the log."""

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from echo_cli._ports import free_port
from echo_cli._process import Child, end_all
from echo_cli._simulator import simulator_command
from echo_constants import EchoError, Locale
from echo_core import EmptyAnswer, PromptBlocked, TokensSpentThinking
from echo_gemini_client import (
    KeyRejected,
    ModelNotFound,
    ModelOverloaded,
    NetworkUnreachable,
    QuotaPerDay,
    QuotaPerMinute,
    StreamBroken,
)
from echo_protocol import Catalogue
from echo_state_manager import StoreUnavailableError
from echo_workers.gemini_sim.core import faults
from live import answers
from live.client import Client, Turn, poll
from live.stack import Live, Sim

LIBS = Path(__file__).resolve().parents[2] / "libs"
MODEL = Catalogue.load().resolve("MODEL_FLASH", "ai_studio").backend_id("ai_studio")
PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"

#: (name, scripted answer, what the user is told, what of the answer stays)
CASES: list[tuple[str, faults.Entry, EchoError, str]] = [
    ("unknown model", answers.model_unknown(MODEL), ModelNotFound(model=MODEL), ""),
    ("quota of the minute", faults.quota_exhausted(retry_s=0.1, times=-1), QuotaPerMinute(), ""),
    ("quota of the day", faults.quota_exhausted(quota_id=PER_DAY), QuotaPerDay(), ""),
    ("blocked prompt", answers.prompt_blocked(), PromptBlocked(reason="PROHIBITED_CONTENT"), ""),
    ("empty answer", {**answers.only({"finishReason": "STOP"}), "times": -1}, EmptyAnswer(), ""),
    ("tokens spent on thinking", answers.spent_thinking("Let me", " think"), TokensSpentThinking(), ""),
    (
        "error in mid-stream",
        faults.mid_stream_error("Half an ", "answer", times=-1),
        ModelOverloaded(),
        "Half an answer",
    ),
    ("reset in mid-stream", faults.reset("Half an ", "answer", times=-1), StreamBroken(), "Half an answer"),
    ("cut off", faults.early_eof("Half an answer", times=-1), StreamBroken(), "Half an answer"),
]


@pytest.fixture(scope="module")
def readers(ada: Client, lea: Client) -> dict[Locale, Client]:
    return {"en": ada, "fr": lea}


def ask_both(readers: dict[Locale, Client], text: str) -> dict[Locale, Turn]:
    """The same question by both readers at the same time."""
    with ThreadPoolExecutor(len(readers)) as pool:
        running = {locale: pool.submit(reader.turn, text) for locale, reader in readers.items()}
        return {locale: turn.result() for locale, turn in running.items()}


def reference_told(turn: Turn, error: EchoError, locale: Locale) -> str:
    """Checks the error box word for word and returns the reference in it."""
    found = re.fullmatch(r"(.*) \(([0-9a-f]{8})\)", turn.error)
    assert found, turn.message.get("error")
    assert found[1] == error.user_message(locale)
    return found[2]


def assert_told_and_logged(live: Live, turn: Turn, error: EchoError, locale: Locale) -> None:
    reference = reference_told(turn, error, locale)
    assert turn.message["done"] is True
    [line] = [line for line in live.log().splitlines() if f"'reference': '{reference}'" in line]
    assert f"'code': '{error.code}'" in line
    assert turn.assistant_id in line


@pytest.mark.parametrize(("script", "error", "kept"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_failure_is_told_in_the_readers_language(
    live: Live, readers: dict[Locale, Client], script: faults.Entry, error: EchoError, kept: str
) -> None:
    live.sim.reset()
    live.sim.script(*[{**script, "match": answers.saying("Explain tides")}] * 2)
    for locale, turn in ask_both(readers, "Explain tides").items():
        assert_told_and_logged(live, turn, error, locale)
        assert turn.text == kept


def test_thoughts_stay_when_nothing_but_thoughts_came(live: Live, readers: dict[Locale, Client]) -> None:
    live.sim.reset()
    live.sim.script(answers.spent_thinking("Let me", " think"))
    turn = readers["en"].turn("Explain tides")
    [item] = turn.output
    assert (item["type"], item["content"][0]["text"]) == ("reasoning", "Let me think")


def test_a_wrong_key_of_ones_own_is_told_and_harms_nobody_else(live: Live, readers: dict[Locale, Client]) -> None:
    live.sim.reset()
    for reader in readers.values():
        reader.request("PUT", "/echo/api/keys", {"key": "bad-key-of-mine"})
    try:
        for locale, turn in ask_both(readers, "Explain tides").items():
            assert_told_and_logged(live, turn, KeyRejected(), locale)
        assert not live.admin.turn("Explain tides").error
        assert "bad-key-of-mine" not in live.log()
    finally:
        for reader in readers.values():
            reader.request("DELETE", "/echo/api/keys")
    assert not readers["en"].turn("Explain tides").error


def test_waits_are_told_and_the_answer_comes_nevertheless(live: Live, readers: dict[Locale, Client]) -> None:
    live.sim.reset()
    live.sim.script(*[{**faults.quota_exhausted(retry_s=1), "match": answers.saying("Explain tides")}] * 2)
    told = {
        "en": ("Gemini's per-minute limit is reached. Trying again in 2 s.", r"Waited \d s for Gemini\."),
        "fr": ("La limite par minute de Gemini est atteinte. Nouvel essai dans 2 s.", r"Attente de Gemini : \d s\."),
    }
    for locale, turn in ask_both(readers, "Explain tides").items():
        assert turn.text and not turn.error
        *_, waiting, over = turn.message["statusHistory"]
        assert (waiting["description"], waiting["done"]) == (told[locale][0], False)
        assert re.fullmatch(told[locale][1], over["description"])
        assert over["done"] is True


def test_stopping_a_wait_leaves_no_line_that_still_waits(live: Live, readers: dict[Locale, Client]) -> None:
    live.sim.reset()
    live.sim.script(faults.quota_exhausted(retry_s=50))
    chat_id, _, assistant_id = ids = readers["en"].start_turn("Explain tides")
    ada = readers["en"]
    poll(
        lambda: [s for s in ada.messages(chat_id)[assistant_id].get("statusHistory", []) if not s["done"]] or None,
        "wait",
    )
    ada.stop(chat_id)
    turn = ada.wait_turn(*ids)
    assert turn.message["statusHistory"][-1]["description"].startswith("Waited ")
    assert not turn.error
    following = ada.turn("And now?", chat_id=chat_id, parent=assistant_id)
    assert following.text and not following.error


@pytest.mark.deep
def test_no_network_is_told_after_some_tries(live: Live, readers: dict[Locale, Client]) -> None:
    """Each reader meets another closed port, because a circuit that opens would be shared."""
    started: dict[Locale, tuple[str, str, str]] = {}
    for locale, reader in readers.items():
        with live.valves(GEMINI_BASE_URL=f"http://127.0.0.1:{free_port()}"):
            chat_id, _, assistant_id = started[locale] = reader.start_turn("Explain tides")
            poll(
                lambda: reader.messages(chat_id)[assistant_id].get("statusHistory"),  # noqa: B023 - called at once
                "the first try",
            )
    for locale, reader in readers.items():
        turn = reader.wait_turn(*started[locale])
        assert_told_and_logged(live, turn, NetworkUnreachable(), locale)
        assert len(turn.message["statusHistory"]) == 4, "three waits, and that they are over"


@contextmanager
def second_simulator(folder: Path) -> Iterator[tuple[Sim, Child]]:
    """Another simulator, which may be killed."""
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(LIBS)}
    child = Child("doomed", simulator_command("127.0.0.1", port), env=env, log=folder / "sim.log", cwd=folder)
    sim = Sim(f"http://127.0.0.1:{port}")
    try:
        poll(sim.answers, "the second simulator")
        yield sim, child
    finally:
        sim.close()
        end_all([child])


@pytest.mark.deep
def test_a_service_that_dies_in_mid_turn_leaves_the_partial_answer(
    live: Live, readers: dict[Locale, Client], tmp_path: Path
) -> None:
    with second_simulator(tmp_path) as (sim, child), live.valves(GEMINI_BASE_URL=sim.url):
        sim.script(*[faults.hang("Half an ", "answer")] * 2)
        started = {locale: reader.start_turn("Explain tides") for locale, reader in readers.items()}
        sim.wait_chunks(2)
        os.kill(child.pid, signal.SIGKILL)
        for locale, reader in readers.items():
            turn = reader.wait_turn(*started[locale])
            assert_told_and_logged(live, turn, NetworkUnreachable(), locale)
            assert turn.text == "Half an answer"


def session_db(live: Live, owner: Client, chat_id: str) -> Path:
    return live.data / "echo" / "users" / owner.id / "chats" / chat_id / "session.db"


def test_damaged_records_are_set_aside_and_the_chat_goes_on(live: Live, ada: Client, tmp_path: Path) -> None:
    first = ada.turn("The code word is heron.")
    records = session_db(live, ada, first.chat_id)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"this is no database" * 100)
    for leftover in records.parent.glob("session.db-*"):
        leftover.unlink()
    damaged.replace(records)
    live.sim.reset()
    second = ada.turn("Which word?", chat_id=first.chat_id, parent=first.assistant_id)
    assert second.text and not second.error
    assert "heron" in live.sim.wait_requests(1, "GenerateContent")[0]["body"]
    notices = " ".join(status["description"] for status in second.message["statusHistory"])
    assert "was set aside unchanged" in notices
    assert f"records of chat {first.chat_id}" in live.log()
    assert [path for path in records.parent.iterdir() if path.name != "session.db" and path.stat().st_size == 1900]


def test_records_that_cannot_be_opened_are_told(live: Live, readers: dict[Locale, Client]) -> None:
    for locale, turn in ask_both(readers, "Explain tides").items():
        folder = session_db(live, readers[locale], turn.chat_id).parent
        folder.rename(folder.with_name("moved-away"))
        folder.write_text("in the way")
        following = readers[locale].turn("And now?", chat_id=turn.chat_id, parent=turn.assistant_id)
        assert_told_and_logged(live, following, StoreUnavailableError(), locale)


#: A plugin that makes the next call of a function anywhere in ECHO fail, named in the question.
SABOTEUR = """
import importlib
import re

class Filter:
    async def inlet(self, body: dict) -> dict:
        found = re.search(r"sabotage ([\\w.]+):(\\w+)", str(body["messages"][-1]["content"]))
        if found:
            module, name = importlib.import_module(found[1]), found[2]
            original = getattr(module, name)
            def fail(*args, **kwargs):
                setattr(module, name, original)
                raise RuntimeError("planted")
            setattr(module, name, fail)
        return body
"""


@pytest.fixture(scope="module")
def saboteur(live: Live) -> Iterator[None]:
    form = {"id": "saboteur", "name": "Saboteur", "content": SABOTEUR, "meta": {"description": ""}}
    live.admin.post("/api/v1/functions/create", form)
    live.admin.post("/api/v1/functions/id/saboteur/toggle")
    live.admin.post("/api/v1/functions/id/saboteur/toggle/global")
    yield
    live.admin.delete("/api/v1/functions/id/saboteur/delete")


@pytest.mark.usefixtures("saboteur")
@pytest.mark.parametrize(
    ("locale", "place", "kept"),
    [
        ("en", "echo_runtime.orchestrator:settings_of", ""),
        ("fr", "echo_runtime.briefings:_pis", ""),
        ("en", "echo_runtime.orchestrator:dumps", ""),
        ("fr", "echo_core.turn_record:content_json", "The whole answer."),
        ("en", "echo_core.engine:usage_shown", "The whole answer."),
        ("fr", "echo_runtime.sealing:seal_shadow", "The whole answer."),
    ],
)
def test_an_exception_planted_anywhere_is_told_with_a_reference(
    live: Live, readers: dict[Locale, Client], locale: Locale, place: str, kept: str
) -> None:
    live.sim.reset()
    live.sim.script(answers.parts({"text": "The whole answer."}))
    turn = readers[locale].turn(f"sabotage {place}")
    assert_told_and_logged(live, turn, EchoError(), locale)
    assert "RuntimeError: planted" in live.log()
    assert turn.text == kept


@pytest.mark.usefixtures("saboteur")
def test_a_turn_that_breaks_while_tools_run_does_not_run_them_again(
    live: Live, readers: dict[Locale, Client], toolkit: str
) -> None:
    """Open WebUI runs every call itself that is left without a result, and asks once more."""
    live.sim.reset()
    live.sim.script(answers.parts({"text": "I weigh it."}, answers.call("weigh", what="lead")))
    turn = readers["en"].turn("sabotage echo_core.tool_rounds:ToolFinished", tool_ids=[toolkit])
    assert_told_and_logged(live, turn, EchoError(), "en")
    assert [item["type"] for item in turn.output] == ["message", "function_call", "function_call_output"]
    assert len(live.sim.requests("streamGenerateContent")) == 1


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_a_page_that_asks_without_a_stream_is_told_too(
    live: Live, readers: dict[Locale, Client], locale: Locale
) -> None:
    live.sim.reset()
    live.sim.script(faults.quota_exhausted(quota_id=PER_DAY))
    turn = readers[locale].turn("Explain tides", stream=False)
    assert_told_and_logged(live, turn, QuotaPerDay(), locale)
    again = readers[locale].turn("Explain tides", stream=False)
    assert again.text and not again.error
