"""How the real service spells JSON on the wire: unary pretty, stream lines, array without alt=sse."""

import json
from typing import Any


def pretty(value: Any) -> bytes:
    """A unary body: indented by two, one newline at the end. Source: Gemini API unary answers, recorded."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def one_line(value: Any) -> str:
    """The spacing of streamed JSON: `": "` after keys, `,` without space. Source: Gemini API streams, recorded."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ": "))


def sse_event(value: Any) -> bytes:
    """One server-sent event exactly as Google frames it. Source: Gemini API streams, recorded."""
    return f"data: {one_line(value)}\r\n\r\n".encode()


def array_frame(value: Any, *, first: bool) -> bytes:
    """One element of the stream without `alt=sse`: a JSON array whose commas stand between CRLFs.

    Source: Gemini API streams without alt=sse, recorded.
    """
    return ("[" if first else ",\r\n").encode() + json.dumps(value, ensure_ascii=False, indent=2).encode()
