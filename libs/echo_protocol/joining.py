"""Deltas become parts: neighbouring unsigned text of one kind is joined, everything else stays as it came."""

from collections.abc import Iterable
from typing import Any

from echo_protocol.parts import Part, TextPart, ThoughtPart, Wire


class PartJoiner:
    """Joins a stream of parts in one pass; each part costs the same however long the stream is.

    Boundaries are a signed part, the change between thought and answer, any other kind, and the end of the hop.
    A signed part is never joined. Source: docs/design.md section 4; Gemini API docs, Thought signatures.
    """

    def __init__(self) -> None:
        self._done: list[Part] = []
        self._texts: list[str] = []
        self._rest: Wire = {}

    def add(self, part: Part) -> None:
        """Take the next part. Empty unsigned text is dropped."""
        if not isinstance(part, TextPart | ThoughtPart) or part.signature is not None:
            self._flush()
            self._done.append(part)
            return
        rest = {key: value for key, value in part.wire.items() if key != "text"}
        if not part.text and _plain(rest):
            return
        if self._texts and (rest != self._rest or not _plain(rest)):
            self._flush()
        self._texts.append(part.text)
        self._rest = rest

    def parts(self) -> tuple[Part, ...]:
        """What has come so far, joined; more may follow."""
        return (*self._done, *self._open())

    def _flush(self) -> None:
        self._done.extend(self._open())
        self._texts = []

    def _open(self) -> tuple[Part, ...]:
        if not self._texts:
            return ()
        wire: dict[str, Any] = {"text": "".join(self._texts), **self._rest}
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
