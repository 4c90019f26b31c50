"""Prices of real models, by size and date."""

import datetime as dt

import pytest

from echo_core import RoundUsage
from echo_protocol import Catalogue, Usage
from echo_runtime.metering import PriceList
from scripted import FakeClock

CATALOGUE = Catalogue.load()


def cost(model: str, tokens: int, day: dt.date) -> float | None:
    at_s = dt.datetime(day.year, day.month, day.day, 12, tzinfo=dt.UTC).timestamp()
    prices = PriceList(CATALOGUE, FakeClock(at_s))
    [entry] = prices.priced([RoundUsage(model_id=model, usage=Usage(prompt_tokens=tokens))])
    return entry.input_usd


def test_long_prompts_cost_more_where_google_says_so() -> None:
    day = dt.date(2026, 11, 30)
    assert cost("gemini-3.1-pro-preview", 200_000, day) == pytest.approx(0.4)
    assert cost("gemini-3.1-pro-preview", 300_000, day) == pytest.approx(1.2)


def test_a_price_that_changes_holds_from_its_day_on() -> None:
    assert cost("gemini-4-argon", 1_000_000, dt.date(2026, 11, 30)) == pytest.approx(2)
    assert cost("gemini-4-argon", 1_000_000, dt.date(2026, 12, 1)) == pytest.approx(4)


def test_an_unknown_model_has_no_price() -> None:
    assert cost("gemini-9-neon", 1, dt.date(2026, 11, 30)) is None


def test_every_model_of_ai_studio_has_a_price() -> None:
    unpriced = [model.id for model in CATALOGUE.models.values() if "ai_studio" in model.backends and not model.prices]
    assert unpriced == []
