"""ECHO's own counters: by user, by Google's day, with what Google refused."""

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from echo_constants import EchoError
from echo_core.ports import GenerateRequest
from echo_gemini_client import ModelOverloaded, QuotaNotInTier, QuotaPerDay, QuotaPerMinute, SpendLimit
from echo_runtime.local_quota import COUNTERS_KEY, LocalQuota, WatchedBackend
from echo_state_manager.identity import IdentityStore
from store_kit import SECRET, ManualClock

FLASH = "gemini-3-flash"
#: 23:30 on 30 November in California.
LATE = dt.datetime(2026, 12, 1, 7, 30, tzinfo=dt.UTC).timestamp()
REQUESTS_PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(LATE)


@pytest.fixture
async def identity(tmp_path: Path, clock: ManualClock) -> AsyncIterator[IdentityStore]:
    store = IdentityStore(tmp_path / "identity.db", SECRET, clock)
    yield store
    await store.close()


class Refusing:
    """A backend that waits once and then refuses."""

    name = "ai_studio"

    def __init__(self, error: EchoError, waited: EchoError | None = None) -> None:
        self.error, self.waited = error, waited

    @asynccontextmanager
    async def stream_generate(self, request: GenerateRequest, *, on_wait: Any = None) -> AsyncIterator[Any]:
        if self.waited is not None:
            await on_wait(12.0, self.waited)
        raise self.error
        yield

    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        raise self.error

    async def count_tokens(self, request: GenerateRequest) -> int:
        return 1

    async def list_models(self) -> list[dict[str, Any]]:
        return []


async def refused(clock: ManualClock, error: EchoError, waited: EchoError | None = None) -> WatchedBackend:
    backend = WatchedBackend(Refusing(error, waited), clock)
    with pytest.raises(type(error)):
        async with backend.stream_generate(GenerateRequest(model=FLASH, body_json=b"{}")):
            pass
    return backend


async def test_requests_are_counted_by_user_model_and_googles_day(identity: IdentityStore, clock: ManualClock) -> None:
    quota = LocalQuota(identity, clock)
    await quota.note("ada", [FLASH, FLASH, "other"], [])
    await quota.note("bob", [FLASH], [])
    held = await quota.model_quota("ada", FLASH)
    assert held is not None
    assert (held.used_today, held.used_minute, held.told_by) == (2, 2, "echo")
    assert (held.rpd_rem, held.rpd_lim, held.rpm_rem) == (None, None, None)
    clock.at_s += 61
    later = await quota.model_quota("ada", FLASH)
    assert later is not None and (later.used_today, later.used_minute) == (2, 0)
    clock.at_s += 30 * 60  # past midnight in California
    tomorrow = await quota.model_quota("ada", FLASH)
    assert tomorrow is not None and tomorrow.used_today == 0


async def test_a_daily_refusal_holds_until_googles_midnight(identity: IdentityStore, clock: ManualClock) -> None:
    quota = LocalQuota(identity, clock)
    backend = await refused(clock, QuotaPerDay(limit="250", quota_id=REQUESTS_PER_DAY, retry_after_s=3.0))
    await quota.note("ada", [], backend.refused)
    held = await quota.model_quota("ada", FLASH)
    assert held is not None and held.refusal is not None
    assert (held.rpd_rem, held.rpd_lim) == (0, 250)
    assert held.refusal.until_s == dt.datetime(2026, 12, 1, 8, 0, tzinfo=dt.UTC).timestamp()
    assert held.exhausted(clock.now_s())
    clock.at_s += 3_600
    later = await quota.model_quota("ada", FLASH)
    assert later is not None
    assert (later.rpd_rem, later.exhausted(clock.now_s())) == (250, False)


async def test_whoever_is_answered_is_barred_no_longer(identity: IdentityStore, clock: ManualClock) -> None:
    quota = LocalQuota(identity, clock)
    backend = await refused(clock, QuotaPerDay(limit="0", quota_id=REQUESTS_PER_DAY, retry_after_s=3.0))
    await quota.note("ada", [], backend.refused)
    await quota.note("ada", [FLASH], [])
    held = await quota.model_quota("ada", FLASH)
    assert held is not None
    assert (held.refusal, held.rpd_rem, held.exhausted(clock.now_s())) == (None, None, False)


async def test_a_limit_on_tokens_is_no_limit_on_requests(identity: IdentityStore, clock: ManualClock) -> None:
    quota = LocalQuota(identity, clock)
    tokens = "GenerateContentInputTokensPerModelPerMinute-FreeTier"
    backend = await refused(clock, QuotaPerMinute(limit="250000", quota_id=tokens, retry_after_s=20.0))
    await quota.note("ada", [], backend.refused)
    held = await quota.model_quota("ada", FLASH)
    assert held is not None and held.refusal is not None
    assert (held.rpm_lim, held.rpm_rem) == (None, None)
    assert held.refusal.until_s == LATE + 20


async def test_waits_for_a_quota_are_remembered_and_other_errors_are_not(clock: ManualClock) -> None:
    backend = await refused(clock, ModelOverloaded(), waited=QuotaPerMinute(limit="2", quota_id="RequestsPerMinute"))
    [entry] = backend.refused
    assert (entry.refusal.by, entry.refusal.until_s, entry.counts_requests) == ("minute", LATE + 12, True)


@pytest.mark.parametrize(
    ("error", "by", "until_s"), [(QuotaNotInTier(), "tier", None), (SpendLimit(), "spend", LATE + 600)]
)
async def test_each_refusal_has_its_end(clock: ManualClock, error: EchoError, by: str, until_s: float | None) -> None:
    [entry] = (await refused(clock, error)).refused
    assert (entry.refusal.by, entry.refusal.until_s) == (by, until_s)


@pytest.mark.parametrize("damage", ["{", "[]", '{"recent": 3}', '{"today": 3}', '{"refusals": {"gemini-3-flash": 1}}'])
async def test_damaged_counters_begin_anew(identity: IdentityStore, clock: ManualClock, damage: str) -> None:
    quota = LocalQuota(identity, clock)
    await identity.save_setting("ada", COUNTERS_KEY, damage)
    await quota.note("ada", [FLASH], [])
    held = await quota.model_quota("ada", FLASH)
    assert held is not None and (held.used_today, held.refusal) == (1, None)


async def test_nothing_is_written_for_a_turn_that_asked_nothing(identity: IdentityStore, clock: ManualClock) -> None:
    await LocalQuota(identity, clock).note("ada", [], [])
    assert await identity.get_setting("ada", COUNTERS_KEY) is None
