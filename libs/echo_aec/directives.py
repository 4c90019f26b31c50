"""Directives and events that wait to be told to the model: pushed by any part of ECHO, told once on each chain."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

TransientType: TypeAlias = Literal["aec_directive", "aec_event"]

#: Events whose name begins so tell of a document, and stay as long as it does.
DOCUMENT_PREFIX: Final = "document_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transient:
    """One directive or event, a row of `echo_resources`.

    Args:
        id: unique in the chat; pushing an id twice is pushing it once.
        name: what kind of thing it tells, e.g. `tool_finished`.
        payload: the serialised artifact.
        created_at_s: epoch seconds.
        anchor_message_id: the message it belongs to: told only on chains that hold it. "" belongs to the chat.
    """

    id: str
    type: TransientType
    name: str
    payload: str
    created_at_s: int
    anchor_message_id: str = ""


def drain_key(question_id: str) -> str:
    """Key in `echo_settings` of what is told beside a question: what was drained, and the overlay for each model."""
    return f"drained:{question_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """An answer that is asked for.

    Args:
        question_id: the user message.
        answer_id: the message that will answer it.
        model_id: the called model.
        chain: ids of all messages from the root to the question.
        takes: False leaves everything waiting, for this question.
    """

    question_id: str
    answer_id: str
    model_id: str
    chain: Sequence[str]
    takes: bool = True


#: Makes the overlay of an answer from what is drained for it.
OverlayBuilder: TypeAlias = Callable[[Sequence[Transient]], bytes]


class DirectiveStore(Protocol):
    """Where directives and events wait. Any method may raise StateError."""

    async def push_transient(self, transient: Transient) -> None:
        """Let something wait; nothing happens for an id that is known."""
        ...

    async def drain(self, asking: Asking, build: OverlayBuilder) -> bytes:
        """The overlay of an answer, in one transaction with the rows that say what it drained.

        The first answer to a question decides what is drained for it, and the first with a model what its overlay is;
        all others get the same. Pending on a chain is what no answer on it holds, oldest first.
        """
        ...

    async def transient_anchors(self) -> frozenset[str]:
        """Ids of the messages that anything waiting belongs to."""
        ...

    async def purge_transients(self, since_s: float, anchors: Collection[str]) -> int:
        """Remove what belongs to some messages and was made at or after a time; events of documents stay.

        Returns:
            How many were removed.
        """
        ...


class EchoAEC:
    """The directives and events of one chat.

    Args:
        store: where they wait.
    """

    def __init__(self, store: DirectiveStore) -> None:
        self._store = store

    async def push(self, transient: Transient) -> None:
        """Let a directive or event wait for the next answer on its chain."""
        await self._store.push_transient(transient)

    async def drain_pending_directives(self, asking: Asking, build: OverlayBuilder) -> bytes:
        """What an answer is told beside its question, exactly once on each chain, also across processes.

        Args:
            asking: which answer.
            build: makes the overlay from what is drained, oldest first; called at most once, without side effects.

        Returns:
            The overlay, written down as this answer's.
        """
        return await self._store.drain(asking, build)

    async def purge_orphaned_events(self, t_pivot: float, *, lost: Collection[str]) -> int:
        """Remove directives and events that belong to messages which were edited or are gone.

        Lasting resources and events of documents stay; so does what belongs to other branches.

        Args:
            t_pivot: epoch seconds at which the first of these messages was written; nothing older is touched.
            lost: ids of the messages, the pivot and those below it on this branch.

        Returns:
            How many were removed.
        """
        return await self._store.purge_transients(t_pivot, lost) if lost else 0
