"""Tools that an API caller declares: handed over, never run here, and their results meet the sealed calls."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from echo_workers.gemini_sim.core import faults
from echo_workers.gemini_sim.core.faults import response
from echo_workers.gemini_sim.core.frames import sse_event
from turn_kit import Json, Kit, entry, pipe

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ASK = {"role": "user", "content": 'Please call weather {"city": "Lyon"} and call weather {"city": "Nice"}.'}


def results(message: Json, *texts: str) -> list[Json]:
    """The caller's results, in the reverse of the calls' order: the ids tell which is which."""
    pairs = list(zip(message["tool_calls"], texts, strict=True))
    return [{"role": "tool", "tool_call_id": call["id"], "content": text} for call, text in reversed(pairs)]


async def ask(kit: Kit, messages: list[Json], **given: Any) -> Json:
    """The only choice of a completion for a caller that declares `weather`."""
    answer = await kit.complete(messages, **{"tools": [WEATHER], **given})
    [choice] = answer["choices"]
    return choice


async def test_a_callers_calls_are_handed_over_and_its_results_meet_the_signed_calls(kit: Kit) -> None:
    first = await ask(kit, [ASK])
    message = first["message"]
    assert first["finish_reason"] == "tool_calls"
    assert [json.loads(c["function"]["arguments"])["city"] for c in message["tool_calls"]] == ["Lyon", "Nice"]
    assert len({c["id"] for c in message["tool_calls"]}) == 2
    last = await ask(kit, [ASK, message, *results(message, "sun", "rain")])
    assert last["finish_reason"] == "stop"
    calls, answers = kit.bodies()[-1]["contents"][-2:]
    assert "thoughtSignature" in calls["parts"][0]
    got = [part["functionResponse"] for part in answers["parts"]]
    assert [part["response"]["output"] for part in got] == ["sun", "rain"]
    asked = [part["functionCall"].get("id") for part in calls["parts"] if "functionCall" in part]
    assert [part.get("id") for part in got] == asked


async def test_a_stream_gives_the_calls_as_deltas(kit: Kit) -> None:
    chunks = await kit.stream([ASK], tools=[WEATHER])
    deltas = [c["choices"][0] for c in chunks if c.get("choices")]
    calls = [call for choice in deltas for call in choice["delta"].get("tool_calls", [])]
    assert [call["index"] for call in calls] == [0, 1]
    assert [call["function"]["name"] for call in calls] == ["weather", "weather"]
    assert {call["type"] for call in calls} == {"function"}
    assert deltas[-1]["finish_reason"] == "tool_calls"
    assert [c["usage"]["total_tokens"] > 0 for c in chunks if c.get("usage")] == [True]


async def test_each_request_of_a_callers_loop_begins_with_the_one_before(kit: Kit, tmp_path: Path) -> None:
    messages = [ASK]
    choice = await ask(kit, messages)
    messages += [choice["message"], *results(choice["message"], "sun", "rain")]
    choice = await ask(kit, messages)
    messages += [choice["message"], {"role": "user", "content": 'Now call weather {"city": "Metz"}.'}]
    choice = await ask(kit, messages)
    messages += [choice["message"], *results(choice["message"], "snow")]
    async with pipe(tmp_path, kit.sim) as restarted:
        await ask(restarted, messages)
    bodies = [r["body"] for r in kit.sim.requests() if "GenerateContent" in r["path"]]
    assert len(kit.bodies()) == 4
    for before, after in pairwise(bodies):
        sent = before[: before.index('],"generationConfig"')]
        assert after.startswith(sent)


async def test_what_the_caller_never_answers_is_closed(kit: Kit) -> None:
    choice = await ask(kit, [ASK])
    [one, *_] = results(choice["message"], "sun", "rain")
    await ask(kit, [ASK, choice["message"], one, {"role": "user", "content": "Never mind."}])
    answers = kit.bodies()[-1]["contents"][-1]
    got = [part.get("functionResponse", {}).get("response") for part in answers["parts"]]
    assert "error" in got[0] and got[1] == {"output": "rain"}
    assert answers["parts"][2] == {"text": "Never mind."}
    await ask(kit, [ASK, choice["message"]])
    assert len(kit.bodies()) == 3


async def test_calls_that_echo_never_saw_are_covered_for(kit: Kit) -> None:
    call = {"id": "x", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lyon"}'}}
    made_elsewhere = {"role": "assistant", "content": None, "tool_calls": [call]}
    history = [ASK, made_elsewhere, {"role": "tool", "tool_call_id": "x", "content": "sun"}]
    await ask(kit, history)
    await ask(kit, history, valves={"KEEP_API_HISTORY": False})
    for body in kit.bodies():
        assert body["contents"][1]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"


async def test_open_webuis_own_tools_run_here_and_the_callers_are_handed_over_in_one_step(kit: Kit) -> None:
    ran: list[str] = []

    async def clock(zone: str) -> str:
        ran.append(zone)
        return "noon"

    native = {"clock": entry(clock, zone={"type": "string"})}
    tools = [WEATHER, {"type": "function", "function": native["clock"]["spec"]}]
    question = {"role": "user", "content": 'Call clock {"zone": "UTC"} and call weather {"city": "Lyon"}.'}
    choice = await ask(kit, [question], native=native, tools=tools)
    assert ran == ["UTC"]
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["weather"]
    last = await ask(kit, [question, choice["message"], *results(choice["message"], "sun")], native=native, tools=tools)
    assert last["finish_reason"] == "stop" and ran == ["UTC"]
    first, second = kit.bodies()
    declared = [d["name"] for d in first["tools"][0]["functionDeclarations"]]
    assert declared == ["clock", "read_tool_output", "weather"]
    assert second["tools"] == first["tools"]
    got = [part["functionResponse"]["response"] for part in second["contents"][-1]["parts"]]
    assert got == [{"output": "noon"}, {"output": "sun"}]


async def test_a_callers_tool_wins_over_one_of_the_same_name(kit: Kit) -> None:
    async def weather(town: str) -> str:
        raise AssertionError("the caller's tool was run here")

    native = {"weather": entry(weather, town={"type": "string"})}
    tools = [{"type": "function", "function": native["weather"]["spec"]}, WEATHER]
    choice = await ask(kit, [ASK], native=native, tools=tools)
    assert choice["finish_reason"] == "tool_calls"
    [declaration] = kit.bodies()[0]["tools"][0]["functionDeclarations"]
    assert list(declaration["parametersJsonSchema"]["properties"]) == ["city"]


@pytest.mark.parametrize(
    ("choice", "mode"),
    [
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (
            {"type": "function", "function": {"name": "météo du jour"}},
            {"mode": "ANY", "allowedFunctionNames": ["m_t_o_du_jour_"]},
        ),
        ({"type": "function", "function": {"name": "unknown"}}, None),
    ],
)
async def test_what_the_caller_forces(kit: Kit, choice: Any, mode: Json | None) -> None:
    odd = {"type": "function", "function": {**WEATHER["function"], "name": "météo du jour"}}
    await ask(kit, [{"role": "user", "content": "Hello"}], tools=[odd], tool_choice=choice)
    got = kit.bodies()[0].get("toolConfig", {}).get("functionCallingConfig")
    if mode and "allowedFunctionNames" in mode:
        [name] = got["allowedFunctionNames"]
        assert name.startswith(mode["allowedFunctionNames"][0])
        assert name == kit.bodies()[0]["tools"][0]["functionDeclarations"][0]["name"]
    else:
        assert got == mode


async def test_what_is_forced_is_forced_once(kit: Kit) -> None:
    async def clock(zone: str) -> str:
        return "noon"

    native = {"clock": entry(clock, zone={"type": "string"})}
    kit.sim.script(
        {"status": 200, "chunks": [{"text": sse_event(response(part=CALL_CLOCK, finish="STOP")).decode()}]},
        faults.stream("It is noon."),
    )
    await ask(kit, [{"role": "user", "content": "Time?"}], native=native, tools=None, tool_choice="required")
    modes = [body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode") for body in kit.bodies()]
    assert modes == ["ANY", None]


CALL_CLOCK = {"functionCall": {"name": "clock", "args": {"zone": "UTC"}}, "thoughtSignature": "c2ln"}
