"""Faults of the model's side and of tools in one turn, at random points, through the whole pipe in French.

In every case: exactly one end of the turn, every call answered, what was said is kept and said once, a failure in the
user's language, and a next request that Gemini takes.
"""

import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from echo_events import CallsHandedOver, TextStreamed, ToolFinished, TurnEvent, TurnFailed, TurnFinished
from echo_http import SystemClock
from fault_scripts import FAULTS, POINTS
from faulty_tools import FAULTS as FAULTY
from faulty_tools import fine, kills
from sim_fixture import RunningSim
from turn_kit import Json, Kit, entry, pipe

FRENCH = {"variables": {"{{USER_LANGUAGE}}": "fr-FR"}}


TOOLS = {**FAULTY, "kills": kills, "fine": fine}


class HastyClock(SystemClock):
    """Waits are cut short."""

    async def sleep(self, delay_s: float) -> None:
        await super().sleep(min(delay_s, 0.01))


@pytest.fixture
async def kit(tmp_path: Path, sim: RunningSim) -> AsyncIterator[Kit]:
    async with pipe(tmp_path, sim, clock=HastyClock()) as opened:
        yield opened


async def turn(kit: Kit, messages: list[Json], names: list[str]) -> list[TurnEvent]:
    native = {name: entry(TOOLS[name]) for name in names}
    valves = {"TOOL_TIMEOUT_S": 1, "MODEL_SELECTION": "AUTO_PRO"}
    call = kit.call(messages, stream=True, native=native, valves=valves, metadata=dict(FRENCH))
    return [event async for event in kit.orchestrator.events(call)]


async def assert_survives(kit: Kit, names: list[str], faults: list[tuple[str, str]]) -> None:
    for number, (fault, point) in enumerate(faults):
        match = {"method": "streamGenerateContent", "body_regex": POINTS[point]}
        kit.sim.script({**FAULTS[fault](f"Mot{number} et demi "), "match": match})
    question = {"role": "user", "content": "Please " + " and ".join(f"call {name} {{}}" for name in names) + "."}
    events = await turn(kit, [question], names)
    ends = [event for event in events if isinstance(event, TurnFinished | TurnFailed | CallsHandedOver)]
    assert len(ends) == 1 and events[-1] is ends[0]
    shown = "".join(event.text for event in events if isinstance(event, TextStreamed))
    assert all(shown.count(f"Mot{number}") <= 1 for number in range(len(faults)))
    if isinstance(ends[0], TurnFailed):
        assert any(word in f" {ends[0].message} " for word in (" la ", " le ", " les ", " a ", " est ", " n'"))
    before = kit.sim.requests()
    kit.sim.reset()
    follow_up = [question, {"role": "assistant", "content": shown or "?"}, {"role": "user", "content": "Say hello."}]
    again = await turn(kit, follow_up, names)
    assert isinstance(again[-1], TurnFinished)
    requests = [row for row in kit.sim.requests() if "GenerateContent" in row["path"]]
    refused = [row for row in (*before, *requests) if row["status"] == 400]
    assert not refused, refused[0]["body"]
    assert_calls_are_answered(json.loads(requests[-1]["body"]))
    for number in range(len(faults)):
        assert (f"Mot{number}" in shown) == (f"Mot{number}" in requests[-1]["body"]), "what was said is kept"
    finished = [event.call_id for event in events if isinstance(event, ToolFinished)]
    assert len(set(finished)) == len(finished)


def assert_calls_are_answered(body: Any) -> None:
    for now, after in zip(body["contents"], [*body["contents"][1:], {"parts": []}], strict=True):
        called = [part["functionCall"]["name"] for part in now["parts"] if "functionCall" in part]
        answered = [part["functionResponse"]["name"] for part in after["parts"] if "functionResponse" in part]
        assert called == answered


def chosen(seed: int, most: int) -> tuple[list[str], list[tuple[str, str]]]:
    chance = random.Random(seed)
    names = [*chance.sample(sorted(TOOLS.keys() - {"fine"}), k=chance.randint(1, 3)), "fine"]
    faults = [(chance.choice(list(FAULTS)), chance.choice(list(POINTS))) for _ in range(chance.randint(1, most))]
    return names, faults


@pytest.mark.parametrize("seed", range(6))
async def test_a_faulty_tool_and_a_faulty_service_in_one_turn(kit: Kit, seed: int) -> None:
    await assert_survives(kit, *chosen(seed, 2))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(100, 150))
async def test_many_faults_of_both_sides_in_one_turn(kit: Kit, seed: int) -> None:
    await assert_survives(kit, *chosen(seed, 6))


async def test_a_tool_whose_process_is_killed_answers_with_an_error(kit: Kit) -> None:
    await turn(kit, [{"role": "user", "content": "Please call kills {} and call fine {}."}], ["kills", "fine"])
    [killed, fine] = [part["functionResponse"]["response"] for part in kit.bodies()[1]["contents"][-1]["parts"]]
    assert "ended by -9" in killed["error"]
    assert fine == {"output": "fine"}


async def fifty_megabytes() -> str:
    return "row\n" * 12_500_000


async def test_a_tool_that_returns_fifty_megabytes_leaves_room_and_can_be_read_on(kit: Kit) -> None:
    native = {"fifty_megabytes": entry(fifty_megabytes)}
    call = kit.call(
        [{"role": "user", "content": "Please call fifty_megabytes {}."}], stream=True, native=native, metadata={}
    )
    events = [event async for event in kit.orchestrator.events(call)]
    assert isinstance(events[-1], TurnFinished)
    [part] = kit.bodies()[1]["contents"][-1]["parts"]
    output = part["functionResponse"]["response"]["output"]
    assert len(output) < 300_000
    assert "of 50000000 characters" in output and "read_tool_output" in output
