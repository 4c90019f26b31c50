"""Overlays: what ECHO told the model beside the user's own words when one answer was asked for.

An overlay is sealed with the answer, not with the question, so that several answers can share a question. `render`
puts the two together again, always to the same bytes. Source: docs/design.md sections 1 and 5.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from echo_protocol import UnreadablePart, text_part
from echo_protocol.attached import ATTACHED_FILE
from echo_utils import dumps

#: The overlay of an answer for which nothing had to be told.
NO_OVERLAY: Final = b"[]"

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the model knows from an entry on, by hash where it is long.

    Args:
        echo: hash of ECHO's own prompt, "" when the entry tells nothing of it; likewise the next.
        instructions: hash of the instructions of model, folder, chat and user.
        tools: hash of each tool's declaration by name, None when the entry tells nothing of tools.
        selection: the tool selection that `tools` belongs to.
        values: values by the name that they have in the instructions.
        hosted: hash by name of each text that the host adds, None when the entry tells nothing of them.
        reminded: when the last directive was told: `turn` on the chain and `fill` in percent; None when this has none.
    """

    echo: str = ""
    instructions: str = ""
    tools: Mapping[str, str] | None = None
    selection: str = ""
    values: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    hosted: Mapping[str, str] | None = None
    reminded: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayEntry:
    """What one request told.

    Args:
        notes: serialised artifacts about ECHO and its surroundings; with the directives they stand before the request.
        directives: serialised artifacts, drained.
        events: serialised artifacts, drained; they stand after the request and before its attachments.
        told: what the notes amount to.
        checkpoint: id of the compaction by which the request was made, "" for none.
    """

    notes: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    told: Told = field(default_factory=Told)
    checkpoint: str = ""


def overlay_json(entries: Iterable[OverlayEntry]) -> bytes:
    """Serialise an overlay, once; entries that tell nothing are left out."""
    return dumps([wire for entry in entries if (wire := _wire(entry))])


def parse_overlay(data: bytes) -> tuple[OverlayEntry, ...]:
    """Read an overlay; what it holds beyond our knowledge is passed over.

    Raises:
        UnreadablePart: it is not an array of objects.
    """
    if data == NO_OVERLAY:
        return ()
    items = json.loads(data)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UnreadablePart("an overlay is an array of objects")
    return tuple(_entry(item) for item in items)


def render(contents_json: bytes, overlay: bytes) -> bytes:
    """A user message with what was told beside it, each artifact a Part of its own.

    Notes and directives (slot 2) stand before the request's own words, after checkpoint and document previews (slot 1);
    events (slot 4) after the words and before the attachments (slot 5). The bytes of the message's own parts are not
    touched. Of several `AEC_modele` the last one counts.

    Args:
        contents_json: array with the one Content of a user message.
        overlay: of the answer.

    Returns:
        `contents_json` itself, unread, when the overlay or the message is empty.

    Raises:
        UnreadablePart: `contents_json` is not what `content_json` writes.
    """
    if overlay == NO_OVERLAY or contents_json == b"[]":
        return contents_json
    entries = parse_overlay(overlay)
    before = _last_model(xml for entry in entries for xml in (*entry.notes, *entry.directives))
    after = [xml for entry in entries for xml in entry.events]
    text = contents_json.decode()
    spans = _part_spans(text)
    first = next((i for i, (kind, _, _) in enumerate(spans) if kind != "preview"), len(spans))
    last = len(spans)
    while last > first and spans[last - 1][0] == "attachment":
        last -= 1
    start, end = spans[0][1], spans[-1][2]
    own = [text[a:b] for _, a, b in spans]
    parts = [*own[:first], *map(_part, before), *own[first:last], *map(_part, after), *own[last:]]
    return (text[:start] + ",".join(parts) + text[end:]).encode()


_HEAD: Final = re.compile(r'\[\s*\{\s*"role"\s*:\s*"user"\s*,\s*"parts"\s*:\s*\[\s*')
_BETWEEN: Final = re.compile(r"\s*,?\s*")
_DECODER: Final = json.JSONDecoder()
_MODEL: Final = '<artifact id="AEC_modele"'
#: How the text of an artifact begins; in the words of a user it is made harmless before they are sealed.
_PREVIEWS: Final = ('<artifact id="AEC_context_checkpoint"', '<artifact id="AEC_smart_context"')


def _last_model(artifacts: Iterable[str]) -> list[str]:
    """Where the model changed within the answer, only the last one is named, where the first one was."""
    told: list[str] = []
    place: int | None = None
    for xml in artifacts:
        if not xml.startswith(_MODEL):
            told.append(xml)
        elif place is None:
            place = len(told)
            told.append(xml)
        else:
            told[place] = xml
    return told


def _part_spans(text: str) -> list[tuple[str, int, int]]:
    """(what it is, start, end) of each part."""
    head = _HEAD.match(text)
    if head is None:
        raise UnreadablePart("not a user message")
    spans: list[tuple[str, int, int]] = []
    at = head.end()
    while at < len(text) and text[at] != "]":
        part, end = _DECODER.raw_decode(text, at)
        said = part.get("text") if isinstance(part, dict) else None
        attached = said is None or str(said).startswith(ATTACHED_FILE)
        kind = "attachment" if attached else "preview" if str(said).startswith(_PREVIEWS) else "words"
        spans.append((kind, at, end))
        at = _after(text, end)
    if not spans:
        raise UnreadablePart("a user message without parts")
    return spans


def _after(text: str, end: int) -> int:
    between = _BETWEEN.match(text, end)
    return end if between is None else between.end()


def _part(xml: str) -> str:
    return dumps(dict(text_part(xml).wire)).decode()


#: Keys of `Told` whose empty mapping says that there are none any more.
_EMPTY_TELLS: Final = ("tools", "hosted")


def _wire(entry: OverlayEntry) -> dict[str, Any]:
    lists = {"notes": entry.notes, "directives": entry.directives, "events": entry.events}
    wire: dict[str, Any] = {key: list(value) for key, value in lists.items() if value}
    told = {
        "echo": entry.told.echo,
        "instructions": entry.told.instructions,
        "tools": None if entry.told.tools is None else dict(entry.told.tools),
        "selection": entry.told.selection,
        "values": dict(entry.told.values),
        "hosted": None if entry.told.hosted is None else dict(entry.told.hosted),
        "reminded": None if entry.told.reminded is None else dict(entry.told.reminded),
    }
    known = {key: value for key, value in told.items() if value or (key in _EMPTY_TELLS and value is not None)}
    if entry.checkpoint:
        wire["checkpoint"] = entry.checkpoint
    return wire | ({"told": known} if known else {})


def _entry(item: Mapping[str, Any]) -> OverlayEntry:
    told = item.get("told") or {}
    return OverlayEntry(
        notes=tuple(item.get("notes") or ()),
        directives=tuple(item.get("directives") or ()),
        events=tuple(item.get("events") or ()),
        checkpoint=str(item.get("checkpoint") or ""),
        told=Told(
            echo=told.get("echo") or "",
            instructions=told.get("instructions") or "",
            tools=told.get("tools"),
            selection=told.get("selection") or "",
            values=told.get("values") or _NOTHING,
            hosted=told.get("hosted"),
            reminded=told.get("reminded"),
        ),
    )
