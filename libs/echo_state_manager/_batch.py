"""The statements of one transaction, collected first and executed together.

Building them is pure work without waiting, so it may leave the event loop; executing them is one hop to the
connection's thread a statement, however many rows it has.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Batch:
    """Statements with their rows. All rows of one statement run together, where the statement first stood.

    A batch therefore must not write the same message twice; `in_batches` sees to that.

    Args:
        now_s: epoch seconds, written as the time of everything in the batch.
    """

    def __init__(self, now_s: int) -> None:
        self.now_s = now_s
        self.statements: dict[str, list[Sequence[Any]]] = {}

    def add(self, sql: str, *rows: Sequence[Any]) -> None:
        """Run one statement for each row; without rows nothing is added."""
        if rows:
            self.statements.setdefault(sql, []).extend(rows)


def in_batches(
    items: Iterable[T], key_of: Callable[[T], Hashable], fill: Callable[[Batch, T], None], now_s: int
) -> list[Batch]:
    """Spread items over as few batches as keep the order of items with the same key.

    Args:
        items: what is to be written.
        key_of: what an item writes to.
        fill: adds one item to a batch.
        now_s: epoch seconds.
    """
    batches = [Batch(now_s)]
    seen: set[Hashable] = set()
    for item in items:
        key = key_of(item)
        if key in seen:
            batches.append(Batch(now_s))
            seen.clear()
        seen.add(key)
        fill(batches[-1], item)
    return batches
