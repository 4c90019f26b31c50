"""How the real service spells JSON on the wire: unary pretty, stream lines, array without alt=sse."""

import json
from typing import Any, Final

#: Angle brackets are escaped, everything else beyond ASCII is raw UTF-8. Source: Gemini API streams, recorded.
_ESCAPES: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e"}

#: Headers of a real stream. Source: Gemini API streams, recorded.
STREAM_HEADERS: Final = {
    "content-type": "text/event-stream",
    "content-disposition": "attachment",
    "vary": "Origin, X-Origin, Referer",
    "x-content-type-options": "nosniff",
}
JSON_HEADERS: Final = {
    "content-type": "application/json; charset=UTF-8",
    "vary": "Origin, X-Origin, Referer",
    "x-content-type-options": "nosniff",
}


def _dumps(value: Any, *, indent: int | None) -> str:
    separators = (",", ": ")
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators).translate(_ESCAPES)


def pretty(value: Any) -> bytes:
    """A unary body: indented by two, one newline at the end. Source: Gemini API unary answers, recorded."""
    return (_dumps(value, indent=2) + "\n").encode("utf-8", "replace")


def one_line(value: Any) -> str:
    """The spacing of streamed JSON: `": "` after keys, `,` without space. Source: Gemini API streams, recorded."""
    return _dumps(value, indent=None)


def sse_event(value: Any) -> bytes:
    """One server-sent event exactly as Google frames it. Source: Gemini API streams, recorded."""
    return f"data: {one_line(value)}\r\n\r\n".encode("utf-8", "replace")


def array_frame(value: Any, *, first: bool) -> bytes:
    """One element of the stream without `alt=sse`: a JSON array whose commas stand between CRLFs.

    The caller closes it by `]`. Source: Gemini API streams without alt=sse, recorded.
    """
    return (("[" if first else "\r\n,\r\n") + _dumps(value, indent=2)).encode("utf-8", "replace")
