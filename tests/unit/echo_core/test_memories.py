"""Importance and retention of what is remembered."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_core.memories import (
    AXIOM,
    MEMORY_IMPORTANCE_WEIGHTS,
    RETENTION_DAYS,
    Fact,
    Memory,
    corrected_importance,
    first_importance,
    ranked,
    reinforced,
)

DAY_S = 86_400


def memory(**more: object) -> Memory:
    return replace(Memory(id="m", fact=Fact(text="The user lives in Lyon.")), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("importance", "days"), list(enumerate((30, 90, 180, 365, 540), start=1)))
def test_retention_counts_from_the_last_time_it_was_told(importance: int, days: int) -> None:
    one = memory(importance=importance, reinforced_at_s=1_000)
    assert not one.has_expired(1_000 + days * DAY_S - 1)
    assert one.has_expired(1_000 + days * DAY_S)
    again = reinforced(one, 1_000 + days * DAY_S - 1)
    assert not again.has_expired(1_000 + days * DAY_S)
    assert not replace(one, pinned=True).has_expired(10**12)


@given(st.integers(1, 5), st.integers(0, 50))
def test_no_inference_makes_an_axiom(importance: int, times: int) -> None:
    one = memory(importance=first_importance(importance, "reading"))
    for now_s in range(times):
        one = reinforced(one, now_s)
    assert one.importance < AXIOM
    assert corrected_importance(memory(importance=AXIOM), one.importance, "reading") < AXIOM


def test_repeated_use_raises_and_never_lowers() -> None:
    levels = []
    one = memory()
    for now_s in range(6):
        levels.append(one.importance)
        one = reinforced(one, now_s)
    assert levels == [1, 1, 3, 3, 3, 4]
    assert reinforced(memory(importance=AXIOM), 9).importance == AXIOM
    assert first_importance(AXIOM, "order") == AXIOM


@pytest.mark.parametrize("floor", [0.8, 0.45])
def test_importance_weighs_near_the_best_match_and_not_far_from_it(floor: float) -> None:
    trivial, axiom = memory(id="t", importance=1), memory(id="a", importance=5)
    best = floor + 0.5 * (1 - floor)
    near, far = best - 0.05 * (1 - floor), best - 0.25 * (1 - floor)
    assert [one.memory.id for one in ranked([(trivial, best), (axiom, near)], floor, 2)] == ["a", "t"]
    assert [one.memory.id for one in ranked([(trivial, best), (axiom, far)], floor, 2)] == ["t", "a"]
    assert ranked([], floor, 2) == []
    assert len(MEMORY_IMPORTANCE_WEIGHTS) == len(RETENTION_DAYS) == AXIOM
