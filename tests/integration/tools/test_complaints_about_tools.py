"""What users of other Gemini pipes complained about, as requests that must not look like theirs."""

import json
from itertools import pairwise
from typing import Any

from echo_workers.gemini_sim.core.faults import response
from echo_workers.gemini_sim.core.frames import sse_event
from turn_kit import Json, Kit, entry


async def roll(sides: int = 6) -> str:
    """Rolls a die."""
    return f"rolled {sides}"


NATIVE = {"roll": entry(roll, sides={"type": "integer"})}


async def ask(kit: Kit, messages: list[Json], **given: Any) -> Json:
    """The answer's message, put behind the messages that were asked with."""
    [choice] = (await kit.complete(messages, native=NATIVE, **given))["choices"]
    messages.append({"role": "assistant", "content": choice["message"]["content"]})
    message: Json = choice["message"]
    return message


def script(kit: Kit, *parts: Json) -> None:
    wires = [response(part=part, finish="STOP" if part is parts[-1] else None) for part in parts]
    kit.sim.script({"status": 200, "chunks": [{"text": sse_event(wire).decode()} for wire in wires]})


async def test_c04_a_thinking_summary_never_comes_back_as_text(kit: Kit) -> None:
    script(kit, {"text": "Secret musings.", "thought": True}, {"text": "Hello."})
    messages: list[Json] = [{"role": "user", "content": "Hi"}]
    answer = await ask(kit, messages)
    assert answer["reasoning_content"] == "Secret musings."
    await ask(kit, [*messages, {"role": "user", "content": "Again"}])
    assert "Secret musings" not in json.dumps(kit.bodies()[-1])


async def test_c12_signatures_go_back_between_tool_steps_and_between_turns(kit: Kit) -> None:
    messages: list[Json] = [{"role": "user", "content": 'Call roll {"sides": 6}.'}]
    await ask(kit, messages)
    await ask(kit, [*messages, {"role": "user", "content": 'Call roll {"sides": 20}.'}])
    first, *_, last = kit.bodies()
    signed = [part for content in last["contents"] for part in content["parts"] if "thoughtSignature" in part]
    assert "thoughtSignature" not in json.dumps(first)
    assert len(signed) >= 3, "two calls and the answer between them"


async def test_c15_a_tool_result_leaves_earlier_messages_as_they_were(kit: Kit) -> None:
    messages: list[Json] = [{"role": "user", "content": "My name is Ada."}]
    await ask(kit, messages)
    messages.append({"role": "user", "content": 'Call roll {"sides": 6}.'})
    await ask(kit, messages)
    await ask(kit, [*messages, {"role": "user", "content": "What is my name?"}])
    for before, after in pairwise([body["contents"] for body in kit.bodies()]):
        assert after[: len(before)] == before


async def test_c03_signed_parts_of_googles_tools_go_back_unchanged(kit: Kit) -> None:
    call = {"id": "93z4z1x3", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["weather"]}}
    answer = {"id": "93z4z1x3", "toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "<p>" * 40_000}}
    parts = [
        {"toolCall": call, "thoughtSignature": "EnUK"},
        {"toolResponse": answer, "thoughtSignature": "Eu6S" * 9_000},
        {"text": "It rains."},
    ]
    script(kit, *parts)
    metadata = {"features": {"web_search": True}}
    messages: list[Json] = [{"role": "user", "content": "Weather?"}]
    await ask(kit, messages, metadata=metadata)
    script(kit, {"text": "Still."})
    await ask(kit, [*messages, {"role": "user", "content": "And now?"}], metadata=metadata)
    first, second = kit.bodies()
    assert {"googleSearch": {}} in first["tools"]
    assert first["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert second["contents"][1]["parts"] == parts


async def test_fifty_rounds_of_eight_calls_each_keep_their_order(kit: Kit) -> None:
    calls = [
        [{"functionCall": {"name": "roll", "args": {"sides": 8 * number + place}}} for place in range(8)]
        for number in range(50)
    ]
    for parts in calls:
        script(kit, {**parts[0], "thoughtSignature": "c2ln"}, *parts[1:])
    script(kit, {"text": "Rolled."})
    answer = await ask(kit, [{"role": "user", "content": "Roll."}])
    assert answer["content"] == "Rolled."
    bodies = kit.bodies()
    assert len(bodies) == 51
    results = [
        part["functionResponse"]["response"]["output"]
        for content in bodies[-1]["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert results == [f"rolled {sides}" for sides in range(400)]
    for before, after in pairwise(body["contents"] for body in bodies):
        assert after[: len(before)] == before
