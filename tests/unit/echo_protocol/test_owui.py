"""Open WebUI's messages as Gemini contents."""

import base64
from typing import Any

import pytest

from echo_protocol import (
    LOST_RESPONSE,
    Content,
    InlineDataPart,
    TextPart,
    assistant_contents,
    check_turn_shape,
    close_dangling_calls,
    inline_data_part,
    openai_messages_to_contents,
    text_part,
    user_parts,
    visible_text,
)

PIXEL = "iVBORw0KGgo="
ASK = Content("user", (text_part("q"),))


def wires(parts: Any) -> list[Any]:
    return [part.wire for part in parts]


def contents_of(contents: list[Content]) -> list[Any]:
    return [(content.role, wires(content.parts)) for content in contents]


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def called(name: str, call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments}


def gave(call_id: str, *output: Any) -> dict[str, Any]:
    items = [{"type": "input_text", "text": item} if isinstance(item, str) else item for item in output]
    return {"type": "function_call_output", "call_id": call_id, "output": items}


def test_text_and_images_keep_their_order() -> None:
    content = [{"type": "text", "text": "a"}, image(f"data:image/png;base64,{PIXEL}"), {"type": "text", "text": "b"}]
    assert wires(user_parts(content, [inline_data_part("application/pdf", "eA==")])) == [
        {"text": "a"},
        {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
        {"text": "b"},
        {"inlineData": {"mimeType": "application/pdf", "data": "eA=="}},
    ]
    assert wires(user_parts("a")) == [{"text": "a"}]
    assert user_parts([image("")]) == user_parts([{"type": "image_url", "image_url": None}]) == []
    assert user_parts("") == user_parts([]) == user_parts([{"type": "text"}, {"type": "?"}, 3, ""]) == []


@pytest.mark.parametrize(
    ("item", "mime_type", "data"),
    [
        (image(f"data:image/JPG;charset=x;base64,{PIXEL}"), "image/jpeg", PIXEL),
        ({"type": "input_image", "image_url": f"data:image/webp;base64,{PIXEL}"}, "image/webp", PIXEL),
        (image("data:text/csv,a%2Cb"), "text/csv", base64.b64encode(b"a,b").decode()),
        (image("data:,hi"), "text/plain", base64.b64encode(b"hi").decode()),
        ({"type": "input_audio", "input_audio": {"data": "eA==", "format": "mp3"}}, "audio/mpeg", "eA=="),
        ({"type": "input_audio", "input_audio": {"data": "eA=="}}, "audio/wav", "eA=="),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,eA=="}}, "application/pdf", "eA=="),
    ],
)
def test_media_goes_inline(item: dict[str, Any], mime_type: str, data: str) -> None:
    (part,) = user_parts([item])
    assert isinstance(part, InlineDataPart)
    assert (part.mime_type, part.data) == (mime_type, data)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("data:image/svg+xml;base64,eA==", "image/svg+xml"),
        ("data:application/zip;base64,eA==", "application/zip"),
        ("data:image/png;base64," + "A" * 27_000_000, "too large"),
        ("https://example.com/a.png", "https://example.com/a.png"),
    ],
)
def test_what_gemini_would_refuse_becomes_a_note(url: str, told: str) -> None:
    (part,) = user_parts([image(url)])
    assert isinstance(part, TextPart)
    assert told in part.text
    assert len(part.text) < 600


def test_a_google_file_goes_by_reference() -> None:
    uri = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    assert wires(user_parts([image(uri), image("gs://b/o")])) == [
        {"fileData": {"mimeType": "application/octet-stream", "fileUri": uri}},
        {"fileData": {"mimeType": "application/octet-stream", "fileUri": "gs://b/o"}},
    ]


def test_an_answer_is_recovered_with_its_steps_in_order() -> None:
    items = [
        {"type": "reasoning", "content": [{"text": "secret"}]},
        message("Let me look."),
        called("f", "1", '{"x": 1}'),
        called("g", "2"),
        gave("2", "two"),
        gave("1", "one"),
        called("f", "3", "not json"),
        gave("3", "three", {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}),
        {"type": "open_webui:status", "content": "x"},
        message("<think>hm</think>Done."),
    ]
    contents = assistant_contents("ignored", items)
    assert contents_of(contents) == [
        ("model", [{"text": "Let me look."}, {"functionCall": {"name": "f", "args": {"x": 1}}},
                   {"functionCall": {"name": "g", "args": {}}}]),
        ("user", [{"functionResponse": {"name": "f", "response": {"output": "one"}}},
                  {"functionResponse": {"name": "g", "response": {"output": "two"}}}]),
        ("model", [{"functionCall": {"name": "f", "args": {"arguments": "not json"}}}]),
        ("user", [{"functionResponse": {"name": "f", "response": {"output": "three"},
                                        "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}]}}]),
        ("model", [{"text": "Done."}]),
    ]  # fmt: skip
    assert check_turn_shape([ASK, *contents]) == []
    assert visible_text("ignored", items) == "Let me look.\nDone."


@pytest.mark.parametrize(
    "items",
    [
        [called("f", "1"), called("g", "2"), gave("1", "x")],
        [called("f", "1"), gave("1", "x"), called("g", "2")],
        [called("f", "1"), message("a"), called("f", "2"), message("b")],
        [gave("1", "x"), message("a")],
        [called("f", "1"), {"type": "reasoning"}, called("g", "2")],
    ],
)
def test_whatever_was_cut_the_shape_holds(items: list[dict[str, Any]]) -> None:
    contents = assistant_contents("", items)
    assert check_turn_shape([ASK, *contents]) == []
    missing = sum(i["type"] == "function_call" for i in items) - sum(
        i["call_id"] == "1" for i in items if "output" in i
    )
    lost = [part for c in contents for part in c.responses if part.response == LOST_RESPONSE]
    assert len(lost) == max(missing, 0)


def test_an_answer_without_items_is_its_text() -> None:
    assert contents_of(assistant_contents("<think>x</think>a")) == [("model", [{"text": "a"}])]
    assert assistant_contents("<think>x</think>") == []
    assert assistant_contents("", [message("")]) == []
    assert visible_text("<think>x</think>a") == "a"


def test_the_history_of_an_api_caller_is_translated() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    system, contents = openai_messages_to_contents(
        [
            {"role": "system", "content": "one"},
            {"role": "user", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "b"}]},
            {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "c2"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "r1"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "r2"}]},
            {"role": "developer", "content": [{"type": "text", "text": "two"}]},
            {"role": "assistant", "content": "<think>x</think>c"},
            {"role": "user", "content": None},
        ]
    )
    assert system == "one\n\ntwo"
    assert contents_of(contents) == [
        ("user", [{"text": "a"}, {"text": "b"}]),
        ("model", [{"functionCall": {"name": "f", "args": {"x": 1}}}] * 2),
        ("user", [{"functionResponse": {"name": "f", "response": {"output": r}}} for r in ("r1", "r2")]),
        ("model", [{"text": "c"}]),
    ]
    assert check_turn_shape(contents) == []


def test_an_orphan_result_is_kept_as_text_and_an_orphan_call_can_be_closed() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": ""}}
    _, contents = openai_messages_to_contents(
        [
            {"role": "tool", "tool_call_id": "gone", "content": "r"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "user", "content": "q"},
        ]
    )
    assert "r" in contents[0].parts[0].wire["text"]
    assert check_turn_shape(close_dangling_calls(contents)) == []
