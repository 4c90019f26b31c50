"""A temporary chat's messages are told apart although its page sends answers without ids."""

from types import SimpleNamespace
from typing import Any

from echo_events import ResponsesRenderer, TextStreamed
from echo_runtime.call import PipeCall
from echo_runtime.chains import RequestChain
from echo_runtime.item_ids import item_prefix, message_of


def items_of(message_id: str, text: str) -> list[dict[str, Any]]:
    renderer = ResponsesRenderer(item_prefix(message_id))
    return [wire["item"] for wire in renderer.render(TextStreamed(text)) if "item" in wire]


def call(**metadata: Any) -> PipeCall:
    ids = {"chat_id": "temporary:s", "message_id": "new", "user_message_id": "q2", **metadata}
    return PipeCall(
        body={}, user={"id": "ada"}, metadata=ids, valves=SimpleNamespace(), tools={}, request=SimpleNamespace()
    )


def test_items_name_their_message_whatever_its_id_looks_like() -> None:
    for message_id in ("5f0c1a52-71a3-4d44-8a3c-111111111111", "a_b_1", "x"):
        assert message_of(items_of(message_id, "hello")) == message_id
    assert message_of([{"id": "msg_1"}, "text", {"type": "message"}]) == ""


async def test_answers_without_ids_are_found_by_their_items_or_their_question() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "id": "q1", "content": "One?"},
        {"role": "assistant", "output": items_of("a1", "One.")},
        {"role": "user", "id": "q2", "content": "Two?"},
        {"role": "assistant", "output": [{"type": "message", "id": "msg_of_another_model", "content": []}]},
        {"role": "user", "id": "q3", "content": "Three?"},
    ]
    chain = RequestChain(call(), messages)
    assert [head.message_id for head in await chain.heads()] == ["q1", "a1", "q2", "q2/answer", "q3"]
    assert list(await chain.texts(["a1"])) == ["a1"]
