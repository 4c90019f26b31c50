"""Which thought signatures go back to the model (the Anchor)."""

from collections.abc import Callable, Sequence
from typing import Final

from echo_protocol.contents import Content, merge_neighbours
from echo_protocol.parts import (
    SIGNATURE_KEYS,
    FunctionCallPart,
    FunctionResponsePart,
    Part,
    TextPart,
    ThoughtPart,
    part_from_wire,
)

#: Accepted in place of a signature by the Gemini API, Vertex and cloudcode. Source: Gemini API docs,
#: Thought signatures (FAQ); gemini-cli geminiChat.ts.
SENTINEL: Final = "skip_thought_signature_validator"

Scope = Callable[[int], bool]


def current_turn_start(contents: Sequence[Content]) -> int:
    """Index of the user content that opens the current turn: the last one with more than function responses.

    0 when there is none. Source: Gemini API docs, Thought signatures.
    """
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role == "user" and not all(isinstance(part, FunctionResponsePart) for part in content.parts):
            return index
    return 0


def apply_scope(
    contents: Sequence[Content],
    in_scope: bool | Scope,
    turn_start: int | None = None,
    *,
    validates: bool = True,
) -> tuple[Content, ...]:
    """Leave out signatures that the model cannot read, and cover for them where they are checked.

    Only contents after `turn_start` are checked by the server, so only there the first functionCall of a model
    content that has no signature gets `SENTINEL`; its siblings stay unsigned, as the server sends them. A content
    that had nothing but a signature goes away, and its neighbours are merged.

    Args:
        contents: in turn shape.
        in_scope: whether the signatures are readable, for all or by index of the content.
        turn_start: index of the content that opens the current turn; found when None.
        validates: False for models that do not check signatures (before Gemini 3); no sentinel is put then.
    """
    start = current_turn_start(contents) if turn_start is None else turn_start
    scoped: list[Content] = []
    for index, content in enumerate(contents):
        parts = content.parts
        if content.role == "model":
            readable = in_scope if isinstance(in_scope, bool) else in_scope(index)
            if not readable:
                parts = _unsigned(parts)
            if validates and index > start:
                parts = _covered(parts)
        scoped.append(content if parts is content.parts else Content(content.role, parts))
    return tuple(scoped) if all(content.parts for content in scoped) else merge_neighbours(scoped)


def _unsigned(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    if not any(key in part.wire for part in parts for key in SIGNATURE_KEYS):
        return parts
    kept: list[Part] = []
    for part in parts:
        bare = part_from_wire({key: value for key, value in part.wire.items() if key not in SIGNATURE_KEYS})
        if bare.wire and not (isinstance(bare, TextPart | ThoughtPart) and not bare.text):
            kept.append(bare)
    return tuple(kept)


def _covered(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    for position, part in enumerate(parts):
        if isinstance(part, FunctionCallPart):
            if part.signature is not None:
                return parts
            bare = {key: value for key, value in part.wire.items() if key not in SIGNATURE_KEYS}
            signed = FunctionCallPart({**bare, "thoughtSignature": SENTINEL})
            return (*parts[:position], signed, *parts[position + 1 :])
    return parts
