"""What a model sends and its server would not take back."""

import base64
from typing import Any

import pytest

from echo_protocol import StreamProcessor, content_json, part_from_wire
from echo_protocol.soundness import is_base64, sound
from scripted import chunk

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n pixels").decode()


def media(data: Any = PIXEL, mime_type: str = "image/png", signature: str | None = None) -> dict[str, Any]:
    wire: dict[str, Any] = {"inlineData": {"mimeType": mime_type, "data": data}}
    return wire | ({"thoughtSignature": signature} if signature else {})


@pytest.mark.parametrize(
    "wire",
    [
        {"text": "x", "thoughtSignature": "c2ln"},
        media(signature="c2ln"),
        media(PIXEL.replace("+", "-").replace("/", "_").rstrip("=")),
        {"functionCall": {"name": "f", "args": {"a": [1]}, "id": "1"}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "f"}},
        {"functionCall": {"name": "f", "args": None}},
        {"something": {"new": True}},
    ],
)
def test_a_part_that_is_fine_stays_the_same_object(wire: dict[str, Any]) -> None:
    part = part_from_wire(wire)
    assert sound(part) is part


@pytest.mark.parametrize("data", ["", "!!!", "AAAAA", "QR==", None, 7, ["x"], "é"])
def test_media_without_readable_data_are_dropped(data: Any) -> None:
    assert sound(part_from_wire(media(data))) is None


@pytest.mark.parametrize("mime_type", ["image/gif", "image/svg+xml", "application/zip", ""])
def test_media_that_no_request_may_carry_are_dropped(mime_type: str) -> None:
    assert sound(part_from_wire(media(mime_type=mime_type))) is None


@pytest.mark.parametrize("args", [[], [1], "text", 5, True])
def test_arguments_that_are_no_object_become_none_and_the_signature_stays(args: Any) -> None:
    part = sound(part_from_wire({"functionCall": {"name": "f", "args": args, "id": "1"}, "thoughtSignature": "c2ln"}))
    assert part is not None
    assert part.wire == {"functionCall": {"name": "f", "args": {}, "id": "1"}, "thoughtSignature": "c2ln"}


@pytest.mark.parametrize("body", [{"args": {}}, {"name": "", "args": {}}, {"name": 3}])
def test_a_call_without_a_name_gets_one(body: dict[str, Any]) -> None:
    part = sound(part_from_wire({"function_call": body}))
    assert part is not None
    assert part.wire["function_call"]["name"] == "unnamed_function"


def test_base64_is_what_the_server_takes_for_it() -> None:
    assert is_base64("QQ==")
    assert is_base64("QQ")
    assert not is_base64("Q")


def test_a_stream_tells_of_a_broken_picture_and_does_not_keep_it() -> None:
    stream = StreamProcessor()
    events = stream.process(chunk({"text": "Look"}, media("!!!"), media(signature="c2ln"), finish="STOP"))
    assert len(events) == 3
    kept = stream.finish().parts
    assert content_json("model", kept) == content_json(
        "model", [part_from_wire({"text": "Look"}), part_from_wire(media(signature="c2ln"))]
    )
