"""Every fault alone and in pairs, at any point of a turn, against the strict simulator.

In every case: one end of the turn, what was said is kept and said once, a failure speaks the user's language, nothing
that ECHO sends is refused, and the next request of the chat is valid.
"""

import itertools
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from echo_constants import EchoError
from echo_core import TurnEngine, TurnPlan, TurnRecord
from echo_core.level_tool import level_spec
from echo_core.ports import GenerateRequest
from echo_core.records import Shadow
from echo_core.routing import LEVELS, Level, Route
from echo_core.sealing import answer_contents
from echo_core.suture import Assembly
from echo_events import NoticeShown, TextStreamed, ToolFinished, TurnEvent, TurnFinished
from echo_gemini_client import AiStudioApi, EchoGeminiClient
from echo_http import CircuitBreaker, EchoTransport, ProxySettings, TransportSettings
from echo_protocol import Catalogue, content_json, convert_owui_tools, join_contents, request_json, text_part
from echo_workers.gemini_sim.core import faults
from fault_scripts import FAULTS, PER_DAY, POINTS
from http_servers import InstantClock
from scripted import ListJournal, ListMedia, ScriptedTools
from sim_fixture import RunningSim

CATALOGUE = Catalogue.load()
MODEL = {level: CATALOGUE.resolve(level, "ai_studio").backend_id("ai_studio") for level in LEVELS}
LOOK = {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}
TOOLS = convert_owui_tools([LOOK, level_spec()]).tools_json()
QUESTION = content_json("user", [text_part('Call look {"at": "the moon"} then call look {"at": "the sun"}')])
NEXT = content_json("user", [text_part("And now?")])


CASES = list(itertools.product(FAULTS, POINTS))


@dataclass
class Outcome:
    """What one turn did."""

    record: TurnRecord
    events: list[TurnEvent] = field(default_factory=list)
    error: EchoError | None = None

    @property
    def shown(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextStreamed))

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, NoticeShown)]


class Talk:
    """Turns against the simulator."""

    def __init__(self, sim: RunningSim, transport: EchoTransport) -> None:
        self.sim = sim
        self._transport = transport

    def client(self) -> EchoGeminiClient:
        async def key() -> str:
            return "integration-key-0123456789"

        return EchoGeminiClient(
            AiStudioApi(self.sim.base_url),
            key,
            self._transport,
            breaker=CircuitBreaker(),
            clock=InstantClock(),
            random_source=lambda: 0.0,
        )

    async def turn(self, level: Level = "PRO", *, pinned: bool = False) -> Outcome:
        routes = {name: Route(level=name, model_id=MODEL[name], scope="gemini") for name in LEVELS}
        plan = TurnPlan(
            model_id=MODEL[level],
            contents=[QUESTION],
            tools=TOOLS,
            tool_names={"look": "look"},
            level=level,
            others=() if pinned else tuple(routes[name] for name in LEVELS if name != level),
            scope="gemini",
            locale="fr",
        )
        outcome = Outcome(TurnRecord())
        engine = TurnEngine(
            backend=self.client(),
            tools=ScriptedTools(lambda request: f"I saw {request.args.get('at')}"),
            journal=ListJournal(),
            media=ListMedia(),
            clock=InstantClock(),
            record=outcome.record,
        )
        try:
            async for event in engine.run(plan):
                outcome.events.append(event)
        except EchoError as error:
            outcome.error = error
        outcome.record.close()
        return outcome

    async def ask_next(self, outcome: Outcome) -> None:
        """The next question of the chat, over what is sealed of this answer; raises when it is refused."""
        complete = outcome.error is None
        sealed = answer_contents(outcome.record.hops, complete=complete)
        state = "complete" if complete else "failed"
        assembly = Assembly()
        for shadow in (
            Shadow(message_id="q", chat_id="c", role="user", contents_json=join_contents([QUESTION])),
            Shadow(message_id="a", chat_id="c", role="model", contents_json=sealed, state=state),  # type: ignore[arg-type]
            Shadow(message_id="n", chat_id="c", role="user", contents_json=join_contents([NEXT])),
        ):
            assembly.add(shadow)
        body = request_json(contents=assembly.fragments, tools=TOOLS)
        await self.client().generate(GenerateRequest(model=MODEL["FLASH"], body_json=body))


@pytest.fixture
async def talk(sim: RunningSim) -> AsyncIterator[Talk]:
    transport = EchoTransport(settings=TransportSettings(proxies=ProxySettings()))
    yield Talk(sim, transport)
    await transport.aclose()


def place(talk: Talk, *wanted: tuple[str, str]) -> None:
    """Have faults strike; each says words of its own before."""
    for number, (fault, point) in enumerate(wanted):
        entry = FAULTS[fault](f"Word{number} and half ")
        talk.sim.script({**entry, "match": {"method": "streamGenerateContent", "body_regex": POINTS[point]}})


