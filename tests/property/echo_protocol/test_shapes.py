"""Whatever comes in, what goes out has a shape that Gemini takes, and streaming never changes what is kept."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from echo_protocol import (
    SENTINEL,
    Content,
    FunctionCallPart,
    Part,
    StreamProcessor,
    apply_scope,
    assistant_contents,
    check_turn_shape,
    close_dangling_calls,
    content_json,
    current_turn_start,
    join_contents,
    openai_messages_to_contents,
    parse_contents,
    part_from_wire,
    text_part,
)
from echo_utils import normalise_visible_text, split_thought_process

ASK = Content("user", (text_part("q"),))
NAMES = st.sampled_from(["f", "g"])
IDS = st.sampled_from([None, "1", "2"])
SIGNATURES = st.sampled_from([None, None, "c2ln", "b3RoZXI="])


def _call(name: str, call_id: str | None, signature: str | None) -> dict[str, Any]:
    body = {"name": name, "args": {}} if call_id is None else {"id": call_id, "name": name, "args": {}}
    return {"functionCall": body} if signature is None else {"functionCall": body, "thoughtSignature": signature}


def _text(text: str, thought: bool, signature: str | None) -> dict[str, Any]:
    wire: dict[str, Any] = {"text": text, "thought": True} if thought else {"text": text}
    return wire if signature is None else {**wire, "thoughtSignature": signature}


TEXTS = st.builds(_text, st.text(max_size=3), st.booleans(), SIGNATURES)
CALLS = st.builds(_call, NAMES, IDS, SIGNATURES)
RESPONSES = st.builds(lambda name: {"functionResponse": {"name": name, "response": {"output": "x"}}}, NAMES)
MODEL_PARTS = st.lists(TEXTS | CALLS, max_size=4)
USER_PARTS = st.lists(st.builds(_text, st.text(max_size=3), st.just(False), st.none()) | RESPONSES, max_size=3)


def _content(role: Any, wires: list[dict[str, Any]]) -> Content:
    return Content(role, tuple(part_from_wire(wire) for wire in wires))


CONVERSATIONS = st.lists(
    st.builds(_content, st.just("model"), MODEL_PARTS) | st.builds(_content, st.just("user"), USER_PARTS), max_size=6
).map(lambda contents: [ASK, *contents])


@given(CONVERSATIONS)
def test_closing_always_gives_a_valid_shape_and_keeps_what_was_said(contents: list[Content]) -> None:
    closed = close_dangling_calls(contents)
    assert check_turn_shape(closed) == []
    assert close_dangling_calls(closed) == closed
    assert _kept(closed, "model") == _kept(contents, "model")
    assert [w for w in _kept(closed, "user") if "text" in w] == [w for w in _kept(contents, "user") if "text" in w]


def _kept(contents: Any, role: str) -> list[Any]:
    return [part.wire for content in contents if content.role == role for part in content.parts]


@given(CONVERSATIONS, st.booleans())
def test_scoping_keeps_the_shape_and_covers_the_current_turn(contents: list[Content], in_scope: bool) -> None:
    closed = close_dangling_calls(contents)
    scoped = apply_scope(closed, in_scope)
    assert check_turn_shape(scoped) == []
    start = current_turn_start(scoped)
    for index, content in enumerate(scoped):
        calls = [part for part in content.parts if isinstance(part, FunctionCallPart)]
        signatures = {part.signature for part in content.parts if part.signature}
        assert in_scope or signatures <= {SENTINEL}
        if index < start:
            assert SENTINEL not in signatures
        elif calls:
            assert calls[0].signature
            assert all(call.signature != SENTINEL for call in calls[1:])


@given(MODEL_PARTS, st.data())
def test_how_a_stream_is_cut_into_chunks_changes_nothing(wires: list[dict[str, Any]], data: st.DataObject) -> None:
    whole = StreamProcessor()
    whole.process({"candidates": [{"content": {"parts": wires}}]})
    pieces = StreamProcessor()
    left = list(wires)
    while left:
        count = data.draw(st.integers(1, len(left)))
        pieces.process({"candidates": [{"content": {"parts": left[:count]}}]})
        left = left[count:]
    assert pieces.finish().parts == whole.finish().parts


@given(st.lists(st.builds(_content, st.just("model"), st.lists(TEXTS, min_size=1, max_size=3)), max_size=4), st.data())
def test_contents_joined_by_bytes_read_back_in_any_grouping(contents: list[Content], data: st.DataObject) -> None:
    single = [content_json(content.role, content.parts) for content in contents]
    cut = data.draw(st.integers(0, len(single)))
    grouped = join_contents([join_contents(single[:cut]), *single[cut:]])
    assert grouped == join_contents(single)
    assert list(parse_contents(grouped)) == contents


ITEMS = st.one_of(
    st.builds(lambda t: {"type": "message", "content": [{"type": "output_text", "text": t}]}, st.text(max_size=3)),
    st.builds(lambda n, i: {"type": "function_call", "call_id": i, "name": n, "arguments": "{}"}, NAMES, IDS),
    st.builds(lambda i: {"type": "function_call_output", "call_id": i, "output": "x"}, IDS),
    st.just({"type": "reasoning", "content": "secret"}),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)


@given(st.text(max_size=10), st.lists(ITEMS, max_size=8))
def test_a_recovered_answer_has_a_valid_shape_and_no_thoughts(content: str, items: list[dict[str, Any]]) -> None:
    recovered = assistant_contents(content, items)
    assert check_turn_shape([ASK, *recovered]) == []
    assert "secret" not in str(recovered)
    asked = sum(item.get("type") == "function_call" for item in items)
    assert sum(len(c.calls) for c in recovered) == asked == sum(len(c.responses) for c in recovered)


MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool", "other"])},
    optional={
        "content": st.none()
        | st.text(max_size=3)
        | st.lists(st.builds(lambda t: {"type": "text", "text": t}, st.text())),
        "tool_call_id": IDS,
        "tool_calls": st.lists(
            st.builds(lambda i, n: {"id": i, "function": {"name": n, "arguments": "{}"}}, IDS, NAMES), max_size=2
        ),
    },
)


@given(st.lists(MESSAGES, max_size=6))
def test_any_history_of_a_caller_becomes_a_valid_conversation(messages: list[dict[str, Any]]) -> None:
    _, contents = openai_messages_to_contents(messages)
    assert check_turn_shape(close_dangling_calls([ASK, *contents])) == []


MARKUP = st.lists(
    st.sampled_from(
        ["<think>", "</think>", '<details type="reasoning">', "</details>", "`", "```\n", "a", " ", "\n", "é"]
    ),
    max_size=12,
).map("".join)


@given(MARKUP | st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise_visible_text(text)
    if "<" not in once and "◁" not in once:  # cutting a block out may leave text that looks like another block
        assert normalise_visible_text(once) == once
    thoughts, answer = split_thought_process(text)
    assert len(thoughts) + len(answer) <= len(text) + text.count("<")


def test_parts_are_values() -> None:
    part: Part = text_part("a")
    assert part == text_part("a")
    assert part != part_from_wire({"text": "a", "thought": True})
