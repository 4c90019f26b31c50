"""Quota for endpoints that report none: ECHO's own counters by user and model, and Google's last refusal.

They count what this user asked through this ECHO. Others may share the key, so what remains can be less than it seems;
what is shown says who counted. Source: docs/design.md section 9.
"""

import datetime as dt
import json
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from echo_constants import EchoError, LimitError
from echo_core.ports import Clock, GenerateRequest, ModelBackend, OnWait
from echo_core.quota import ModelQuota, QuotaRefusal, RefusedBy
from echo_gemini_client import QuotaNotInTier, QuotaPerDay, QuotaPerMinute, SpendLimit
from echo_state_manager.identity import IdentityStore

log = logging.getLogger(__name__)

#: Key of a user's counters in identity.db.
COUNTERS_KEY: Final = "quota_counters"

#: Daily quotas return at midnight Pacific time. Source: https://ai.google.dev/gemini-api/docs/rate-limits.
_GOOGLE_ZONE: Final = "America/Los_Angeles"
_MINUTE_S: Final = 60.0
#: Spend limits free up within about ten minutes. Source: as `SpendLimit`.
_SPEND_S: Final = 600.0
#: Requests of the last minute that are remembered; more than any limit per minute that can be reached by hand.
_MAX_RECENT: Final = 500

