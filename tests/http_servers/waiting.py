"""Waiting in tests without sleeping: until something is true, and on a clock that the test moves."""

import asyncio
import heapq
import itertools
from collections.abc import Callable


async def eventually(condition: Callable[[], bool], *, within_s: float = 5.0) -> None:
    """Let the loop turn until the condition holds.

    Raises:
        TimeoutError: it never did.
    """
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.002)


class FakeClock:
    """A clock that stands still until `advance` moves it."""

    def __init__(self, now_s: float = 1_000.0) -> None:
        self.now = now_s
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now_s(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.now

    async def sleep(self, delay_s: float) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + delay_s, next(self._order), sleeper))
        await sleeper

    @property
    def sleepers(self) -> int:
        return sum(not sleeper.done() for _, _, sleeper in self._sleepers)

    async def advance(self, by_s: float) -> None:
        """Move on, waking sleepers in order and letting each run as far as it can."""
        target = self.now + by_s
        while self._sleepers and self._sleepers[0][0] <= target:
            due, _, sleeper = heapq.heappop(self._sleepers)
            self.now = max(self.now, due)
            if not sleeper.done():
                sleeper.set_result(None)
            await turn()
        self.now = target
        await turn()


class InstantClock(FakeClock):
    """Waits take no time, but the clock moves."""

    async def sleep(self, delay_s: float) -> None:
        self.now += delay_s


async def turn(times: int = 5) -> None:
    """Let other tasks run."""
    for _ in range(times):
        await asyncio.sleep(0)
