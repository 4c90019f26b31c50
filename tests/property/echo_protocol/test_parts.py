"""Parts keep their wire form whatever it holds, and joining never loses or moves anything."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from echo_protocol import (
    Part,
    TextPart,
    ThoughtPart,
    content_json,
    join_parts,
    parse_contents,
    part_from_wire,
    replayable,
)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**80), max_value=2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["\u2028", "\u2029", "\x85", "\ud800", "\udfff x", 'a"\\/b'])
)
JSON = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=8), v, max_size=3))
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=3)
SIGNATURES = st.sampled_from(["", "c2ln", "c2ln" * 50, "a-_b"]) | st.none()
KINDS = (
    "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall",
    "toolResponse", "function_call", "inline_data", "novelKind",
)  # fmt: skip


@st.composite
def wires(draw: st.DrawFn) -> dict[str, Any]:
    """A part as a server of today or tomorrow might send it."""
    wire: dict[str, Any] = {}
    if draw(st.booleans()):
        wire["text"] = draw(st.text(max_size=12) | st.none())
    else:
        wire[draw(st.sampled_from(KINDS))] = draw(OBJECTS | st.none())
    if draw(st.booleans()):
        wire["thought"] = draw(st.booleans() | st.none())
    if draw(st.booleans()):
        wire[draw(st.sampled_from(["thoughtSignature", "thought_signature"]))] = draw(SIGNATURES)
    if draw(st.integers(0, 3)) == 0:
        wire["futureKey"] = draw(JSON)
    return wire


PARTS = wires().map(part_from_wire)


@given(OBJECTS | wires())
def test_a_part_keeps_its_wire_object(wire: dict[str, Any]) -> None:
    before = json.dumps(wire)
    part = part_from_wire(wire)
    assert part.wire == wire
    assert json.dumps(part.wire) == before


@given(st.lists(wires(), min_size=1, max_size=5))
def test_serialising_again_gives_the_same_bytes(items: list[dict[str, Any]]) -> None:
    once = content_json("model", [part_from_wire(item) for item in items])
    (content,) = parse_contents(b"[" + once + b"]")
    assert [part.wire for part in content.parts] == items
    assert content_json(content.role, content.parts) == once


@given(st.lists(PARTS, max_size=12))
def test_joining_keeps_text_order_and_signed_parts(parts: list[Part]) -> None:
    joined = join_parts(parts)
    assert _text_of(joined) == _text_of(parts)
    assert [p.wire for p in joined if p.signature] == [p.wire for p in parts if p.signature]
    others = (TextPart, ThoughtPart)
    assert [p.wire for p in joined if not isinstance(p, others)] == [p.wire for p in parts if not isinstance(p, others)]
    assert join_parts(joined) == joined


def _text_of(parts: Any) -> list[tuple[str, str]]:
    """Text by kind, cut only where another kind or a signed part stands between."""
    runs: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, TextPart | ThoughtPart) and not part.signature:
            if not part.text:
                continue
            if runs and runs[-1][0] == part.kind:
                runs[-1] = (part.kind, runs[-1][1] + part.text)
            else:
                runs.append((part.kind, part.text))
        else:
            runs.append(("boundary", ""))
    return runs


@given(st.lists(PARTS, max_size=12))
def test_no_thought_text_is_replayed_and_every_signature_is(parts: list[Part]) -> None:
    kept = replayable(parts)
    assert not any(isinstance(part, ThoughtPart) and part.text for part in kept)
    assert [p.signature for p in kept if p.signature] == [p.signature for p in parts if p.signature]
    assert [p.wire for p in kept if not p.thought] == [p.wire for p in parts if not p.thought]
