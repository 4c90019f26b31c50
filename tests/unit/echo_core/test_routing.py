"""Levels: where a turn may start, what moves it, and what its requests then look like."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_constants import EchoError
from echo_core import TurnEngine, TurnPlan, TurnRecord
from echo_core.level_tool import NAME
from echo_core.overlay import OverlayEntry, overlay_json, render
from echo_core.routing import LEVELS, MAX_MOVES, Ladder, Level, Route, higher, least_level, level_of, mode_of
from echo_events import NoticeShown, TextStreamed, ToolCalled, ToolFinished, TurnEvent, TurnFinished
from echo_gemini_client import (
    AccountVerification,
    ContextTooLarge,
    KeyRejected,
    ModelNotFound,
    ModelOverloaded,
    ModelPaused,
    NetworkUnreachable,
    QuotaNotInTier,
    QuotaPerDay,
    QuotaPerMinute,
    RequestRefused,
    ServerFailed,
    SpendLimit,
    TermsViolation,
)
from echo_protocol import check_turn_shape, join_contents, parse_contents
from scripted import FakeClock, ListJournal, ListMedia, ScriptedBackend, ScriptedTools, call, chunk

USER = b'{"role":"user","parts":[{"text":"Hi"}]}'
DONE = chunk({"text": "done"}, finish="STOP")


def route(level: Level, **more: Any) -> Route:
    return Route(level=level, model_id=f"model-{level}", generation_config={"seed": LEVELS.index(level)}, **more)


def plan_on(level: Level, *others: Route, **more: Any) -> TurnPlan:
    here = route(level)
    return TurnPlan(
        model_id=here.model_id,
        generation_config=dict(here.generation_config),
        contents=[USER],
        tools=b"[]",
        level=level,
        others=others or tuple(route(other) for other in LEVELS if other != level),
        locale="fr",
        **more,
    )


class Plans:
    def __init__(self) -> None:
        self.kept: list[str] = []

    async def keep_plan(self, markdown: str) -> str:
        self.kept.append(markdown)
        return f"plan {len(self.kept)}"


class Backend(ScriptedBackend):
    """Knows which model each request was for; an error that comes alone is raised before the first chunk."""

    def __init__(self, *streams: list[Any], waits: list[tuple[float, EchoError]] | None = None) -> None:
        super().__init__(*streams, waits=waits or [])
        self.models: list[str] = []

    def stream_generate(self, request: Any, *, on_wait: Any = None) -> Any:
        self.models.append(request.model.removeprefix("model-"))
        return super().stream_generate(request, on_wait=on_wait)


class Turn:
    def __init__(self, backend: Backend) -> None:
        self.backend, self.plans = backend, Plans()
        self.tools = ScriptedTools(lambda request: "fine")
        self.record = TurnRecord()
        self.events: list[TurnEvent] = []
        self.told: list[str] = []

    async def run(self, plan: TurnPlan) -> "Turn":
        async def on_wait(wait_s: float, error: EchoError) -> None:
            self.told.append(error.code)

        engine = TurnEngine(
            backend=self.backend,
            tools=self.tools,
            journal=ListJournal(),
            media=ListMedia(),
            clock=FakeClock(),
            record=self.record,
            on_wait=on_wait,
            plans=self.plans,
        )
        async for event in engine.run(plan):
            self.events.append(event)
        for body in self.backend.requests:
            assert check_turn_shape(parse_contents(json.dumps(body["contents"]).encode())) == []
        return self

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, NoticeShown)]


def move(target: str, **more: Any) -> list[Any]:
    return [chunk(call(NAME, "id1", signature="c2ln", target=target, transfer_plan="# Plan"), finish="STOP", **more)]


async def test_the_model_hands_over_and_its_successor_reads_the_plan() -> None:
    turn = await Turn(Backend(move("PRO"), [DONE])).run(plan_on("LITE"))
    assert turn.backend.models == ["LITE", "PRO"]
    assert turn.backend.requests[1]["generationConfig"] == {"seed": 2}
    asked, answered = turn.backend.requests[1]["contents"][1:]
    assert asked["parts"][0]["functionCall"]["args"] == {"target": "PRO", "transfer_plan": "# Plan"}
    assert asked["parts"][0]["thoughtSignature"] == "c2ln"
    assert "PRO continues" in answered["parts"][0]["functionResponse"]["response"]["output"]
    assert turn.plans.kept == ["# Plan"]
    assert turn.notices == ["Niveau de modèle : LITE → PRO"]
    assert turn.tools.requests == [], "the tool never reaches Open WebUI"
    [change] = turn.record.ladder.changes
    assert json.loads(change.overlay()) == [{
        "kind": "route", "cause": "cognitive", "from": "LITE", "to": "PRO", "model_id": "model-PRO", "hop": 1,
        "why": "plan 1",
    }]  # fmt: skip
    cards = [event.call_id for event in turn.events if isinstance(event, ToolCalled | ToolFinished)]
    assert len(cards) == 2 and len(set(cards)) == 1


async def test_the_question_names_the_model_that_answers_from_then_on() -> None:
    def naming(level: str) -> bytes:
        return overlay_json([OverlayEntry(notes=(f'<artifact id="AEC_modele" model="{level}"/>',))])

    routes = [route(level, note=naming(level)) for level in ("FLASH", "PRO")]
    asked = render(b"[" + USER + b"]", naming("LITE"))
    plan = replace(plan_on("LITE", *routes), contents=[asked], question=b"[" + USER + b"]", overlay=naming("LITE"))
    turn = await Turn(Backend(move("PRO"), move("FLASH"), [DONE])).run(plan)
    requests = turn.backend.requests
    named = [request["contents"][0]["parts"][0]["text"] for request in requests]
    assert [text.split('"')[3] for text in named] == ["LITE", "PRO", "FLASH"]
    assert [len(request["contents"][0]["parts"]) for request in requests] == [2, 2, 2]
    sealed = join_contents([naming("LITE"), *(change.overlay() for change in turn.record.ladder.changes)])
    assert json.loads(render(b"[" + USER + b"]", sealed)) == [requests[2]["contents"][0]]


async def test_it_also_goes_down_and_other_calls_of_the_step_run() -> None:
    both = [chunk(call("look", "id0", signature="c2ln"), call(NAME, "id1", target="lite"), finish="STOP")]
    turn = await Turn(Backend(both, [DONE])).run(plan_on("PRO"))
    assert turn.backend.models == ["PRO", "LITE"]
    assert [request.name for request in turn.tools.requests] == ["look"]
    names = [part["functionResponse"]["name"] for part in turn.backend.requests[1]["contents"][2]["parts"]]
    assert names == ["look", NAME]


@pytest.mark.parametrize("target", ["", "ULTRA", "FLASH", None, 7])
async def test_a_change_that_makes_no_sense_is_an_answer_to_the_model(target: Any) -> None:
    turn = await Turn(Backend([chunk(call(NAME, "1", target=target), finish="STOP")], [DONE])).run(plan_on("FLASH"))
    assert turn.backend.models == ["FLASH", "FLASH"]
    assert "error" in turn.backend.requests[1]["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert not turn.plans.kept and not turn.notices


async def test_a_pinned_turn_is_moved_by_neither() -> None:
    pinned = TurnPlan(model_id="model-PRO", contents=[USER], tools=b"[]", level="PRO")
    turn = await Turn(Backend(move("LITE"), [DONE])).run(pinned)
    assert turn.backend.models == ["PRO", "PRO"]
    with pytest.raises(ModelOverloaded):
        await Turn(Backend([ModelOverloaded("503")])).run(pinned)


async def test_going_back_and_forth_has_an_end() -> None:
    hops = [move("PRO" if index % 2 else "LITE") for index in range(MAX_MOVES + 3)]
    turn = await Turn(Backend(*hops, [DONE])).run(plan_on("PRO"))
    assert len(turn.record.ladder.changes) == MAX_MOVES


async def test_a_conversation_that_does_not_fit_stays_where_it_is() -> None:
    small = route("LITE", window_tokens=1_000)
    usage = {"promptTokenCount": 2_000, "candidatesTokenCount": 5, "totalTokenCount": 2_005}
    turn = await Turn(Backend(move("LITE", usage=usage), [DONE])).run(plan_on("PRO", small))
    assert turn.backend.models == ["PRO", "PRO"]


FALLS: list[EchoError] = [
    ModelOverloaded("503"),
    QuotaPerMinute("429"),
    QuotaPerDay("429"),
    QuotaNotInTier("limit: 0"),
    ModelPaused("open", seconds=9),
    ServerFailed("500"),
    ModelNotFound("404", model="model-PRO"),
]
STAYS: list[EchoError] = [
    SpendLimit("429"),
    KeyRejected("400"),
    TermsViolation("403"),
    AccountVerification("403", url="https://myaccount.google.com"),
    ContextTooLarge("400"),
    RequestRefused("400"),
    NetworkUnreachable("refused"),
]


@pytest.mark.parametrize("error", FALLS, ids=lambda error: error.code)
async def test_a_level_without_capacity_or_quota_hands_down(error: EchoError) -> None:
    turn = await Turn(Backend([error], [error], [DONE])).run(plan_on("PRO"))
    assert turn.backend.models == ["PRO", "FLASH", "LITE"]
    assert (
        turn.backend.bodies[0].split(b'"generationConfig"')[0] == turn.backend.bodies[2].split(b'"generationConfig"')[0]
    )
    assert [notice.split(" pour")[0] for notice in turn.notices] == [
        "Niveau de modèle : PRO → FLASH",
        "Niveau de modèle : FLASH → LITE",
    ]
    assert error.message.render("fr", **error.fields) in turn.notices[0]
    assert {change.cause for change in turn.record.ladder.changes} == {"cascade"}
    assert turn.events[-1] == TurnFinished("stop")


@pytest.mark.parametrize("error", STAYS, ids=lambda error: error.code)
async def test_what_every_model_would_answer_hands_down_to_nobody(error: EchoError) -> None:
    turn = Turn(Backend([error]))
    with pytest.raises(type(error)):
        await turn.run(plan_on("PRO"))
    assert turn.backend.models == ["PRO"]


async def test_the_last_level_has_nowhere_to_fall() -> None:
    turn = Turn(Backend([ModelOverloaded("503")]))
    with pytest.raises(ModelOverloaded):
        await turn.run(plan_on("LITE"))


async def test_a_circuit_that_is_open_is_not_waited_for_while_another_model_is_free() -> None:
    paused = ModelPaused("open", seconds=200, retry_after_s=200.0)
    turn = await Turn(Backend([], [DONE], waits=[(200.0, paused)])).run(plan_on("PRO"))
    assert turn.backend.models == ["PRO", "FLASH"]
    assert turn.told == []


async def test_what_had_been_said_stays_when_the_level_falls() -> None:
    half = [chunk({"text": "Half of "}), QuotaPerDay("429")]
    turn = await Turn(Backend(half, [chunk({"text": "it"}, finish="STOP")])).run(plan_on("FLASH"))
    assert turn.backend.models == ["FLASH", "LITE"]
    assert "".join(event.text for event in turn.events if isinstance(event, TextStreamed)) == "Half of it"


async def test_a_level_that_failed_is_not_offered_again_in_this_turn() -> None:
    turn = await Turn(Backend([ModelOverloaded("503")], move("PRO"), [DONE])).run(plan_on("PRO"))
    assert turn.backend.models == ["PRO", "FLASH", "FLASH"]


async def test_another_family_gets_no_signatures_that_it_cannot_read() -> None:
    foreign = route("PRO", scope="other")
    turn = await Turn(Backend(move("PRO"), [DONE])).run(plan_on("LITE", foreign))
    signed = turn.backend.requests[1]["contents"][1]["parts"][0]["thoughtSignature"]
    assert signed == "skip_thought_signature_validator"
    assert turn.record.hops[0].count(b"c2ln") == 0, "what is sealed is what was sent"


@given(st.sampled_from(LEVELS), st.floats(0, 2))
def test_a_fuller_chat_never_starts_lower(level: Level, fill: float) -> None:
    start = higher(level, least_level(fill))
    assert LEVELS.index(start) >= LEVELS.index(level)
    assert start == "PRO" or fill <= 0.35
    assert start != "LITE" or fill <= 0.20


def test_names_are_read_leniently() -> None:
    assert (level_of(" pro "), level_of("ultra"), level_of(None)) == ("PRO", None, None)
    assert (mode_of("AUTO_PRO"), mode_of("of a later version")) == ("AUTO_PRO", "AUTO")


def test_levels_of_one_model_are_no_way_down() -> None:
    one = [Route(level=level, model_id="same") for level in ("PRO", "FLASH")]
    assert Ladder([*one, route("LITE")]).below() == route("LITE")
    assert Ladder(one).below() is None
