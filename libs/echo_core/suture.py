"""The Suture's judgement, message by message: which record is trusted, which must be compared, which is rebuilt."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from echo_core.overlay import NO_OVERLAY, render
from echo_core.records import Role, Shadow, VersionLock
from echo_protocol import content_json, fingerprint, parse_contents, text_part
from echo_utils import normalise_visible_text

#: Open WebUI stamps rows with whole seconds, after the pipe has ended: a younger lock can still be overtaken.
SETTLING_S: Final = 2.0

#: Stands where a model message holds nothing that can be sent, so that roles go on alternating.
INTERRUPTED: Final = content_json("model", [text_part("(This answer was interrupted before it began.)")])


@dataclass(frozen=True, slots=True)
class RowHead:
    """One row of Open WebUI's message table without its text.

    Args:
        updated_at_s: epoch seconds, resolution 1 s; 0 where the chat is in no database.
        writer_id: the user who wrote it, or who asked for it.
    """

    message_id: str
    role: Role
    updated_at_s: int
    writer_id: str = ""


class Verdict(Enum):
    """What a row and its shadow say about each other."""

    TRUSTED = "trusted"
    COMPARE = "compare"
    UNKNOWN = "unknown"


def judge(head: RowHead, shadow: Shadow | None) -> Verdict:
    """Whether the shadow may be replayed without looking at the row's text."""
    if shadow is None:
        return Verdict.UNKNOWN
    lock = shadow.lock
    if lock is not None and not lock.provisional and lock.updated_at_s == head.updated_at_s:
        return Verdict.TRUSTED
    return Verdict.COMPARE


def unedited(shadow: Shadow, displayed_text: str) -> bool:
    """Whether the page's text is still the one that was sealed.

    A broken-off answer may have reached the page only in part, so a prefix of ours counts as unedited.
    """
    ours = shadow.lock.fingerprint if shadow.lock else fingerprint(shadow.visible_text)
    if fingerprint(displayed_text) == ours:
        return True
    if shadow.state == "complete":
        return False
    return normalise_visible_text(shadow.visible_text).startswith(normalise_visible_text(displayed_text))


def lock_for(head: RowHead, displayed_text: str, now_s: float) -> VersionLock:
    """The lock that agrees with the row as it is now."""
    return VersionLock(
        updated_at_s=head.updated_at_s,
        fingerprint=fingerprint(displayed_text),
        provisional=now_s - head.updated_at_s < SETTLING_S,
    )


#: Stands before a conversation that begins with a model message (an import, a deleted first question).
OPENING: Final = content_json("user", [text_part("(The conversation begins here.)")])


class Assembly:
    """Joins shadows to one conversation in which roles alternate and the user speaks first."""

    def __init__(self) -> None:
        self._fragments: list[bytes] = []
        self._last: Role | None = None

    def add(self, shadow: Shadow, overlay: bytes = NO_OVERLAY) -> None:
        """Append one message; a message that holds nothing is passed over.

        Args:
            shadow: the message.
            overlay: for a user message, that of the answer which follows it on this chain.
        """
        if shadow.contents_json == b"[]":
            return
        if shadow.role == "user" and self._last == "user":
            self._fragments.append(INTERRUPTED)
        if shadow.role == "model" and self._last is None:
            self._fragments.append(OPENING)
        self._fragments.append(render(shadow.contents_json, overlay))
        self._last = shadow.role if shadow.state == "complete" else parse_contents(shadow.contents_json)[-1].role

    @property
    def fragments(self) -> tuple[bytes, ...]:
        """Serialised Contents and arrays of them, for `request_json`."""
        return tuple(self._fragments)


def closed(answer: Shadow) -> tuple[bytes, ...]:
    """An answer as it stands before words of the user: at its end the model speaks, even where nothing came of it."""
    if answer.contents_json == b"[]":
        return (INTERRUPTED,)
    if answer.state != "complete" and parse_contents(answer.contents_json)[-1].role == "user":
        return answer.contents_json, INTERRUPTED
    return (answer.contents_json,)
