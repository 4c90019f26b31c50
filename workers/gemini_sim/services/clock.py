"""The simulator's own time, which a test can move."""

import time
from dataclasses import dataclass


@dataclass(slots=True)
class SimClock:
    """Wall clock plus an offset; never goes back.

    Args:
        offset_s: seconds that tests have moved it ahead.
    """

    offset_s: float = 0.0

    def now_s(self) -> float:
        """Epoch seconds as the simulator sees them."""
        return time.clock_gettime(time.CLOCK_REALTIME) + self.offset_s

    def advance(self, seconds: float) -> None:
        """Move ahead; a negative step is refused by the route."""
        self.offset_s += seconds
