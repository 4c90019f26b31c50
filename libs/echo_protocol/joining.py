"""Deltas become parts: neighbouring unsigned text of one kind is joined, everything else stays as it came."""

from collections.abc import Iterable
from typing import Final

from echo_protocol.parts import Part, TextPart, ThoughtPart, Wire

_NOTHING: Final[Wire] = {}
_THOUGHT: Final[Wire] = {"thought": True}


class PartJoiner:
    """Joins a stream of parts in one pass; each part costs the same however long the stream is.

    Boundaries are a signed part, the change between thought and answer, any other kind, and the end of the hop.
    A signed part is never joined. Source: docs/design.md section 4; Gemini API docs, Thought signatures.
    """

    def __init__(self) -> None:
        self._done: list[Part] = []
        self._texts: list[str] = []
        self._first: Wire = {}
        self._rest: Wire = _NOTHING

    def add(self, part: Part) -> None:
        """Take the next part. Empty unsigned text is dropped."""
        if not isinstance(part, TextPart | ThoughtPart) or part.signature is not None:
            self._flush()
            self._done.append(part)
            return
        rest = {key: value for key, value in part.wire.items() if key != "text"}
        plain = _plain(rest)
        if part.text or not plain:
            self._add(part.text, rest, part.wire, joins=plain)

    def add_text(self, wire: Wire, text: str, *, thought: bool) -> None:
        """Take a plain delta: a wire object of nothing but text and, if so, `thought: true`. The quick way in."""
        if text:
            self._add(text, _THOUGHT if thought else _NOTHING, wire, joins=True)

    def parts(self) -> tuple[Part, ...]:
        """What has come so far, joined; more may follow."""
        return (*self._done, *self._open())

    def _add(self, text: str, rest: Wire, wire: Wire, *, joins: bool) -> None:
        if self._texts and (not joins or rest != self._rest):
            self._flush()
        if not self._texts:
            self._first, self._rest = wire, rest
        self._texts.append(text)

    def _flush(self) -> None:
        self._done.extend(self._open())
        self._texts = []

    def _open(self) -> tuple[Part, ...]:
        if not self._texts:
            return ()
        wire = self._first if len(self._texts) == 1 else {**self._first, "text": "".join(self._texts)}
        return (ThoughtPart(wire) if wire.get("thought") is True else TextPart(wire),)


def join_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Join the parts of one hop as `PartJoiner` does. Joining twice changes nothing."""
    joiner = PartJoiner()
    for part in parts:
        joiner.add(part)
    return joiner.parts()


def replayable(parts: Iterable[Part]) -> tuple[Part, ...]:
    """What of a hop goes back to the model: everything but thoughts.

    Thought text is never sent back. A *signed* thought part has not been seen in any recording (0 of 51 thought
    parts); should one come, its signature still goes back on its own part, with the text emptied, because a signature
    may not move. A signed thought that is not text (an image draft) is kept whole for the same reason.
    Source: docs/design.md section 5 Anchor; Gemini API docs, Thought signatures.
    """
    kept: list[Part] = []
    for part in parts:
        if not part.thought:
            kept.append(part)
        elif part.signature is not None:
            kept.append(ThoughtPart({**part.wire, "text": ""}) if isinstance(part, ThoughtPart) else part)
    return tuple(kept)


def _plain(rest: Wire) -> bool:
    """True when nothing but the thought flag and nulls stands beside the text, so that joining loses nothing."""
    return all(value is None or key == "thought" for key, value in rest.items())
