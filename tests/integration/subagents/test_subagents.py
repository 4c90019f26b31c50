"""Sub-agents over the whole pipe: what they are asked, what comes back, what it counts, what they can reach."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from echo_events import ToolFinished, ToolProgressed, TurnFinished, UsageCounted
from echo_runtime import _TOOLS_CACHE
from echo_runtime.tool_approval import DENIED
from echo_runtime.tools_cache import POLICY_KEY, SEAT, SPECS_KEY, TOOLS_KEY, Seat, turn_tools
from subagent_kit import TOOL, delegating, with_extra
from turn_kit import Json, Kit, entry


def asks(task: str, **more: Any) -> list[Json]:
    return [{"role": "user", "content": f"Please call {TOOL} {json.dumps({'task': task, **more})}"}]


async def look(at: str = "") -> str:
    """Look at something."""
    return f"{at} is made of cheese"


LOOK = {"look": entry(look, at={"type": "string"})}
MOON = 'call look {"at": "the moon"}'


async def events_of(kit: Kit, messages: list[Json], **given: Any) -> list[Any]:
    return [event async for event in kit.orchestrator.events(kit.call(messages, **given))]


def result_of(events: list[Any]) -> str:
    (finished,) = (event for event in events if isinstance(event, ToolFinished))
    return finished.text


def of_agents(bodies: list[Json]) -> list[Json]:
    return [body for body in bodies if "sub-agent of ECHO" in json.dumps(body.get("systemInstruction"))]


def declared(body: Json) -> set[str]:
    return {tool["name"] for group in body.get("tools", ()) for tool in group.get("functionDeclarations", ())}


async def test_a_sub_agent_works_with_the_tools_of_the_turn_in_a_context_of_its_own(kit: Kit) -> None:
    messages = [{"role": "system", "content": "SECRET-SYSTEM"}, {"role": "user", "content": "My name is Ada."},
                {"role": "assistant", "content": "Hello."}, *asks(MOON, context="It is full.")]  # fmt: skip
    events = await events_of(kit, messages, native=LOOK | delegating())
    bodies = kit.bodies()
    first, second = of_agents(bodies)
    assert first["contents"] == [
        {"role": "user", "parts": [{"text": f"{MOON}\n\nWhat you need to know:\nIt is full."}]}
    ]
    assert declared(first) == {"look", "read_tool_output"}
    assert "SECRET-SYSTEM" not in json.dumps([first, second])
    assert "My name is Ada" not in json.dumps([first, second])
    assert "cheese" in json.dumps(second["contents"][-1])
    answer = result_of(events)
    assert "cheese" in answer
    assert "[Sub-agent, FLASH: 2 requests, 1 tool calls," in answer
    assert "cheese" in json.dumps(bodies[-1]["contents"][-1]["parts"][0]["functionResponse"])
    assert events[-1] == TurnFinished("stop")


async def test_what_a_sub_agent_uses_counts_in_the_turn_but_not_in_the_fill_of_the_chat(kit: Kit) -> None:
    events = await events_of(kit, asks(MOON), native=LOOK | delegating())
    (usage,) = (event.usage for event in events if isinstance(event, UsageCounted))
    assert [row.get("agent") for row in usage["rounds"]] == [None, "sub-agent 1", "sub-agent 1", None]
    assert usage["input_tokens"] == sum(row["input_tokens"] for row in usage["rounds"])
    assert usage["cost"] == pytest.approx(sum(row["cost"] for row in usage["rounds"]))


async def test_its_exchange_can_be_read_afterwards(kit: Kit) -> None:
    messages = asks(MOON)
    answer = result_of(await events_of(kit, messages, native=LOOK | delegating()))
    name = answer.rpartition('read_tool_output(id="')[2].partition('"')[0]
    read = [{"role": "user", "content": f"Please call read_tool_output {json.dumps({'id': name})}"}]
    told = result_of(await events_of(kit, read, native=LOOK | delegating()))
    assert f"# Task\n\n{MOON}" in told
    assert '→ look {"at":"the moon"}' in told
    assert "← look\nthe moon is made of cheese" in told


async def test_the_card_tells_what_the_sub_agent_does(kit: Kit) -> None:
    events = await events_of(kit, asks(MOON), native=LOOK | delegating())
    told = [event for event in events if isinstance(event, ToolProgressed)]
    assert [event.doing for event in told][:2] == ["FLASH", "look"]
    assert told[-1].doing == "writing (1)"
    assert told[-1].steps == ("1. look",)
    (at,) = (n for n, event in enumerate(events) if isinstance(event, ToolFinished))
    assert not any(isinstance(event, ToolProgressed) for event in events[at:])


async def test_several_sub_agents_of_one_step_work_at_the_same_time(kit: Kit) -> None:
    met = asyncio.Barrier(2)

    async def meet(name: str = "") -> str:
        """Wait for the other."""
        async with asyncio.timeout(5):
            await met.wait()
        return f"{name} has met"

    tasks = [json.dumps({"task": f'call meet {{"name": "{name}"}}'}) for name in ("Ann", "Bob")]
    question = [{"role": "user", "content": f"Please call {TOOL} {tasks[0]} and call {TOOL} {tasks[1]}"}]
    events = await events_of(kit, question, native={"meet": entry(meet, name={"type": "string"})} | delegating())
    results = [event.text for event in events if isinstance(event, ToolFinished)]
    assert sorted("Ann has met" in result for result in results) == [False, True]
    responses = kit.bodies()[-1]["contents"][-1]["parts"]
    assert ["Ann" in json.dumps(part) for part in responses] == [True, False]


async def test_tools_that_an_api_caller_declared_are_not_a_sub_agents(kit: Kit) -> None:
    theirs = {"type": "function", "function": {"name": "launch", "parameters": {"type": "object", "properties": {}}}}
    await events_of(kit, asks("call launch {}"), native=delegating(), tools=[theirs])
    bodies = kit.bodies()
    assert "launch" in declared(bodies[0])
    assert all("launch" not in declared(body) for body in of_agents(bodies))
    assert of_agents(bodies)


@pytest.mark.parametrize("native", [[{"name": "bare", "parameters": {"type": "object"}}], [], {}, None])
async def test_turns_without_callables_run_as_ever(kit: Kit, native: Any) -> None:
    events = await events_of(kit, [{"role": "user", "content": "Hello"}], native=native)
    assert events[-1] == TurnFinished("stop")
    assert _TOOLS_CACHE == {}


async def test_a_sub_agent_has_sub_agents_only_as_deep_as_allowed(kit: Kit) -> None:
    inner = json.dumps({"task": MOON})
    events = await events_of(kit, asks(f"call {TOOL} {inner}"), native=LOOK | delegating(MAX_DEPTH=2))
    assert [TOOL in declared(body) for body in of_agents(kit.bodies())] == [True, False, False, True]
    (usage,) = (event.usage for event in events if isinstance(event, UsageCounted))
    agents = [row.get("agent") for row in usage["rounds"]]
    assert agents == [None, *["sub-agent 2"] * 2, *["sub-agent 1"] * 2, None]


@pytest.mark.parametrize("given", [{"MAX_DEPTH": 0}, {"enabled": False}])
async def test_the_administrator_and_the_user_can_switch_them_off(kit: Kit, given: Json) -> None:
    told = json.loads(result_of(await events_of(kit, asks(MOON), native=LOOK | delegating(**given))))
    assert told["error"]["code"] == "subagents_off"
    assert of_agents(kit.bodies()) == []


async def test_a_task_without_words_is_sent_back(kit: Kit) -> None:
    told = json.loads(result_of(await events_of(kit, asks("  "), native=delegating())))
    assert told["error"]["code"] == "subagent_without_task"


@pytest.mark.parametrize(
    ("policy", "wanted", "level"),
    [("LITE", "PRO", "LITE"), ("AUTO", "PRO", "PRO"), ("AUTO", "auto", "FLASH"), ("AUTO_PRO", "auto", "PRO")],
)
async def test_the_users_policy_decides_about_its_model(kit: Kit, policy: str, wanted: str, level: str) -> None:
    valves = {"MODEL_SELECTION": policy}
    answer = result_of(await events_of(kit, asks(MOON, level=wanted), native=LOOK | delegating(), valves=valves))
    assert f"[Sub-agent, {level}:" in answer


async def test_tools_find_the_others_and_the_policy_only_while_the_turn_runs(kit: Kit) -> None:
    metadata: Json = {}
    seen: Json = {}

    async def peek(__metadata__: Json) -> str:
        """Look around."""
        seen.update(__metadata__)
        return "seen"

    native = {"peek": with_extra(peek, {"__metadata__": metadata})} | LOOK
    await events_of(kit, [{"role": "user", "content": "Please call peek {}"}], native=native)
    assert set(seen[TOOLS_KEY]) == {"peek", "look"}
    assert {spec["function"]["name"] for spec in seen[SPECS_KEY]} == {"peek", "look", "read_tool_output"}
    assert seen[POLICY_KEY] == "FLASH"
    assert metadata == {}
    assert _TOOLS_CACHE == {}


async def test_another_user_finds_nothing_of_a_running_turn(kit: Kit) -> None:
    """Even with the ids of the answer and of the chat, and even from a seat of the first user's."""
    stolen: list[Any] = []

    async def attack() -> str:
        """Try."""
        seat = SEAT.get()
        assert seat is not None
        owner, _ = turn_tools("ada", {})
        assert owner is not None
        for user in ("mallory", ""):
            SEAT.set(seat)
            stolen.append(turn_tools(user, {"message_id": seat.answer_id})[0])
            SEAT.set(Seat(answer_id=seat.answer_id))
            stolen.append(turn_tools(user, {})[0])
            mallory = delegating({"message_id": seat.answer_id}, user=user)[TOOL]["callable"]
            stolen.append((await mallory(task="steal"))["error"]["code"])
        SEAT.set(seat)
        stolen.append(turn_tools("ada", {"chat_id": "another chat"})[0])
        return "tried"

    question = [{"role": "user", "content": "Please call attack {}"}]
    await events_of(kit, question, native={"attack": entry(attack)} | delegating())
    assert stolen == [None, None, "subagent_without_turn"] * 2 + [None]
    assert turn_tools("ada", {})[0] is None
    assert len(kit.bodies()) == 2


