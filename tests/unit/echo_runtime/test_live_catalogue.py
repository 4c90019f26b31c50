"""The endpoint's own list refines what is known of models, in the background."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from echo_constants import UpstreamError
from echo_protocol import Catalogue
from echo_runtime.live_catalogue import FRESH_S, RETRY_S, LiveCatalogue
from scripted import FakeClock

SHIPPED = Catalogue.load()
FIRST, SECOND, *_ = SHIPPED.names["ai_studio"]["MODEL_FLASH"]


class Listing:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self) -> list[dict[str, Any]]:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def listed(*ids: str) -> list[dict[str, Any]]:
    return [{"name": f"models/{model_id}", "inputTokenLimit": 500_000} for model_id in ids]


async def test_a_model_that_is_not_listed_any_more_gives_way_to_the_next() -> None:
    live = LiveCatalogue(SHIPPED, FakeClock())
    listing = Listing(listed(SECOND))
    live.refresh_soon("http://a", listing)
    assert live.now() is SHIPPED, "nobody waits for the list"
    await settle()
    assert live.now().resolve("FLASH", "ai_studio").id == SECOND
    assert live.now().model(SECOND).window_tokens == 500_000


async def test_a_list_is_read_again_when_it_is_old_and_sooner_when_it_failed() -> None:
    clock = FakeClock()
    live = LiveCatalogue(SHIPPED, clock)
    listing = Listing(UpstreamError("down"), listed(FIRST), listed(FIRST))
    for wait_s, asked in ((0.0, 1), (RETRY_S - 1, 1), (1.0, 2), (FRESH_S - 1, 2), (1.0, 3)):
        clock.at_s += wait_s
        live.refresh_soon("http://a", listing)
        await settle()
        assert listing.asked == asked


async def test_another_endpoint_begins_anew() -> None:
    live = LiveCatalogue(SHIPPED, FakeClock())
    live.refresh_soon("http://a", Listing(listed(SECOND)))
    await settle()
    live.refresh_soon("http://b", Listing(UpstreamError("down")))
    await settle()
    assert live.now() is SHIPPED


async def test_an_old_catalogue_warns_once_a_day_and_still_serves(caplog: pytest.LogCaptureFixture) -> None:
    late = dt.datetime.combine(SHIPPED.as_of + dt.timedelta(days=400), dt.time(), dt.UTC)
    live = LiveCatalogue(SHIPPED, FakeClock(late.timestamp()))
    for _ in range(3):
        live.refresh_soon("http://a", Listing([], [], []))
        await settle()
    assert sum("model catalogue is of" in record.message for record in caplog.records) == 1
    assert live.now().resolve("PRO", "ai_studio").id
