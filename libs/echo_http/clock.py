"""The real clock."""

import asyncio
import time


class SystemClock:
    """`echo_core.ports.Clock` over the operating system and the running event loop."""

    def now_s(self) -> float:
        """Wall clock, epoch seconds."""
        return time.time()  # noqa: TID251 - this is the port's real side

    def monotonic_s(self) -> float:
        """A clock that never goes back, seconds."""
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        """Wait."""
        await asyncio.sleep(delay_s)
