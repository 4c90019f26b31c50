"""Parts of a model that its own server would refuse in the next request; kept as they are, they would end the chat."""

import base64
import re
from typing import Any, Final

from echo_protocol.parts import FunctionCallPart, InlineDataPart, Part, Wire, part_from_wire

_URL_SAFE: Final = str.maketrans("-_", "+/")
#: What a request may carry inline. Source: Gemini API docs, pages on image, audio, video and document understanding.
_SENDABLE: Final = re.compile(
    r"image/(?:png|jpeg|webp|heic|heif)|audio/[\w.+-]+|video/[\w.+-]+|text/[\w.+-]+|application/pdf"
)
#: Stands for the name of a call that has none. Source: Gemini API reference, FunctionCall.name ("required").
_NAMELESS: Final = "unnamed_function"


def sound(part: Part) -> Part | None:
    """A part as it can go back; None for media that cannot.

    Media without readable data or of another type are dropped. A call keeps all but arguments that are no object (they
    become none) and a name that is none. Everything else, and nearly every part is that, comes back as the same object.
    """
    if isinstance(part, InlineDataPart):
        kind = part.mime_type.partition(";")[0].strip().lower()
        return part if _SENDABLE.fullmatch(kind) and is_base64(part.body.get("data")) else None
    if isinstance(part, FunctionCallPart):
        return _sound_call(part)
    return part


def is_base64(data: Any) -> bool:
    """Whether a value is base64 of some bytes, as the server reads it: either alphabet, padding optional."""
    if not isinstance(data, str) or not data or not data.isascii():
        return False
    plain = data.translate(_URL_SAFE) if "-" in data or "_" in data else data
    bare = plain.rstrip("=")
    padded = bare + "=" * (-len(bare) % 4)
    tail = padded[-4:]
    try:
        base64.b64decode(padded, validate=True)
        return base64.b64encode(base64.b64decode(tail)).decode() == tail  # bits behind the last byte are refused
    except ValueError:
        return False


def _sound_call(part: FunctionCallPart) -> Part:
    body = part.body
    args, name = body.get("args"), body.get("name")
    good_args = args is None or isinstance(args, dict)
    good_name = isinstance(name, str) and bool(name.strip())
    if good_args and good_name:
        return part
    key = "functionCall" if isinstance(part.wire.get("functionCall"), dict) else "function_call"
    fixed: Wire = {**body, **({} if good_args else {"args": {}}), **({} if good_name else {"name": _NAMELESS})}
    return part_from_wire({**part.wire, key: fixed})
