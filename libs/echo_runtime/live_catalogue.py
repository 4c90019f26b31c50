"""The shipped model catalogue, refined by what the endpoint lists. It never delays a turn and refuses nothing."""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from echo_constants import EchoError
from echo_core.ports import Clock
from echo_protocol import Catalogue

log = logging.getLogger(__name__)

#: How long a list counts as fresh, and how soon a failed reading is tried again. Source: our choice; Google publishes
#: models every few weeks.
FRESH_S: Final = 6 * 3600.0
RETRY_S: Final = 600.0

#: The list is not worth more than this. Source: our choice.
LIMIT_S: Final = 30.0

_DAY_S: Final = 24 * 3600


class LiveCatalogue:
    """What is known of models now.

    Args:
        shipped: the catalogue of this release.
        clock: for the age of a list, and for what has been retired.
    """

    def __init__(self, shipped: Catalogue, clock: Clock) -> None:
        self._shipped = shipped
        self._clock = clock
        self._base_url = ""
        self._refined = shipped
        self._next_s = 0.0
        self._warned_day = 0
        self._reading: asyncio.Task[None] | None = None

    def now(self) -> Catalogue:
        """The catalogue, refined if a list has been read."""
        return self._refined

    def refresh_soon(self, base_url: str, list_models: Callable[[], Awaitable[list[dict[str, Any]]]]) -> None:
        """Read the endpoint's list in the background when the last one is old; call it when a turn is over.

        Args:
            base_url: another endpoint begins anew with what was shipped.
            list_models: as `ModelBackend.list_models`.
        """
        self._warn()
        if base_url != self._base_url:
            self._base_url, self._refined, self._next_s = base_url, self._shipped, 0.0
        if self._clock.monotonic_s() < self._next_s or (self._reading is not None and not self._reading.done()):
            return
        self._next_s = self._clock.monotonic_s() + RETRY_S
        self._reading = asyncio.create_task(self._read(base_url, list_models))

    async def aclose(self) -> None:
        """Give up a reading that runs."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _read(self, base_url: str, list_models: Callable[[], Awaitable[list[dict[str, Any]]]]) -> None:
        try:
            async with asyncio.timeout(LIMIT_S):
                listed = await list_models()
        except (EchoError, TimeoutError) as error:
            log.info("the live model list could not be read: %s", error)
            return
        if listed and base_url == self._base_url:
            self._refined = self._shipped.refine(listed)
            self._next_s = self._clock.monotonic_s() + FRESH_S

    def _warn(self) -> None:
        """Once a day the log says what an administrator should know."""
        day = int(self._clock.now_s() // _DAY_S)
        if day == self._warned_day:
            return
        self._warned_day = day
        for warning in self._refined.warnings(dt.datetime.fromtimestamp(self._clock.now_s(), dt.UTC).date()):
            log.warning("%s", warning.en)
