"""The Suture's judgement, message by message: which record is trusted, which must be compared, which is rebuilt."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from echo_core.heads import RowHead
from echo_core.overlay import NO_OVERLAY, render
from echo_core.records import Role, Shadow, VersionLock
from echo_protocol import content_json, fingerprint, parse_contents, text_part
from echo_utils import normalise_visible_text

#: Open WebUI stamps rows with whole seconds, after the pipe has ended: a younger lock can still be overtaken.
SETTLING_S: Final = 2.0

#: Stands where a model message holds nothing that can be sent, so that roles go on alternating.
INTERRUPTED: Final = content_json("model", [text_part("(This answer was interrupted before it began.)")])


class Verdict(Enum):
    """What a row and its shadow say about each other."""

    TRUSTED = "trusted"
    COMPARE = "compare"
    UNKNOWN = "unknown"


def judge(head: RowHead, shadow: Shadow | None) -> Verdict:
    """Whether the shadow may be replayed without looking at the row's text."""
    if shadow is None:
        return Verdict.UNKNOWN
    return Verdict.TRUSTED if _locked(shadow, head.updated_at_s) else Verdict.COMPARE


def in_order(shadow: Shadow, updated_at_s: int, chat_id: str, parent_hash: str) -> bool:
    """Whether a message stands as it is: trusted, ended, and linked to the message above in the same chat.

    Args:
        shadow: its record.
        updated_at_s: its row's.
        chat_id: where the row is.
        parent_hash: cumulative hash of the message above.
    """
    return (
        _locked(shadow, updated_at_s)
        and shadow.parent_hash == parent_hash
        and shadow.cumulative_hash != ""
        and shadow.chat_id == chat_id
        and shadow.state != "streaming"
    )


def _locked(shadow: Shadow, updated_at_s: int) -> bool:
    lock = shadow.lock
    return lock is not None and not lock.provisional and lock.updated_at_s == updated_at_s


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
    """Joins shadows to one conversation in which roles alternate and the user speaks first.

    Args:
        pieces: of another assembly that this one goes on from.
        last_roles: of the same.
    """

    def __init__(self, pieces: Iterable[bytes] = (), last_roles: Iterable[Role | None] = ()) -> None:
        #: What each message adds to `contents`: Contents joined by commas, b"" for a message that holds nothing.
        self.pieces = list(pieces)
        #: With whose turn the conversation ends after each message, None while nobody has said anything.
        self.last_roles = list(last_roles)

    def extend(self, shadows: Sequence[Shadow]) -> None:
        """Append whole turns: each question with the overlay of the answer that follows it."""
        for place, shadow in enumerate(shadows, start=1):
            answer = shadows[place] if shadow.role == "user" and place < len(shadows) else None
            self.add(shadow, answer.overlay_json if answer is not None and answer.role == "model" else NO_OVERLAY)

    def add(self, shadow: Shadow, overlay: bytes = NO_OVERLAY) -> None:
        """Append one message; a message that holds nothing is passed over.

        Args:
            shadow: the message.
            overlay: for a user message, that of the answer which follows it on this chain.
        """
        last = self.last_roles[-1] if self.last_roles else None
        if shadow.contents_json == b"[]":
            self.pieces.append(b"")
            self.last_roles.append(last)
            return
        said = render(shadow.contents_json, overlay)[1:-1]
        if shadow.role == "user" and last == "user":
            said = INTERRUPTED + b"," + said
        elif shadow.role == "model" and last is None:
            said = OPENING + b"," + said
        self.pieces.append(said)
        complete = shadow.state == "complete"
        self.last_roles.append(shadow.role if complete else parse_contents(shadow.contents_json)[-1].role)

    @property
    def fragments(self) -> tuple[bytes, ...]:
        """The conversation for `request_json`, () while nobody has said anything."""
        joined = b",".join(filter(None, self.pieces))
        return (joined,) if joined else ()

    def before_question(self) -> tuple[bytes, ...]:
        """The conversation as it stands before a user message that is rendered later."""
        waiting = bool(self.last_roles) and self.last_roles[-1] == "user"
        return (*self.fragments, INTERRUPTED) if waiting else self.fragments


def closed(answer: Shadow) -> tuple[bytes, ...]:
    """An answer as it stands before words of the user: at its end the model speaks, even where nothing came of it."""
    if answer.contents_json == b"[]":
        return (INTERRUPTED,)
    if answer.state != "complete" and parse_contents(answer.contents_json)[-1].role == "user":
        return answer.contents_json, INTERRUPTED
    return (answer.contents_json,)
