"""The rows of a chat. A chat of thousands is read every turn, and few of its rows are looked at one by one: columns.

Columns of strings cost a tenth of one object a row, and the garbage collector does not count them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, overload

from echo_core.records import Role

#: First letter of a row's mark. Rows of other roles are passed over.
USER_MARK: Final = "u"
MODEL_MARK: Final = "m"
OTHER_MARK: Final = "-"


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


@dataclass(frozen=True, slots=True)
class Heads(Sequence[RowHead]):
    """Heads in the order of the chain; each is made when it is asked for.

    Args:
        ids: message ids.
        marks: of each row a letter for its role and its `updated_at` in epoch seconds. Where id and mark are equal, the
            rows agree in all that the Version Lock looks at.
        writers: user ids, "" where the row names none.
    """

    ids: Sequence[str]
    marks: Sequence[str]
    writers: Sequence[str]

    @classmethod
    def of(cls, heads: Iterable[RowHead]) -> "Heads":
        """The columns of some heads."""
        listed = list(heads)
        marks = [f"{USER_MARK if head.role == 'user' else MODEL_MARK}{head.updated_at_s}" for head in listed]
        return cls([head.message_id for head in listed], marks, [head.writer_id for head in listed])

    @overload
    def __getitem__(self, index: int) -> RowHead: ...

    @overload
    def __getitem__(self, index: slice) -> "Heads": ...

    def __getitem__(self, index: int | slice) -> "RowHead | Heads":
        if isinstance(index, slice):
            return Heads(self.ids[index], self.marks[index], self.writers[index])
        mark = self.marks[index]
        role: Role = "user" if mark[0] == USER_MARK else "model"
        return RowHead(self.ids[index], role, int(mark[1:]), self.writers[index])

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class ChatRows:
    """All rows of a chat, all branches, in any order.

    Args:
        ids: message ids.
        parents: the id of the message above, "" for a root.
        marks: as in `Heads`.
        writers: as in `Heads`.
    """

    ids: Sequence[str]
    parents: Sequence[str]
    marks: Sequence[str]
    writers: Sequence[str]

    def chain(self, message_id: str) -> Heads:
        """The way from the root to one message, without rows of other roles.

        Returns:
            Empty when the chat has no such message. A missing parent ends the way like a root, and so does a message
            that was met before: rows that point at each other are somebody's damage, not an endless chat.
        """
        numbers = dict(zip(self.ids, range(len(self.ids)), strict=True))
        above = list(map(numbers.get, self.parents))
        way: list[int] = []
        current = numbers.get(message_id)
        while current is not None and len(way) < len(above):
            way.append(current)
            current = above[current]
        if current is not None:
            way = list(dict.fromkeys(way))
        marks = self.marks
        way = [number for number in reversed(way) if marks[number][0] != OTHER_MARK]
        return Heads([self.ids[n] for n in way], [marks[n] for n in way], [self.writers[n] for n in way])