@pytest.mark.parametrize("name", ["ask_user", "delegate_task", "timer"])
async def test_open_webuis_questions_and_sub_agents_are_not_a_sub_agents(kit: Kit, name: str) -> None:
    async def builtin() -> str:
        """Do it."""
        return "done"

    builtin.__name__ = name
    tool = entry(builtin) | {"tool_id": f"builtin:{name}", "type": "builtin"}
    await events_of(kit, asks(MOON), native={name: tool} | LOOK | delegating())
    first, *_ = bodies = kit.bodies()
    assert name in declared(first)
    assert all(name not in declared(body) and "look" in declared(body) for body in of_agents(bodies))


async def test_the_user_is_asked_about_the_tools_of_a_sub_agent_one_after_the_other(kit: Kit) -> None:
    asked: list[str] = []

    async def browser(event: Json) -> bool:
        asked.append(event["data"]["tool_call"]["name"])
        return event["data"]["tool_call"]["name"] == TOOL

    metadata = {"params": {"tool_approval_mode": "ask"}, "session_id": "s", "message_id": "m"}
    native = LOOK | delegating(metadata)
    call = replace(kit.call(asks(MOON), native=native, metadata=metadata), event_call=browser)
    events = [event async for event in kit.orchestrator.events(call)]
    assert asked == [TOOL, "look"]
    response = of_agents(kit.bodies())[-1]["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert response == {"error": DENIED}
    assert events[-1] == TurnFinished("stop")
