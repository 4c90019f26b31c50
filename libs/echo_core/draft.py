"""The Draft: one user message, prepared in the five slots of the PGCU order before it is asked.

Slots 1, 3 and 5 are sealed with the message; slots 2 and 4 go into the overlay of its answer, so that several answers
can share the message. Source: docs/design.md sections 1 and 5.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from echo_constants import Locale
from echo_protocol import Notice, Part, text_part


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One user message.

    Args:
        previews: slot 1: `AEC_smart_context` artifacts that stand for documents.
        directives: slot 2: artifacts that are told once; `##MODEL_ID##` and the like in them are filled in when they
            are told.
        words: slot 3: what the user said, with the pictures that stand among the words.
        events: slot 4: `AEC_event` artifacts.
        attachments: slot 5: files and videos.
        content: the message that `words` were made from, as the request had it at that moment.
        files: Open WebUI's attachment entries that the rest was made from.
        notices: what the user is told about attachments.
    """

    previews: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    words: tuple[Part, ...] = ()
    events: tuple[str, ...] = ()
    attachments: tuple[Part, ...] = ()
    content: Any = None
    files: tuple[Any, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def sealed(self) -> list[Part]:
        """The parts that are sealed with the message, in PGCU order."""
        return [*map(text_part, self.previews), *self.words, *self.attachments]

    def is_of(self, files: Sequence[Any]) -> bool:
        """Whether it was made from these attachments."""
        return [_identity(entry) for entry in self.files] == [_identity(entry) for entry in files]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A user message that is prepared.

    Args:
        chat_id, message_id: where it stands.
        user: whose rights count, Open WebUI's user.
        content: its words and pictures, text or OpenAI content blocks.
        files: Open WebUI's attachment entries.
        locale: the user's language.
        kept: False where nothing may be left on the disk (temporary chats).
        wait: shows the user a line of status while something takes long.
    """

    chat_id: str
    message_id: str
    user: Mapping[str, Any]
    content: Any
    files: Sequence[Any]
    locale: Locale
    kept: bool
    wait: Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What one source adds to a Draft; see `Draft` for the slots.

    Args:
        previews: serialised `AEC_smart_context` artifacts.
        taken: indices in `Question.files` of the entries that the source answers for; nobody else reads them.
        attachments: parts in place of them.
        notices: what the user is told.
    """

    previews: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    attachments: tuple[Part, ...] = ()
    taken: frozenset[int] = frozenset()
    notices: tuple[Notice, ...] = ()


class DraftSource(Protocol):
    """Adds to Drafts: documents, memories. What it raises costs its own contribution and nothing else."""

    async def contribute(self, question: Question) -> Contribution:
        """What belongs to one question."""
        ...


def _identity(entry: Any) -> tuple[str, ...]:
    """What tells two attachments of a message apart."""
    if not isinstance(entry, Mapping):
        return ()
    return tuple(str(entry.get(key) or "") for key in ("type", "id", "url", "name"))
