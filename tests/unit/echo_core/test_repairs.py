"""Answers that are none or broke off: asked for again within bounds, kept without saying anything twice."""

import json
from typing import Any

import pytest

from echo_constants import EchoError, UpstreamError
from echo_core import BadToolCall, EmptyAnswer, TurnEngine, TurnPlan, TurnRecord
from echo_core.replay import chunk_record, content_record, rebuild, stream_record
from echo_core.turn import MAX_WAIT_S, REPAIRS_IN_A_ROW
from echo_events import TextStreamed, ThoughtStreamed, TurnEvent, TurnFinished
from echo_gemini_client import ModelOverloaded, StreamBroken
from echo_prompts import SHIPPED
from echo_protocol import check_turn_shape, join_contents, parse_contents
from echo_utils import dumps
from scripted import FakeClock, ListJournal, ListMedia, ScriptedBackend, ScriptedTools, call, chunk

USER = b'{"role":"user","parts":[{"text":"Hi"}]}'
PLAN = TurnPlan(model_id="m", contents=[USER], tools=b'[{"functionDeclarations":[]}]', max_rounds=3, locale="fr")
CUT = StreamBroken("reset")
DONE = chunk({"text": "done"}, finish="STOP")


def logged(entry: dict[str, Any]) -> bytes:
    if "stream" in entry:
        return stream_record(entry["stream"])
    return content_record(dumps(entry)) if "parts" in entry else chunk_record(entry)


class Turn:
    """One engine over scripted streams, and what it did."""

    def __init__(self, *streams: list[Any], waits: list[tuple[float, EchoError]] | None = None) -> None:
        self.backend = ScriptedBackend(*streams, waits=waits or [])
        self.journal = ListJournal()
        self.clock = FakeClock()
        self.told: list[float] = []
        self.events: list[TurnEvent] = []
        self.engine = TurnEngine(
            backend=self.backend,
            tools=ScriptedTools(lambda request: "fine"),
            journal=self.journal,
            media=ListMedia(),
            clock=self.clock,
            record=TurnRecord(),
            on_wait=self._wait,
        )

    async def _wait(self, wait_s: float, error: EchoError) -> None:
        self.told.append(wait_s)

    async def run(self, plan: TurnPlan = PLAN) -> "Turn":
        async for event in self.engine.run(plan):
            self.events.append(event)
        return self

    @property
    def record(self) -> TurnRecord:
        return self.engine.record

    @property
    def shown(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextStreamed))

    def sent(self, index: int) -> list[Any]:
        contents: list[Any] = self.backend.requests[index]["contents"]
        return contents

    def assert_every_request_is_valid(self) -> None:
        for body in self.backend.requests:
            contents = parse_contents(json.dumps(body["contents"]).encode())
            assert check_turn_shape(contents) == []

    def assert_log_rebuilds_the_record(self) -> None:
        records = [logged(entry) for entry in self.journal.records if isinstance(entry, dict)]
        again = rebuild(records)
        self.record.close()
        assert parse_contents(join_contents(again.hops)) == parse_contents(join_contents(self.record.hops))
        assert again.transcript.text == self.record.transcript.text


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([chunk(finish="STOP")], "empty"),
        ([chunk({"text": "hm", "thought": True}), chunk(finish="STOP")], "empty"),
        ([chunk(finish="MALFORMED_FUNCTION_CALL")], "malformed_call"),
        ([chunk(call("nothing"), finish="UNEXPECTED_TOOL_CALL")], "unknown_tool"),
        ([chunk(finish="OTHER")], "empty"),
    ],
)
async def test_an_answer_that_is_none_is_asked_for_again_with_a_nudge(bad: list[Any], words: Any) -> None:
    turn = await Turn(bad, [DONE]).run()
    assert turn.events[-1] == TurnFinished("stop")
    assert turn.sent(1)[-1] == {"role": "user", "parts": [{"text": SHIPPED.nudge("fr", words)}]}
    assert turn.sent(1)[1]["role"] == "model"
    turn.assert_every_request_is_valid()
    turn.assert_log_rebuilds_the_record()


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ([chunk(finish="STOP")], EmptyAnswer),
        ([chunk(finish="MALFORMED_FUNCTION_CALL")], BadToolCall),
        ([StreamBroken("never began")], StreamBroken),
        ([chunk({"text": "Half of it"}), CUT], StreamBroken),
    ],
)
async def test_the_trying_has_an_end(bad: list[Any], error: type[EchoError]) -> None:
    turn = Turn(*[bad] * 9)
    with pytest.raises(error):
        await turn.run()
    assert len(turn.backend.requests) == 1 + REPAIRS_IN_A_ROW
    turn.assert_log_rebuilds_the_record()


