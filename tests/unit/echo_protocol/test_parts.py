"""Parts are read whichever way their keys are spelled, and written as they came."""

from typing import Any

import pytest

from echo_protocol import (
    CodeExecutionResultPart,
    ExecutableCodePart,
    FileDataPart,
    FunctionCallPart,
    FunctionResponsePart,
    InlineDataPart,
    OpaquePart,
    TextPart,
    ThoughtPart,
    ToolCallPart,
    ToolResponsePart,
    UnreadablePart,
    file_data_part,
    function_call_part,
    function_response_part,
    inline_data_part,
    open_calls,
    part_from_wire,
    replayable,
    text_part,
)


@pytest.mark.parametrize(
    ("wire", "cls", "facts"),
    [
        ({"text": "a"}, TextPart, {"text": "a", "signature": None, "thought": False}),
        ({"text": "", "thoughtSignature": "s"}, TextPart, {"text": "", "signature": "s"}),
        ({"text": "a", "thought_signature": "s"}, TextPart, {"signature": "s"}),
        ({"text": "a", "thoughtSignature": None}, TextPart, {"signature": None}),
        ({"text": "a", "thought": True}, ThoughtPart, {"text": "a", "thought": True}),
        ({"text": "a", "functionCall": None}, TextPart, {"text": "a"}),
        ({"functionCall": {"name": "f", "args": {"x": 1}}}, FunctionCallPart, {"name": "f", "args": {"x": 1}}),
        ({"function_call": {"id": "i", "name": "f", "args": None}}, FunctionCallPart, {"args": {}, "call_id": "i"}),
        ({"functionCall": {}}, FunctionCallPart, {"name": "", "args": {}, "call_id": None}),
        (
            {"function_response": {"id": "i", "name": "f", "response": {"output": 1}}},
            FunctionResponsePart,
            {"name": "f", "response": {"output": 1}, "call_id": "i", "media": ()},
        ),
        ({"functionResponse": {"response": "x"}}, FunctionResponsePart, {"name": "", "response": {}, "call_id": None}),
        ({"inline_data": {"mime_type": "a/b", "data": "eA"}}, InlineDataPart, {"mime_type": "a/b", "data": "eA"}),
        ({"inlineData": {}}, InlineDataPart, {"mime_type": "", "data": ""}),
        ({"fileData": {"fileUri": "u", "mimeType": "m"}}, FileDataPart, {"uri": "u", "mime_type": "m"}),
        ({"executableCode": {"language": "R", "code": "1"}}, ExecutableCodePart, {"language": "R", "code": "1"}),
        (
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            CodeExecutionResultPart,
            {"outcome": "OUTCOME_OK", "output": "1"},
        ),
        ({"toolCall": {"tool_type": "T", "args": {"q": 1}}}, ToolCallPart, {"tool_type": "T", "args": {"q": 1}}),
        ({"toolCall": {"toolType": "T"}}, ToolCallPart, {"args": {}}),
        ({"toolResponse": {"tool_type": "T", "response": {"r": 1}}}, ToolResponsePart, {"response": {"r": 1}}),
        ({"toolResponse": {}}, ToolResponsePart, {"tool_type": "", "response": {}}),
        ({"novel": {"a": 1}, "thoughtSignature": "s"}, OpaquePart, {"signature": "s"}),
        ({"text": None}, OpaquePart, {}),
        ({}, OpaquePart, {}),
    ],
)  # fmt: skip
def test_every_kind_is_read(wire: dict[str, Any], cls: type[Any], facts: dict[str, Any]) -> None:
    part = part_from_wire(wire)
    assert type(part) is cls
    assert part.wire is wire
    assert {name: getattr(part, name) for name in facts} == facts


@pytest.mark.parametrize("bad", [None, "text", ["a"], 3])
def test_what_is_no_object_is_refused(bad: object) -> None:
    with pytest.raises(UnreadablePart):
        part_from_wire(bad)


def test_parts_of_our_own_have_the_shape_of_the_api() -> None:
    assert text_part("a").wire == {"text": "a"}
    assert inline_data_part("image/png", "eA==").wire == {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    named = inline_data_part("image/png", "eA==", display_name="a.png")
    assert named.wire["inlineData"]["displayName"] == "a.png"
    assert file_data_part("a/b", "u").wire == {"fileData": {"mimeType": "a/b", "fileUri": "u"}}
    assert function_call_part("f", {}, call_id="i").wire == {"functionCall": {"id": "i", "name": "f", "args": {}}}


def test_media_travel_inside_the_response() -> None:
    image = inline_data_part("image/png", "eA==")
    response = function_response_part(function_call_part("f", {}), {"output": ""}, [image])
    assert response.wire["functionResponse"]["parts"] == [image.wire]
    assert response.media == (image,)


def test_calls_are_closed_one_by_one() -> None:
    first, second = function_call_part("f", {}, call_id="1"), function_call_part("f", {}, call_id="2")
    done = function_response_part(second, {})
    assert open_calls([first, second]) == (first, second)
    assert open_calls([first, second, done]) == (first,)
    assert open_calls([done, second]) == (second,)


def test_a_signed_draft_goes_back_whole_and_a_signed_thought_without_its_text() -> None:
    draft = part_from_wire({"inlineData": {"data": "eA=="}, "thought": True, "thoughtSignature": "s"})
    idea = part_from_wire({"text": "secret", "thought": True, "thoughtSignature": "t"})
    unsigned = part_from_wire({"inlineData": {"data": "eA=="}, "thought": True})
    assert [part.wire for part in replayable([draft, idea, unsigned])] == [
        draft.wire,
        {"text": "", "thought": True, "thoughtSignature": "t"},
    ]
