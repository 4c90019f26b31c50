"""Tools that hang, throw, flood, lie and kill: one terminal event, and a next request that Gemini takes."""

import asyncio
import itertools
from typing import Any

import pytest

from echo_events import CallsHandedOver, TurnFailed, TurnFinished
from faulty_tools import FAULTS, fine
from sim_fixture import RunningSim
from turn_kit import Json, Kit, entry

SOME_PAIRS = [pair for place, pair in enumerate(itertools.permutations(FAULTS, 2)) if place % 12 == 0]


async def terminal_events(kit: Kit, messages: list[Json], **given: Any) -> list[Any]:
    call = kit.call(messages, stream=True, **given)
    return [
        e async for e in kit.orchestrator.events(call) if isinstance(e, TurnFinished | TurnFailed | CallsHandedOver)
    ]


@pytest.mark.parametrize("names", [(name,) for name in FAULTS] + SOME_PAIRS, ids="-".join)
async def test_a_faulty_tool_never_costs_the_answer(kit: Kit, names: tuple[str, ...]) -> None:
    native = {name: entry(FAULTS[name]) for name in names}
    native["fine"] = entry(fine, x={"type": "integer"})
    calls = " and ".join(f"call {name} {{}}" for name in (*names, "fine"))
    question = {"role": "user", "content": f"Please {calls}."}
    given: Json = {"native": native, "valves": {"TOOL_TIMEOUT_S": 1}}
    assert await terminal_events(kit, [question], **given) == [TurnFinished("stop")]
    responses = [part["functionResponse"] for part in kit.bodies()[1]["contents"][-1]["parts"]]
    assert [response["name"] for response in responses] == [*names, "fine"]
    assert responses[-1]["response"] == {"output": "fine"}
    follow_up = [question, {"role": "assistant", "content": "?"}, {"role": "user", "content": "Go on."}]
    assert await terminal_events(kit, follow_up, **given) == [TurnFinished("stop")]
    kit.bodies()


async def test_a_stop_while_a_tool_runs_leaves_a_next_request_that_gemini_takes(kit: Kit, sim: RunningSim) -> None:
    """C19: the call that was cut off is answered by a record that says so."""
    running, ended = asyncio.Event(), asyncio.Event()

    async def waits() -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    native = {"waits": entry(waits)}
    question = {"role": "user", "content": "Please call waits {}."}
    turn = asyncio.create_task(terminal_events(kit, [question], native=native))
    await asyncio.wait_for(running.wait(), 5)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert ended.is_set()
    history = [question, {"role": "assistant", "content": ""}, {"role": "user", "content": "Say hello."}]
    assert await terminal_events(kit, history, native=native) == [TurnFinished("stop")]
    contents = kit.bodies()[-1]["contents"]
    called = [part for content in contents for part in content["parts"] if "functionCall" in part]
    answered = [part for content in contents for part in content["parts"] if "functionResponse" in part]
    assert len(called) == len(answered)
