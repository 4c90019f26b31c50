"""The real clock behind the Clock port."""

import asyncio
import time


class SystemClock:
    """Wall and monotonic time of this machine."""

    def now_s(self) -> float:
        """Epoch seconds."""
        return time.time()  # noqa: TID251 (this is the Clock)

    def monotonic_s(self) -> float:
        """Seconds of a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        """Wait without holding the event loop."""
        await asyncio.sleep(delay_s)
