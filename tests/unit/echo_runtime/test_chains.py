"""A temporary chat as the page sends it: users' messages have ids, answers with output items have none."""

from typing import Any

from echo_events import ResponsesRenderer, TextStreamed, ThoughtStreamed
from echo_runtime import PipeCall
from echo_runtime.chains import RequestChain
from echo_runtime.item_ids import item_prefix

ANSWER_ID = "3f8574e0-e50e-4698-9514-ac57ca75cdeb"


def call_for(message_id: str = "next") -> PipeCall:
    metadata = {"chat_id": "temporary:socket", "message_id": message_id, "session_id": "socket"}
    return PipeCall(body={}, user={"id": "u"}, metadata=metadata, valves=None, tools={})


def output_of(message_id: str) -> list[dict[str, Any]]:
    renderer = ResponsesRenderer(item_prefix(message_id))
    events = [ThoughtStreamed("hm"), TextStreamed("Yes.")]
    return [wire["item"] for event in events for wire in renderer.render(event) if wire["type"].endswith("added")]


def user(message_id: str, text: str) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": text}


async def test_an_answer_is_known_by_its_items() -> None:
    answer = {"role": "assistant", "model": "echo", "output": output_of(ANSWER_ID)}
    chain = RequestChain(call_for(), [user("a", "Hi"), answer, user("b", "And?")])
    assert [(head.message_id, head.role) for head in await chain.heads()] == [
        ("a", "user"),
        (ANSWER_ID, "model"),
        ("b", "user"),
    ]
    assert (await chain.texts([ANSWER_ID]))[ANSWER_ID].output == answer["output"]


async def test_another_models_answer_gets_the_same_id_each_time() -> None:
    foreign = {"role": "assistant", "output": [{"type": "message", "id": "msg_1", "content": []}]}
    chains = [RequestChain(call_for(), [user("a", "Hi"), foreign, dict(foreign), user("b", "And?")]) for _ in range(2)]
    first, second = [[head.message_id for head in await chain.heads()] for chain in chains]
    assert first == second
    assert len(set(first)) == 4


async def test_items_of_two_runs_of_one_message_differ() -> None:
    first, second = output_of(ANSWER_ID), output_of(ANSWER_ID)
    assert not {item["id"] for item in first} & {item["id"] for item in second}


async def test_the_answer_that_is_being_written_is_not_part_of_the_chain() -> None:
    chain = RequestChain(call_for("next"), [user("a", "Hi"), {"id": "next", "role": "assistant", "content": "old"}])
    assert [head.message_id for head in await chain.heads()] == ["a"]
