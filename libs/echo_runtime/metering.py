"""What turns cost by the catalogue's prices, and the running totals of a chat."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from echo_core.ports import Clock, ShadowStore
from echo_core.usage import CONTEXT_STATS_KEY, ContextStats, RoundUsage
from echo_protocol import Catalogue


class PriceList:
    """Puts prices to requests.

    Args:
        catalogue: has the prices by model, prompt size and date.
        clock: tells which day's price holds.
    """

    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock

    @property
    def now_s(self) -> float:
        """The moment whose prices hold, epoch seconds."""
        return self._clock.now_s()

    def priced(self, rounds: Sequence[RoundUsage]) -> list[RoundUsage]:
        """The same requests, each with the price that holds for its model and size today, None where none is known."""
        today = dt.datetime.fromtimestamp(self._clock.now_s(), dt.UTC).date()
        return [
            replace(entry, price=self._catalogue.model(entry.model_id).price(entry.usage.prompt_tokens, today))
            for entry in rounds
        ]


async def context_stats(store: ShadowStore) -> ContextStats:
    """What a chat holds and has used so far; all zero before its first answer."""
    return ContextStats.from_json(await store.get_setting(CONTEXT_STATS_KEY))
