"""The figures of an answer survive being kept, and damage is no figure."""

import json

import pytest

from echo_core import RoundUsage
from echo_core.figures import TurnFigures, measured
from echo_protocol import Price, Usage

FIGURES = TurnFigures(
    message_id="m1",
    at_s=1_800_000_000,
    model_id="gemini-3-flash",
    level="FLASH",
    cause="cascade",
    detail="gemini_quota_per_day",
    window_tokens=1_048_576,
    prompt_tokens=900,
    answer_tokens=100,
    usd=0.25,
    requests=2,
)


def test_figures_come_back_as_they_were_kept() -> None:
    assert TurnFigures.from_json(FIGURES.to_json()) == FIGURES
    assert FIGURES.fill_tokens == 1_000


@pytest.mark.parametrize(
    "changed",
    [
        {"cause": "weather"},
        {"level": 3},
        {"usd": "cheap"},
        {"window_tokens": "many"},
        {"at_s": None},
    ],
)
def test_damaged_figures_are_none(changed: dict[str, object]) -> None:
    assert TurnFigures.from_json(json.dumps({**json.loads(FIGURES.to_json()), **changed})) is None


@pytest.mark.parametrize("text", [None, "", "{", "[]", "null", '{"cause": "chat"}'])
def test_what_is_no_figure_is_none(text: str | None) -> None:
    assert TurnFigures.from_json(text) is None


def test_keys_of_other_versions_are_left_alone() -> None:
    assert TurnFigures.from_json(json.dumps({**json.loads(FIGURES.to_json()), "mood": "fine"})) == FIGURES


def test_all_requests_count_and_the_last_one_tells_the_fill() -> None:
    price = Price(input_usd=1.0, output_usd=10.0, cached_usd=0.1)
    first = Usage(prompt_tokens=100, candidates_tokens=10, total_tokens=110)
    last = Usage(prompt_tokens=200, cached_tokens=100, candidates_tokens=20, thoughts_tokens=5, total_tokens=225)
    rounds = [RoundUsage(model_id="a", usage=first, price=price), RoundUsage(model_id="a", usage=last, price=price)]
    assert measured(rounds) == {
        "prompt_tokens": 200,
        "answer_tokens": 20,
        "input_tokens": 300,
        "cached_tokens": 100,
        "output_tokens": 35,
        "thoughts_tokens": 5,
        "usd": pytest.approx((200 * 1.0 + 100 * 0.1 + 35 * 10.0) / 1e6),
        "requests": 2,
    }


def test_what_sub_agents_asked_costs_but_does_not_fill_the_chat() -> None:
    own = RoundUsage(model_id="a", usage=Usage(prompt_tokens=10, candidates_tokens=1, total_tokens=11))
    helper = RoundUsage(model_id="a", usage=Usage(prompt_tokens=5_000, total_tokens=5_000), agent="helper")
    told = measured([own, helper])
    assert (told["prompt_tokens"], told["answer_tokens"], told["input_tokens"]) == (10, 1, 5_010)
    assert measured([helper])["prompt_tokens"] == 0


def test_a_request_without_a_price_makes_the_cost_unknown() -> None:
    usage = Usage(prompt_tokens=1, total_tokens=1)
    assert measured([RoundUsage(model_id="a", usage=usage)])["usd"] is None
    assert measured([RoundUsage(model_id="a", usage=Usage())]) == {}