_BY: Final[tuple[tuple[type[LimitError], RefusedBy], ...]] = (
    (QuotaPerMinute, "minute"),
    (QuotaPerDay, "day"),
    (QuotaNotInTier, "tier"),
    (SpendLimit, "spend"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request that a quota stood in the way of.

    Args:
        counts_requests: the limit is a number of requests, not of tokens.
    """

    model_id: str
    refusal: QuotaRefusal
    counts_requests: bool


class WatchedBackend:
    """A ModelBackend that remembers which quotas stood in the way of one turn.

    Args:
        inner: asks Gemini.
        clock: when it happened.
    """

    def __init__(self, inner: ModelBackend, clock: Clock) -> None:
        self.name = inner.name
        self._inner = inner
        self._clock = clock
        self.refused: list[Refused] = []

    def stream_generate(
        self, request: GenerateRequest, *, on_wait: OnWait | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[dict[str, Any]]]:
        """As `ModelBackend.stream_generate`."""
        return self._stream(request, on_wait)

    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        """As `ModelBackend.generate`."""
        try:
            return await self._inner.generate(request)
        except LimitError as error:
            self._note(request.model, error)
            raise

    async def count_tokens(self, request: GenerateRequest) -> int:
        """As `ModelBackend.count_tokens`."""
        return await self._inner.count_tokens(request)

    async def list_models(self) -> list[dict[str, Any]]:
        """As `ModelBackend.list_models`."""
        return await self._inner.list_models()

    @asynccontextmanager
    async def _stream(
        self, request: GenerateRequest, on_wait: OnWait | None
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        async def waiting(wait_s: float, error: EchoError) -> None:
            self._note(request.model, error, wait_s)
            if on_wait is not None:
                await on_wait(wait_s, error)

        try:
            async with self._inner.stream_generate(request, on_wait=waiting) as chunks:
                yield chunks
        except LimitError as error:
            self._note(request.model, error)
            raise

    def _note(self, model_id: str, error: EchoError, wait_s: float | None = None) -> None:
        by = next((name for kind, name in _BY if isinstance(error, kind)), None)
        if by is None:
            return
        now_s = self._clock.now_s()
        refusal = QuotaRefusal(
            by=by,
            at_s=now_s,
            until_s=_until_s(by, now_s, wait_s or error.retry_after_s),
            limit=str(error.fields.get("limit") or ""),
        )
        counts_requests = "Requests" in str(error.fields.get("quota_id") or "")
        self.refused.append(Refused(model_id=model_id, refusal=refusal, counts_requests=counts_requests))


class LocalQuota:
    """The `QuotaSource` of AI Studio.

    Args:
        identity: where the counters are kept, for all processes.
        clock: time.
    """

    def __init__(self, identity: IdentityStore, clock: Clock) -> None:
        self._identity = identity
        self._clock = clock

    async def note(self, user_id: str, model_ids: Sequence[str], refused: Iterable[Refused]) -> None:
        """Count the requests of a turn that has ended. Raises StateError.

        Args:
            user_id: whose they are.
            model_ids: one entry a request that was answered.
            refused: what stood in the way of others.
        """
        now_s = self._clock.now_s()
        gone = list(refused)

        def revised(text: str | None) -> str:
            held = _held(text, now_s)
            for model_id in model_ids:
                held["today"][model_id] = int(held["today"].get(model_id, 0)) + 1
                held["refusals"].pop(model_id, None)  # whoever is answered is barred no longer
            held["recent"] = [*held["recent"], *((now_s, model_id) for model_id in model_ids)][-_MAX_RECENT:]
            for entry in gone:
                held["refusals"][entry.model_id] = asdict(entry.refusal)
                if entry.counts_requests and entry.refusal.limit.isdigit():
                    held["limits"].setdefault(entry.model_id, {})[entry.refusal.by] = int(entry.refusal.limit)
            return json.dumps(held)

        if model_ids or gone:
            await self._identity.revise_setting(user_id, COUNTERS_KEY, revised)

    async def model_quota(self, user_id: str, model_id: str) -> ModelQuota | None:
        """As `QuotaSource`; never says more than what was counted or refused."""
        now_s = self._clock.now_s()
        held = _held(await self._identity.get_setting(user_id, COUNTERS_KEY), now_s)
        used_today = int(held["today"].get(model_id, 0))
        used_minute = sum(1 for _, name in held["recent"] if name == model_id)
        refusal = _refusal(held["refusals"].get(model_id))
        limits = held["limits"].get(model_id, {})
        per_day, per_minute = limits.get("day"), limits.get("minute")
        if per_day is not None and used_today > per_day:  # answered beyond it: it was another key's or is no more
            per_day = None
        barred = refusal is not None and refusal.by == "day" and (refusal.until_s or 0.0) > now_s
        return ModelQuota(
            model=model_id,
            told_by="echo",
            rpd_lim=per_day,
            rpd_rem=0 if barred else None if per_day is None else max(0, per_day - used_today),
            rpm_lim=per_minute,
            rpm_rem=None if per_minute is None else max(0, per_minute - used_minute),
            used_today=used_today,
            used_minute=used_minute,
            refusal=refusal,
        )


def _held(text: str | None, now_s: float) -> dict[str, Any]:
    """The counters as far as they still count; damage is an empty start."""
    try:
        held = json.loads(text or "{}")
        recent = [(float(at_s), str(name)) for at_s, name in held.get("recent", [])]
        parts: dict[str, Any] = {name: dict(held.get(name, {})) for name in ("today", "refusals", "limits")}
    except (ValueError, TypeError, AttributeError):
        log.warning("a user's quota counters were not readable and begin anew")
        return _held(None, now_s)
    day = _google_day(now_s).isoformat()
    if held.get("day") != day:
        parts["today"] = {}
    return {"day": day, **parts, "recent": [(at_s, name) for at_s, name in recent if now_s - at_s < _MINUTE_S]}


def _refusal(held: Any) -> QuotaRefusal | None:
    if not isinstance(held, dict):
        return None
    try:
        return QuotaRefusal(**held)
    except TypeError:  # written by another version
        return None


def _until_s(by: RefusedBy, now_s: float, wait_s: float | None) -> float | None:
    if by == "tier":
        return None
    if by == "day":
        tomorrow = dt.datetime.combine(_google_day(now_s) + dt.timedelta(days=1), dt.time(), _google_zone())
        return tomorrow.timestamp()
    return now_s + (wait_s or (_SPEND_S if by == "spend" else _MINUTE_S))


def _google_day(now_s: float) -> dt.date:
    return dt.datetime.fromtimestamp(now_s, _google_zone()).date()


def _google_zone() -> dt.tzinfo:
    try:
        return ZoneInfo(_GOOGLE_ZONE)
    except ZoneInfoNotFoundError:  # a machine without time zones: winter time is near enough
        return dt.timezone(dt.timedelta(hours=-8))
