"""Sub-agents that fail, hang or run out of their budget: a result that the model can act on, a valid next request."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from echo_events import ToolFinished, ToolProgressed, TurnFinished, UsageCounted
from echo_protocol import Catalogue
from echo_runtime import _TOOLS_CACHE
from echo_workers.gemini_sim.core import faults
from echo_workers.gemini_sim.core.faults import response
from echo_workers.gemini_sim.core.frames import sse_event
from http_servers import InstantClock
from sim_fixture import RunningSim
from subagent_kit import AGENT, TOOL, delegating
from turn_kit import Json, Kit, entry, pipe

EMPTY: Json = {"status": 200, "chunks": [{"text": sse_event(response("", finish="STOP")).decode()}]}


def asks(task: str, language: str = "en") -> tuple[list[Json], Json]:
    """The question, and the metadata of somebody who speaks that language."""
    metadata: Json = {"variables": {"{{USER_LANGUAGE}}": language}}
    return [{"role": "user", "content": f"Please call {TOOL} {json.dumps({'task': task})}"}], metadata


async def look() -> str:
    """Look."""
    return "cheese"


LOOK = {"look": entry(look)}


async def outcome(kit: Kit, task: str, language: str = "en", native: Json | None = None, **given: Any) -> Any:
    """The tool's result; the turn went on to a good end."""
    messages, metadata = asks(task, language)
    tools = (native or {}) | delegating(metadata, **given.pop("limits", {}))
    call = kit.call(messages, native=tools, metadata=metadata, **given)
    events = [event async for event in kit.orchestrator.events(call)]
    assert events[-1] == TurnFinished("stop")
    assert _TOOLS_CACHE == {}
    (finished,) = (event for event in events if isinstance(event, ToolFinished))
    try:
        return json.loads(finished.text)
    except ValueError:
        return finished.text


@pytest.fixture
async def patient(tmp_path: Path, sim: RunningSim) -> Any:
    """A pipe whose waits take no time."""
    async with pipe(tmp_path, sim, clock=InstantClock()) as opened:
        yield opened


async def test_a_model_without_capacity_is_told_as_an_error_in_the_users_language(patient: Kit) -> None:
    patient.sim.script(*[faults.overloaded(match=AGENT, times=40)])
    told = await outcome(patient, "Count to three.", "fr")
    assert told["error"]["code"] == "gemini_model_overloaded"
    assert "Gemini" in told["error"]["message"]
    assert told["error"]["remedy"]


async def test_a_policy_that_may_move_falls_to_a_lower_level_instead(patient: Kit) -> None:
    flash = Catalogue.load().resolve("MODEL_FLASH", "ai_studio").backend_id("ai_studio")
    patient.sim.script(faults.overloaded(match={**AGENT, "model": flash}, times=40))
    told = await outcome(patient, "call look {}", native=LOOK, valves={"MODEL_SELECTION": "AUTO"})
    assert "[Sub-agent, LITE:" in told


async def test_empty_answers_are_asked_for_again_and_then_told(kit: Kit) -> None:
    kit.sim.script({**EMPTY, "match": AGENT, "times": 20})
    told = await outcome(kit, "Count to three.")
    assert told["error"]["code"] == "empty_answer"
    kit.sim.reset()
    kit.sim.script({**EMPTY, "match": AGENT, "times": 1})
    assert "[Sub-agent, FLASH: 2 requests" in await outcome(kit, "Count to three.")


async def test_an_answer_that_breaks_off_is_kept_and_resumed(kit: Kit) -> None:
    kit.sim.script(faults.early_eof("Half of it, ", match=AGENT), faults.stream("and the rest.", match=AGENT))
    assert (await outcome(kit, "Count.")).startswith("Half of it, and the rest.")


async def test_a_tool_that_hangs_costs_the_sub_agent_only_that_call(kit: Kit) -> None:
    async def hangs() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    told = await outcome(kit, "call hangs {}", native={"hangs": entry(hangs)}, valves={"TOOL_TIMEOUT_S": 1})
    assert "did not answer within 1 seconds" in told


async def test_a_sub_agent_out_of_time_leaves_what_it_had(kit: Kit) -> None:
    first = sse_event(response("I have found a lot. ")).decode()
    kit.sim.script({"status": 200, "match": AGENT, "chunks": [{"text": first}], "end": "hang"})
    told = await outcome(kit, "Search.", limits={"MAX_SECONDS": 0.5})
    assert told["error"]["code"] == "subagent_out_of_time"
    assert told["partial"] == "I have found a lot."
    assert told["exchange"].startswith("read_tool_output(")


async def test_it_may_take_longer_than_other_tools(kit: Kit) -> None:
    kit.sim.script(faults.latency(1500, "Slow but good.", match=AGENT))
    told = await outcome(kit, "Think.", valves={"TOOL_TIMEOUT_S": 1})
    assert told.startswith("Slow but good.")


@pytest.mark.parametrize(
    ("limits", "most_rounds"), [({"MAX_ROUNDS": 2}, 2), ({"MAX_TOKENS": 1}, 1), ({"MAX_SECONDS": 10_000}, 3)]
)
async def test_used_up_rounds_and_tokens_ask_for_an_answer_with_what_there_is(
    kit: Kit, limits: Json, most_rounds: int
) -> None:
    await outcome(kit, "call look {} then call look {} then call look {}", native=LOOK, limits=limits)
    asked = [body for body in kit.bodies() if "sub-agent of ECHO" in json.dumps(body.get("systemInstruction"))]
    modes = [body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode") for body in asked]
    assert modes == [None] * most_rounds + ([None] if most_rounds == 3 else ["NONE"])


async def test_time_that_runs_out_asks_for_an_answer_before_it_ends(tmp_path: Path, sim: RunningSim) -> None:
    clock = InstantClock()

    async def sleepy() -> str:
        """Take long."""
        clock.now += 80
        return "slept"

    async with pipe(tmp_path, sim, clock=clock) as kit:
        await outcome(
            kit, "call sleepy {} then call sleepy {}", native={"sleepy": entry(sleepy)}, limits={"MAX_SECONDS": 100}
        )
        modes = [body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode") for body in kit.bodies()]
    assert modes == [None, None, "NONE", None]


async def test_a_turn_has_only_so_many_sub_agents(kit: Kit) -> None:
    one = f"call {TOOL} {json.dumps({'task': 'Count.'})}"
    messages = [{"role": "user", "content": "Please " + " and ".join([one] * 18)}]
    events = [event async for event in kit.orchestrator.events(kit.call(messages, native=delegating()))]
    texts = [event.text for event in events if isinstance(event, ToolFinished)]
    assert sum("subagents_too_many" in text for text in texts) == 2
    assert events[-1] == TurnFinished("stop")


async def test_stopping_the_turn_stops_its_sub_agents_and_counts_what_they_used(kit: Kit, sim: RunningSim) -> None:
    first = sse_event(response("Working")).decode()
    sim.script({"status": 200, "match": AGENT, "chunks": [{"text": first}], "end": "hang"})
    messages, metadata = asks("Work.")
    events: list[Any] = []
    async with aclosing(kit.orchestrator.events(kit.call(messages, native=delegating(metadata)))) as running:
        async for event in running:
            events.append(event)
            if isinstance(event, ToolProgressed) and event.doing == "writing":
                break
    assert _TOOLS_CACHE == {}
    sim.wait_for(
        lambda rows: [row["ended"] for row in rows if "generate" in row["path"].lower()][-1:] == ["reset_by_client"]
    )
    assert not any(isinstance(event, UsageCounted) for event in events)
