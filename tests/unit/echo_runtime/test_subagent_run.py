"""One sub-agent over a scripted backend: what it asks, what it counts when it is cut short, what it shows."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from echo_constants import UpstreamError
from echo_core import RoundUsage, TurnRecord
from echo_core.routing import LEVELS
from echo_protocol import Catalogue, Usage
from echo_runtime import PipeCall
from echo_runtime.own_tools import OWN_TYPE
from echo_runtime.subagent_run import Agent, Limits, Order, Surroundings
from echo_runtime.tool_approval import ToolApproval
from echo_runtime.tool_results import ResultReader
from echo_runtime.tools_cache import Seat
from echo_state_manager.memory import MemoryShadowStore
from scripted import FakeClock, ListMedia, ScriptedBackend, call, chunk

CATALOGUE = Catalogue.load()
USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
DONE = [chunk({"text": "done"}, finish="STOP", usage=USAGE)]
LIMITS = Limits(depth=1, rounds=5, tokens=1000, time_s=5.0)


def own(name: str, function: Any) -> Mapping[str, Any]:
    """An entry whose results are text already, so that Open WebUI is not needed to read them."""
    spec = {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}}
    return {"callable": function, "spec": spec, "type": OWN_TYPE, "tool_id": f"echo:{name}"}


def around(backend: ScriptedBackend, store: MemoryShadowStore | None = None, **tools: Any) -> Surroundings:
    asking = PipeCall(body={}, user={"id": "ada"}, metadata={"chat_id": "c"}, valves=None, tools={})
    entries = {name: own(name, function) for name, function in tools.items()}
    return Surroundings(
        call=asking,
        backend=backend,
        backend_name="ai_studio",
        models={level: CATALOGUE.resolve(f"MODEL_{level}", "ai_studio") for level in LEVELS},
        policy="FLASH",
        max_context_tokens=1_000_000,
        specs=[entry["spec"] for entry in entries.values()],
        runnable=entries,
        google=[{"googleSearch": {}}],
        safety_settings=[{"category": "X", "threshold": "OFF"}],
        results=ResultReader(asking, store, "a1", sees_media=False),
        approval=ToolApproval(asking),
        tool_timeout_s=5.0,
        media=ListMedia(),
        store=store,
        record=TurnRecord(),
        clock=FakeClock(),
    )


def agent(turn: Surroundings, task: str = "Count.", seat: Seat | None = None, **limits: Any) -> Agent:
    fields = {name: getattr(LIMITS, name) for name in ("depth", "rounds", "tokens", "time_s")}
    return Agent(turn, Order(task=task), Limits(**fields | limits), seat or Seat(answer_id="a1", card_id="c1"), 1)


async def test_its_request_is_its_own_but_for_tools_and_safety() -> None:
    backend = ScriptedBackend(DONE)

    async def look() -> str:
        return "cheese"

    await agent(around(backend, look=look), "Count to three.").work()
    (request,) = backend.requests
    assert request["contents"] == [{"role": "user", "parts": [{"text": "Count to three."}]}]
    assert request["safetySettings"] == [{"category": "X", "threshold": "OFF"}]
    kinds = [kind for tool in request["tools"] for kind in tool]
    assert kinds == ["functionDeclarations", "googleSearch"]
    assert request["toolConfig"]["includeServerSideToolInvocations"] is True
    assert "2027-01-15 (UTC)" in request["systemInstruction"]["parts"][0]["text"]


async def test_what_was_used_counts_also_when_the_agent_is_cancelled() -> None:
    started = asyncio.Event()

    async def hang() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    turn = around(ScriptedBackend([chunk(call("hang"), finish="STOP", usage=USAGE)]), hang=hang)
    turn.record.rounds.append(RoundUsage(model_id="m", usage=Usage(total_tokens=1)))
    task = asyncio.create_task(agent(turn).work())
    await asyncio.wait_for(started.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(entry.agent, entry.usage.total_tokens) for entry in turn.record.rounds] == [("", 1), ("sub-agent 1", 15)]


async def test_a_timeout_of_somebody_else_is_not_taken_for_its_own() -> None:
    class Late(ScriptedBackend):
        def stream_generate(self, *args: Any, **more: Any) -> Any:
            raise TimeoutError("somebody else's")

    with pytest.raises(TimeoutError, match="somebody else's"):
        await agent(around(Late())).work()


async def test_a_failure_tells_what_it_had_and_where_the_rest_can_be_read() -> None:
    store = MemoryShadowStore()
    backend = ScriptedBackend([chunk({"text": "I found "}), UpstreamError("gone")], *[[UpstreamError("gone")]] * 8)
    told = await agent(around(backend, store)).work()
    assert isinstance(told, dict)
    assert told["error"]["code"] == "upstream"
    assert told["partial"] == "I found"
    assert told["exchange"] == 'read_tool_output(id="c1.exchange@a1")'
    assert "null" not in json.dumps(told)


async def test_nothing_is_kept_where_there_is_no_store_and_no_card() -> None:
    for store, seat in [(None, Seat(answer_id="a1", card_id="c1")), (MemoryShadowStore(), Seat(answer_id="a1"))]:
        told = await agent(around(ScriptedBackend(DONE), store), seat=seat).work()
        assert "read_tool_output" not in str(told)


async def test_it_tells_each_change_of_what_it_does_once() -> None:
    told: list[str] = []
    thinking = [chunk({"text": text, "thought": True}) for text in "ab"]
    writing = [chunk({"text": text}) for text in "cd"]
    backend = ScriptedBackend([*thinking, *writing, *DONE])
    seat = Seat(answer_id="a1", card_id="c1", tell=lambda doing, steps: told.append(doing))
    await agent(around(backend), seat=seat).work()
    assert told == ["FLASH", "thinking", "writing"]


async def test_what_google_cites_for_it_becomes_the_answers_citations() -> None:
    last = chunk({"text": "Rain."}, finish="STOP")
    web = {"uri": "https://example.org/sky", "title": "Sky"}
    last["candidates"][0]["groundingMetadata"] = {
        "groundingChunks": [{"web": web}],
        "groundingSupports": [{"segment": {"text": "Rain."}, "groundingChunkIndices": [0]}],
    }
    seat = Seat(answer_id="a1", card_id="c1")
    await agent(around(ScriptedBackend([last])), seat=seat).work()
    assert [source["source"]["url"] for source in seat.sources] == ["https://example.org/sky"]
