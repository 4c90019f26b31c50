from typing import Any

import pytest

from echo_runtime import _owui_prompts
from echo_runtime.anchors import MAX_MEMORIES_CHARS, anchors
from echo_runtime.turn_context import Anchors

NOON_S = 1_767_268_800.0  # 2026-01-01 12:00 UTC
USER = {"id": "u", "name": "Ada"}
PAGE = {
    "{{USER_LANGUAGE}}": "fr-FR",
    "{{CURRENT_TIMEZONE}}": "Europe/Paris",
    "{{USER_LOCATION}}": "45.76, 4.84 (lat, long)",
}


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Open WebUI's memories by user."""
    kept: dict[str, list[str]] = {"u": ["Ada sails.", "Ada has\na cat."], "other": ["Bob is bald."]}

    async def memories(user_id: str) -> list[str]:
        return kept[user_id]

    monkeypatch.setattr(_owui_prompts, "memories", memories)
    return kept


async def told(page: dict[str, str] | None = None, now_s: float = NOON_S, **options: Any) -> Anchors:
    metadata = {"variables": PAGE if page is None else page, "features": {"memory": True}}
    return await anchors(USER, metadata, options, now_s)


async def test_person_time_and_place_are_those_of_the_page() -> None:
    found = await told()
    assert found.person == {
        "USER_LANGUAGE": "fr-FR",
        "USER_NAME": "Ada",
        "MEMORIES": "- Ada sails.\n- Ada has a cat.",
    }
    assert found.times == {"NOW": "Thursday 2026-01-01 13:00 +0100"}
    assert found.places == {"CURRENT_TIMEZONE": "Europe/Paris", "USER_LOCATION": "45.76, 4.84 (lat, long)"}


async def test_what_is_not_known_is_not_told() -> None:
    found = await told({"{{USER_LOCATION}}": "Unknown"})
    assert (found.places, found.times) == ({}, {"NOW": "Thursday 2026-01-01 12:00 +0000"})


async def test_what_the_user_does_not_want_told_is_not_told() -> None:
    found = await told(TELL_PERSON=False, TELL_LOCATION=False, TELL_MEMORIES=False)
    assert (found.person, found.places) == ({"USER_LANGUAGE": "fr-FR"}, {"CURRENT_TIMEZONE": "Europe/Paris"})


async def test_memories_are_told_only_while_open_webuis_memory_is_on() -> None:
    assert "MEMORIES" not in (await anchors(USER, {"variables": PAGE}, {}, NOON_S)).person


async def test_that_the_last_memory_was_deleted_is_told(remembered: dict[str, list[str]]) -> None:
    remembered["u"] = []
    assert (await told()).person["MEMORIES"] == ""


async def test_too_many_memories_leave_the_newest(remembered: dict[str, list[str]]) -> None:
    remembered["u"] = [f"fact {number}" for number in range(2_000)]
    text = (await told()).person["MEMORIES"]
    assert len(text) <= MAX_MEMORIES_CHARS
    assert text.endswith("- fact 1999") and "- fact 0\n" not in text


async def test_the_time_moves_in_steps() -> None:
    assert (await told(now_s=NOON_S + 599)).times == (await told()).times
    assert (await told(now_s=NOON_S + 600)).times != (await told()).times
    assert (await told(now_s=NOON_S + 60, TIME_STEP_MIN=1)).times != (await told(TIME_STEP_MIN=1)).times


async def test_a_time_zone_that_nobody_knows_is_utc() -> None:
    found = await told({"{{CURRENT_TIMEZONE}}": "Moon/Tycho"})
    assert found.times == {"NOW": "Thursday 2026-01-01 12:00 +0000"}
