"""What is shown and kept about tokens and money."""

import json
from dataclasses import replace
from typing import Any

import pytest

from echo_core import ContextStats, RoundUsage, usage_shown
from echo_protocol import Price, Usage

PRICE = Price(input_usd=2.0, output_usd=10.0, cached_usd=0.2, image_output_usd=100.0)


def entry(price: Price | None = PRICE, model: str = "m", **tokens: int) -> RoundUsage:
    total = sum(tokens.get(f"{name}_tokens", 0) for name in ("prompt", "candidates", "thoughts", "tool_prompt"))
    return RoundUsage(model_id=model, usage=Usage(**{"total_tokens": total, **tokens}), price=price)


def test_cached_tokens_thoughts_pictures_and_googles_tools_have_their_prices() -> None:
    one = entry(
        prompt_tokens=1000, cached_tokens=400, tool_prompt_tokens=50, candidates_tokens=200, thoughts_tokens=100,
        image_tokens=150,
    )  # fmt: skip
    assert one.input_usd == pytest.approx((650 * 2 + 400 * 0.2) / 1e6)
    assert one.output_usd == pytest.approx((150 * 10 + 150 * 100) / 1e6)


def test_without_a_cache_price_cached_tokens_cost_like_others() -> None:
    price = Price(input_usd=2.0, output_usd=10.0)
    assert entry(price, prompt_tokens=100, cached_tokens=100).input_usd == pytest.approx(200 / 1e6)


def test_a_turn_shows_its_sums_and_each_tool_round() -> None:
    rounds = [
        entry(prompt_tokens=100, candidates_tokens=10, thoughts_tokens=5),
        entry(prompt_tokens=120, cached_tokens=90, candidates_tokens=20),
    ]
    shown = usage_shown(rounds)
    assert (shown["prompt_tokens"], shown["completion_tokens"], shown["total_tokens"]) == (220, 35, 255)
    assert shown["prompt_tokens_details"] == {"cached_tokens": 90}
    assert shown["completion_tokens_details"] == {"reasoning_tokens": 5}
    assert [row["input_tokens"] for row in shown["rounds"]] == [100, 120]
    assert shown["cost"] == pytest.approx(shown["input_cost"] + shown["output_cost"])
    assert shown["cost"] == pytest.approx(sum(row["cost"] for row in shown["rounds"]))
    assert "rounds" not in usage_shown(rounds[:1])


def test_a_cost_that_is_not_known_is_left_out_and_never_null() -> None:
    shown = usage_shown([entry(None, prompt_tokens=5)], ContextStats().after([entry(None, prompt_tokens=5)]))
    assert "cost" not in shown
    assert "null" not in json.dumps(shown)
    assert shown["chat"]["turns_without_price"] == 1


def test_a_chat_adds_up_and_keeps_the_fill_of_the_last_request() -> None:
    stats = ContextStats().after([entry(prompt_tokens=100, candidates_tokens=10)])
    stats = stats.after([entry(prompt_tokens=200, thoughts_tokens=7), entry(prompt_tokens=300, candidates_tokens=30)])
    assert (stats.turns, stats.fill_tokens, stats.prompt_tokens) == (2, 330, 300)
    assert (stats.total_prompt_tokens, stats.total_output_tokens, stats.total_thoughts_tokens) == (600, 47, 7)
    assert stats.total_usd == pytest.approx((600 * 2 + 47 * 10) / 1e6)


def test_an_answer_that_the_server_never_counted_changes_nothing() -> None:
    stats = ContextStats(prompt_tokens=5, turns=1)
    assert stats.after([]) == stats.after([entry()]) == stats


def test_the_stats_survive_being_stored() -> None:
    stats = ContextStats().after([entry(prompt_tokens=100, candidates_tokens=10)])
    assert ContextStats.from_json(stats.to_json()) == stats


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"later": 1, "turns": "x"}'])
def test_what_cannot_be_read_is_an_empty_start(text: Any) -> None:
    assert ContextStats.from_json(text) == ContextStats()


def test_what_sub_agents_use_counts_in_the_sums_and_says_nothing_about_the_fill() -> None:
    own = entry(prompt_tokens=100, candidates_tokens=10)
    agents = replace(entry(prompt_tokens=900, candidates_tokens=90), agent="sub-agent 1")
    stats = ContextStats().after([own, agents])
    assert (stats.fill_tokens, stats.total_prompt_tokens, stats.total_output_tokens) == (110, 1000, 100)
    assert stats.after([agents]).fill_tokens == 110
    shown = usage_shown([own, agents])
    assert [row.get("agent") for row in shown["rounds"]] == [None, "sub-agent 1"]
    assert shown["cost"] == pytest.approx(sum(row["cost"] for row in shown["rounds"]))