async def test_a_broken_stream_goes_on_where_it_stopped() -> None:
    turn = await Turn([chunk({"text": "Half of "}), CUT], [chunk({"text": "the moon"}, finish="STOP")]).run()
    assert turn.shown == turn.record.transcript.text == "Half of the moon"
    assert turn.sent(1)[1:] == [
        {"role": "model", "parts": [{"text": "Half of "}]},
        {"role": "user", "parts": [{"text": SHIPPED.nudge("fr", "go_on")}]},
    ]
    turn.assert_every_request_is_valid()
    turn.assert_log_rebuilds_the_record()


@pytest.mark.parametrize("again", ["Half of the moon", "the moon", "of the moon is dark"])
async def test_what_a_resumed_answer_repeats_is_shown_once(again: str) -> None:
    turn = await Turn(
        [chunk({"text": "Half of the mo"}), CUT], [chunk({"text": piece}) for piece in again] + [chunk(finish="STOP")]
    ).run()
    assert turn.shown == "Half of the mo" + {"the moon": "on"}.get(again, again.split("the mo", 1)[1])
    turn.assert_log_rebuilds_the_record()


async def test_thinking_about_how_to_go_on_does_not_cut_the_sentence_in_two() -> None:
    turn = await Turn(
        [chunk({"text": "Half of "}), CUT],
        [chunk({"text": "Where was I?", "thought": True}), chunk({"text": "the moon"}, finish="STOP")],
    ).run()
    assert not [event for event in turn.events if isinstance(event, ThoughtStreamed)]
    assert turn.record.transcript.text == "Half of the moon"
    turn.assert_log_rebuilds_the_record()


async def test_a_stream_that_broke_before_a_word_is_simply_asked_for_again() -> None:
    turn = await Turn([chunk({"text": "hm", "thought": True}), CUT], [DONE]).run()
    assert turn.sent(1) == turn.sent(0)
    assert len(turn.record.hops) == 1
    turn.assert_log_rebuilds_the_record()


async def test_calls_of_a_broken_step_are_not_run_and_not_sent() -> None:
    turn = await Turn([chunk({"text": "Looking."}, call("a", "1", signature="c2ln")), CUT], [DONE]).run()
    assert turn.sent(1)[1]["parts"] == [{"text": "Looking."}]
    assert turn.record.tool_io == []
    turn.assert_every_request_is_valid()


async def test_a_broken_continuation_goes_on_with_the_token_or_with_words() -> None:
    first = chunk({"text": "part one, "}, finish="CONTINUATION")
    first["candidates"][0]["continuationToken"] = "dG9r"
    again = await Turn([first], [CUT], [chunk({"text": "part two"}, finish="STOP")]).run()
    assert again.backend.requests[2] == again.backend.requests[1]
    assert again.record.transcript.text == "part one, part two"
    again.assert_log_rebuilds_the_record()
    words = await Turn([first], [chunk({"text": "part"}), CUT], [chunk({"text": " two"}, finish="STOP")]).run()
    assert "continuationToken" not in words.backend.requests[2]
    assert [part["text"] for part in words.sent(2)[1]["parts"]] == ["part one, ", "part"]
    words.assert_log_rebuilds_the_record()


async def test_want_of_capacity_in_mid_stream_is_waited_for() -> None:
    busy = ModelOverloaded("503", retry_after_s=7.0)
    turn = await Turn([chunk({"text": "Half of "}), busy], [chunk({"text": "it"}, finish="STOP")]).run()
    assert turn.told == [7.0]
    assert turn.shown == "Half of it"


async def test_a_turn_does_not_wait_for_ever() -> None:
    turn = Turn([DONE], waits=[(100.0, UpstreamError("busy")), (MAX_WAIT_S - 99, UpstreamError("busy"))])
    with pytest.raises(UpstreamError):
        await turn.run()
    assert turn.told == [100.0]


async def test_progress_by_a_tool_round_gives_new_patience() -> None:
    step = [chunk(call("a"), finish="STOP")]
    empty = [chunk(finish="STOP")]
    turn = await Turn(empty, empty, step, empty, empty, [DONE]).run()
    assert turn.events[-1] == TurnFinished("stop")
    turn.assert_every_request_is_valid()
    turn.assert_log_rebuilds_the_record()
