"""Puts old tool output and superseded media aside: what is left says what was there and how to read it again.

Only the parts that answer calls, and media that the user sent, become others. What the model itself said, its calls and
their signatures keep their bytes, so no call is ever parted from its response.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from echo_core.compaction_records import MediaPlace
from echo_core.suture import INTERRUPTED, OPENING
from echo_protocol import unbox_tool_output, wrap_tool_output
from echo_utils import dumps

#: Shorter results stay: the note would save nothing. Source: our choice, three times the note.
_WORTH_CHARS: Final = 600
#: What of a result is left to be seen. Source: our choice.
_HEAD_CHARS: Final = 120

_MASKED: Final = (
    "{head}… [ECHO put the rest of this result aside: {total} characters. "
    'read_tool_output(id="{place}") gives it back.]'
)
_MASKED_MEDIA: Final = "[ECHO put this {what} aside; it came again later in the conversation.]"

#: What begins the pieces of messages that needed something before them.
_HEADS: Final = (INTERRUPTED + b",", OPENING + b",")

#: Told which result is put aside: its place (`content.part`), and the whole text.
Aside = Callable[[str, str], None]


def bare_piece(piece: bytes) -> tuple[bytes, bytes]:
    """What stands before a message's own Contents in its piece, and these."""
    for head in _HEADS:
        if piece.startswith(head):
            return head, piece[len(head) :]
    return b"", piece


def place_id(content_index: int, part_index: int, message_id: str) -> str:
    """What names a result that was put aside, for `read_tool_output`."""
    return f"{content_index}.{part_index}@{message_id}"


def masked(
    piece: bytes,
    message_id: str,
    dropped: Iterable[tuple[int, int]] = (),
    *,
    contents: int = 0,
    aside: Aside | None = None,
) -> bytes:
    """A message with its long tool results put aside; the same bytes every time, `piece` itself when none is long.

    Args:
        piece: what the message adds to `contents`.
        message_id: whose results they are.
        dropped: places of media that are put aside, too.
        contents: how many Contents are looked at, 0 for all.
        aside: told each result that is put aside.
    """
    media = set(dropped)
    if not media and b'"functionResponse"' not in piece:
        return piece
    head, body = bare_piece(piece)
    items: list[dict[str, Any]] = json.loads(b"[" + body + b"]")
    changed = False
    for number, content in enumerate(items[: contents or len(items)]):
        for index, part in enumerate(content["parts"]):
            other = _without(part, place_id(number, index, message_id), (number, index) in media, aside)
            if other is not None:
                content["parts"][index] = other
                changed = True
    return head + b",".join(map(dumps, items)) if changed else piece


def _without(part: dict[str, Any], place: str, drop_media: bool, aside: Aside | None) -> dict[str, Any] | None:
    """What stands for a part, None where it stays as it is."""
    answer = part.get("functionResponse")
    if isinstance(answer, dict):
        text = unbox_tool_output(answer.get("response") or {})
        if len(text) < _WORTH_CHARS and not answer.get("parts"):
            return None
        if aside is not None:
            aside(place.partition("@")[0], text)
        note = _MASKED.format(head=text[:_HEAD_CHARS], total=len(text), place=place)
        kept = {key: value for key, value in answer.items() if key not in ("response", "parts")}
        return {**part, "functionResponse": {**kept, "response": wrap_tool_output(note)}}
    if drop_media and ("inlineData" in part or "fileData" in part):
        blob = part.get("inlineData") or part.get("fileData") or {}
        return {"text": _MASKED_MEDIA.format(what=blob.get("displayName") or blob.get("mimeType") or "file")}
    return None


def superseded_media(pieces: Sequence[tuple[str, bytes]], older: int) -> tuple[MediaPlace, ...]:
    """Places of the user's media that came again later: the same bytes, the same file, or another file of its name.

    Args:
        pieces: (message id, piece) of a chain, oldest first.
        older: only media before this place are put aside.
    """
    seen: set[str] = set()
    found: list[MediaPlace] = []
    for index in range(len(pieces) - 1, -1, -1):
        message_id, piece = pieces[index]
        if b'"inlineData"' not in piece and b'"fileData"' not in piece:
            continue
        items = json.loads(b"[" + bare_piece(piece)[1] + b"]")
        for number, part_number, names in _media(items):
            if index < older and names & seen:
                found.append((message_id, number, part_number))
            seen |= names
    return tuple(reversed(found))


def _media(items: list[dict[str, Any]]) -> Iterable[tuple[int, int, set[str]]]:
    """(content, part, what it is known by) of each medium that a user sent, last one first."""
    for number in range(len(items) - 1, -1, -1):
        if items[number]["role"] != "user":
            continue
        for index in range(len(items[number]["parts"]) - 1, -1, -1):
            part = items[number]["parts"][index]
            blob = part.get("inlineData") or part.get("fileData")
            if isinstance(blob, dict):
                names = {str(blob[key]) for key in ("data", "fileUri", "displayName") if blob.get(key)}
                yield number, index, names
