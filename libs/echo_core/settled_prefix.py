"""The beginning of a chat that was found in order: kept from turn to turn, so that a turn settles only what is new."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from echo_core.heads import MODEL_MARK, Heads
from echo_core.records import Role, Shadow
from echo_core.suture import Assembly, in_order
from echo_protocol import ROOT_PARENT


@dataclass(frozen=True, slots=True)
class SettledPrefix:
    """Messages from the root on that are in order, so that settling them would change nothing and write nothing.

    It vouches for nothing by itself: it counts as far as a turn's rows and records are equal to those that it was made
    from, and all that it holds follows from them. A turn with it therefore sends the bytes that a turn without it would
    send, whoever wrote in between. It ends with an answer: a question is rendered with the answer that follows.

    Args:
        view: all that the bytes depend on beside the records (whose signatures are read).
        ids: of the messages, root first.
        marks: of their rows, see `Heads`.
        shadows: their records.
        pieces: what each adds to `contents`, see `Assembly`.
        last_roles: see `Assembly`.
    """

    view: str = ""
    ids: Sequence[str] = field(default_factory=list)
    marks: Sequence[str] = field(default_factory=list)
    shadows: Sequence[Shadow] = field(default_factory=list)
    pieces: Sequence[bytes] = field(default_factory=list)
    last_roles: Sequence[Role | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def parent_hash(self) -> str:
        """Cumulative hash of the last message; the next one hangs on it."""
        return self.shadows[-1].cumulative_hash if self.shadows else ROOT_PARENT

    @property
    def size_bytes(self) -> int:
        """What it takes in memory beside the records, without the cost of the objects."""
        return sum(map(len, self.pieces)) + sum(map(len, self.ids)) + sum(map(len, self.marks))

    def still_true(self, view: str, heads: Heads, shadows: Sequence[Shadow | None]) -> "SettledPrefix":
        """As much of it as these rows and records begin with, never the last row; itself when that is all of it."""
        if view != self.view:
            return SettledPrefix(view)
        pairs: tuple[tuple[Sequence[Any], Sequence[Any]], ...] = (
            (self.ids, heads.ids),
            (self.marks, heads.marks),
            (self.shadows, shadows),
        )
        length = min(*(_in_common(ours, theirs) for ours, theirs in pairs), max(0, len(heads) - 1))
        if length == len(self):
            return self
        length = _whole_turns(self.marks, length)
        return SettledPrefix(
            view,
            self.ids[:length],
            self.marks[:length],
            self.shadows[:length],
            self.pieces[:length],
            self.last_roles[:length],
        )

    def grown(
        self, chat_id: str, heads: Heads, shadows: Sequence[Shadow | None], readable: Callable[[Shadow], Shadow]
    ) -> "SettledPrefix":
        """With the turns that follow and are in order, too; itself when none is.

        Args:
            chat_id: of the chain.
            heads: of the whole chain. The last one is never taken: it is what is asked now.
            shadows: records of the whole chain.
            readable: a record as the one who reads `view` may see it.
        """
        following: list[Shadow] = []
        parent_hash = self.parent_hash
        for mark, shadow in zip(heads.marks[len(self) : -1], shadows[len(self) : -1], strict=True):
            if shadow is None or not in_order(shadow, int(mark[1:]), chat_id, parent_hash):
                break
            following.append(shadow)
            parent_hash = shadow.cumulative_hash
        length = _whole_turns(heads.marks, len(self) + len(following))
        if length <= len(self):
            return self
        del following[length - len(self) :]
        assembly = Assembly(self.pieces, self.last_roles)
        assembly.extend([readable(shadow) for shadow in following])
        return SettledPrefix(
            self.view,
            heads.ids[:length],
            heads.marks[:length],
            [*self.shadows, *following],
            assembly.pieces,
            assembly.last_roles,
        )


def _whole_turns(marks: Sequence[str], length: int) -> int:
    """The length without questions at the end."""
    while length and marks[length - 1][0] != MODEL_MARK:
        length -= 1
    return length


def _in_common(ours: Sequence[Any], theirs: Sequence[Any]) -> int:
    """How many values are equal from the first on. Whole lists are compared first, as that is done in C."""
    if ours == theirs[: len(ours)]:
        return len(ours)
    differing = (place for place, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other)
    return next(differing, min(len(ours), len(theirs)))