async def assert_all_is_well(talk: Talk, outcome: Outcome) -> None:
    terminal = [event for event in outcome.events if isinstance(event, TurnFinished)]
    assert len(terminal) + (outcome.error is not None) == 1
    assert not terminal or outcome.events[-1] is terminal[0]
    if outcome.error is not None:
        said = outcome.error.user_message("fr")
        assert said == f"{outcome.error.message.fr} {outcome.error.remedy.fr}".format_map(outcome.error.fields)
    for word in ("Word0", "Word1"):
        assert outcome.shown.count(word) <= 1, outcome.shown
        assert (word in outcome.shown) == (word.encode() in b"".join(outcome.record.hops))
    assert outcome.record.transcript.text.replace("\n\n", "") == outcome.shown.replace("\n\n", "")
    finished = sum(isinstance(event, ToolFinished) for event in outcome.events)
    assert sum(hop.count(b'"functionResponse"') for hop in outcome.record.hops) == finished
    await talk.ask_next(outcome)
    refused = [row for row in talk.sim.requests() if row["status"] == 400]
    assert not refused, refused[0]["body"]


@pytest.mark.parametrize(("fault", "point"), CASES, ids=[" ".join(case) for case in CASES])
async def test_one_fault_ends_well(talk: Talk, fault: str, point: str) -> None:
    place(talk, (fault, point))
    outcome = await talk.turn()
    await assert_all_is_well(talk, outcome)
    if fault == "safety stop":
        assert outcome.error is not None and outcome.error.code == "answer_blocked"
    else:
        assert outcome.error is None, "one fault alone costs no answer"


@pytest.mark.parametrize("seed", range(12))
async def test_two_faults_end_well(talk: Talk, seed: int) -> None:
    place(talk, *random.Random(seed).choices(CASES, k=2))
    await assert_all_is_well(talk, await talk.turn())


@pytest.mark.deep
@pytest.mark.parametrize("pinned", [False, True], ids=["auto", "pinned"])
@pytest.mark.parametrize("first", CASES, ids=" ".join)
async def test_all_pairs_of_faults_end_well(talk: Talk, first: tuple[str, str], pinned: bool) -> None:
    for second in CASES:
        talk.sim.reset(everything=True)
        place(talk, first, second)
        await assert_all_is_well(talk, await talk.turn(pinned=pinned))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(40))
async def test_a_hail_of_faults_ends_well(talk: Talk, seed: int) -> None:
    chance = random.Random(seed)
    place(talk, *chance.choices(CASES, k=chance.randint(3, 12)))
    await assert_all_is_well(talk, await talk.turn(chance.choice(LEVELS)))


@pytest.mark.parametrize("fault", ["503", "429 per minute", "500"])
async def test_a_level_that_stays_busy_hands_down_after_its_retries(talk: Talk, fault: str) -> None:
    busy = {**FAULTS[fault](""), "times": -1, "match": {"method": "streamGenerateContent", "model": MODEL["PRO"]}}
    talk.sim.script(busy)
    outcome = await talk.turn("PRO")
    assert outcome.error is None
    paths = [row["path"].split("/models/")[1].split(":")[0] for row in talk.sim.requests()]
    tries = paths.index(MODEL["FLASH"])
    assert tries > 1 and set(paths[:tries]) == {MODEL["PRO"]} and set(paths[tries:]) == {MODEL["FLASH"]}
    assert outcome.notices[0].startswith("Niveau de modèle : PRO → FLASH")


async def test_three_503_in_a_row_cost_neither_level_nor_answer(talk: Talk) -> None:
    """C40: googleapis/python-genai issue 1373."""
    talk.sim.script({**faults.overloaded(), "times": 3})
    outcome = await talk.turn("PRO")
    assert outcome.error is None and not outcome.notices
    assert [row["status"] for row in talk.sim.requests()][:4] == [503, 503, 503, 200]


async def test_an_error_after_good_chunks_keeps_what_was_shown(talk: Talk) -> None:
    """C40, in mid-stream."""
    place(talk, ("error in mid-stream", "begin"))
    outcome = await talk.turn("FLASH")
    assert outcome.error is None and outcome.shown.startswith("Word0 and half ")
    second = json.loads(talk.sim.requests()[1]["body"])["contents"]
    assert [content["role"] for content in second] == ["user", "model", "user"]


async def test_signatures_live_through_tool_steps_and_levels(talk: Talk) -> None:
    """C12: open-webui/open-webui issue 19328; the simulator refuses a call of the turn without its signature."""
    busy = {**faults.quota_exhausted(quota_id=PER_DAY), "match": {"body_regex": "functionResponse"}}
    talk.sim.script(busy)
    outcome = await talk.turn("PRO")
    await assert_all_is_well(talk, outcome)
    rows = [row for row in talk.sim.requests() if "streamGenerateContent" in row["path"]]
    assert len(rows) >= 3 and "thoughtSignature" in rows[-1]["body"]


async def test_a_tool_loop_leaves_what_came_before_it_untouched(talk: Talk) -> None:
    """C15: open-webui/open-webui issue 12214."""
    await talk.turn("FLASH")
    bodies = [row["body"] for row in talk.sim.requests()]
    assert len(bodies) == 3
    sent = [json.loads(body)["contents"] for body in bodies]
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before


async def test_a_call_that_was_cut_off_is_closed_for_the_next_question(talk: Talk) -> None:
    """C19: open-webui/open-webui issue 24940."""
    outcome = await talk.turn("FLASH")
    outcome.record.hops = outcome.record.hops[:1]  # stopped while the tool ran
    outcome.error = EchoError("stopped")
    await talk.ask_next(outcome)
    last = json.loads(talk.sim.requests()[-1]["body"])["contents"]
    assert "interrupted" in json.dumps(last)
