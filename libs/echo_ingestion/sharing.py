"""One piece of work for all who ask for it at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedWork(Generic[T]):
    """Runs work once for several waiters; it is cancelled when the last of them has gone. One an event loop."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}
        self._waiting: dict[Hashable, int] = {}

    async def share(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """The result of the work under way for this key, or of this one.

        Raises:
            Exception: what the work raises, to each waiter.
        """
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(_run(work))
            task.add_done_callback(lambda done: self._forget(key, done))
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._waiting.get(key) == 1 and not task.done():
                task.cancel()
            raise
        finally:
            self._left(key)

    def _left(self, key: Hashable) -> None:
        left = self._waiting.get(key, 1) - 1
        if left:
            self._waiting[key] = left
        else:
            self._waiting.pop(key, None)

    def _forget(self, key: Hashable, task: "asyncio.Task[T]") -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
        if not task.cancelled():
            task.exception()  # each waiter has it; asyncio must not call it unseen


async def _run(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
