"""How much of a model's quota is left, and who says so.

Code Assist reports shares that remain; AI Studio reports nothing, so there ECHO's own counters and Google's last
refusal stand in, labelled as such. Source: docs/design.md section 9.
"""

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

#: Stands for what is not known.
UNKNOWN: Final = "–"

RefusedBy = Literal["minute", "day", "tier", "spend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaWindow:
    """What is left of one sliding limit.

    Args:
        fraction: 0 to 1.
        reset_s: when it is full again, epoch seconds; None where the server does not say.
        disabled: the server says that this limit does not apply.
    """

    fraction: float
    reset_s: float | None = None
    disabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRefusal:
    """The last time Google refused a request because of a quota.

    Args:
        by: which limit.
        at_s: when, epoch seconds.
        until_s: until when asking again makes no sense, epoch seconds; None when that is not known.
        limit: as Google gave it, "" when it did not.
    """

    by: RefusedBy
    at_s: float
    until_s: float | None
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuota:
    """The quota of one model for one user.

    Args:
        model: the backend's id.
        told_by: the server itself, or ECHO's own counters.
        five_hours: None = not known.
        weekly: None = not known.
        rpd_rem: requests left today, None = not known; `rpd_lim` of how many.
        rpm_rem: requests left in this minute, None = not known; `rpm_lim` of how many.
        used_today: requests that ECHO counted since midnight Pacific time, None where it does not count.
        used_minute: requests that ECHO counted within the last minute.
        refusal: the last one that may still matter.
    """

    model: str
    told_by: Literal["server", "echo"]
    five_hours: QuotaWindow | None = None
    weekly: QuotaWindow | None = None
    rpd_rem: int | None = None
    rpd_lim: int | None = None
    rpm_rem: int | None = None
    rpm_lim: int | None = None
    used_today: int | None = None
    used_minute: int | None = None
    refusal: QuotaRefusal | None = None

    def exhausted(self, now_s: float) -> bool:
        """Whether the next request would be refused, as far as anybody knows."""
        windows = [window for window in (self.five_hours, self.weekly) if window is not None and not window.disabled]
        refused = self.refusal
        barred = refused is not None and (refused.by == "tier" or (refused.until_s or 0.0) > now_s)
        return barred or any(window.fraction <= 0 for window in windows) or self.rpd_rem == 0


class QuotaSource(Protocol):
    """Knows the quota of a user's models."""

    async def model_quota(self, user_id: str, model_id: str) -> ModelQuota | None:
        """What is known, None when nothing is. Raises StateError."""
        ...


def quota_fields(quota: ModelQuota | None, now_s: float, zone: dt.tzinfo) -> dict[str, Any]:
    """The quota under the names that `EchoUI.deploy_context_gauge` takes.

    Args:
        quota: None leaves everything unknown.
        now_s: epoch seconds.
        zone: the reader's, for the times of day.
    """
    held = quota or ModelQuota(model="", told_by="echo")
    counts = {
        "quota_rpd_rem": held.rpd_rem,
        "quota_rpd_lim": held.rpd_lim,
        "quota_rpm_rem": held.rpm_rem,
        "quota_rpm_lim": held.rpm_lim,
    }
    return {
        "quota_model": held.model,
        **_window_fields("quota_5h", held.five_hours, now_s, zone),
        "quota_5h_disabled": held.five_hours is not None and held.five_hours.disabled,
        **_window_fields("quota_weekly", held.weekly, now_s, zone),
        **{name: UNKNOWN if count is None else count for name, count in counts.items()},
    }


def reset_text(reset_s: float | None, now_s: float, zone: dt.tzinfo) -> str:
    """`HH:MM (X min)`: the time of day of a reset and the minutes until then, rounded up."""
    if reset_s is None:
        return UNKNOWN
    minutes = max(0, math.ceil((reset_s - now_s) / 60))
    return f"{dt.datetime.fromtimestamp(reset_s, zone):%H:%M} ({minutes} min)"


def code_assist_quota(record: Mapping[str, Any], model_id: str) -> ModelQuota | None:
    """Read what Code Assist says about one model.

    Three records are understood: `retrieveUserQuotaSummary` (groups with a five-hour and a weekly bucket),
    `retrieveUserQuota` (buckets by model) and an entry of `fetchAvailableModels` (`quotaInfo`).
    Source: research, recorded answers of 2026-08 and 2026-09.

    Args:
        record: the decoded answer.
        model_id: chooses the bucket or the group.

    Returns:
        None when the record says nothing about the model: unknown, never full. A bucket that is there without
        `remainingFraction` is empty, because proto3 leaves out zeros.
    """
    windows: dict[str, QuotaWindow] = {}
    for bucket in _buckets(record, model_id):
        name = "weekly" if bucket.get("window") == "weekly" else "5h"
        window = _window(bucket)
        if name not in windows or window.fraction < windows[name].fraction:
            windows[name] = window
    if not windows:
        return None
    return ModelQuota(
        model=model_id, told_by="server", five_hours=windows.get("5h"), weekly=windows.get("weekly"), rpd_rem=None
    )


def _window_fields(name: str, window: QuotaWindow | None, now_s: float, zone: dt.tzinfo) -> dict[str, Any]:
    if window is None:
        return {f"{name}_fraction": None, f"{name}_reset": UNKNOWN}
    return {f"{name}_fraction": window.fraction, f"{name}_reset": reset_text(window.reset_s, now_s, zone)}


def _buckets(record: Mapping[str, Any], model_id: str) -> Iterator[Mapping[str, Any]]:
    info = record.get("quotaInfo")
    if isinstance(info, Mapping) and info:
        yield info
    yield from (bucket for bucket in _maps(record.get("buckets")) if bucket.get("modelId") == model_id)
    gemini = "gemini" in model_id.lower()
    for group in _maps(record.get("groups")):
        for bucket in _maps(group.get("buckets")):
            if str(bucket.get("bucketId", "")).startswith("gemini") == gemini:
                yield bucket


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping) and item] if isinstance(value, list) else []


def _window(bucket: Mapping[str, Any]) -> QuotaWindow:
    inner = bucket.get("remaining")
    held = inner if isinstance(inner, Mapping) else bucket
    fraction = held.get("remainingFraction", 0.0)
    known = isinstance(fraction, int | float) and math.isfinite(fraction)
    return QuotaWindow(
        fraction=min(1.0, max(0.0, float(fraction))) if known else 0.0,
        reset_s=_epoch_s(bucket.get("resetTime")),
        disabled=bucket.get("disabled") is True,
    )


def _epoch_s(text: object) -> float | None:
    try:
        moment = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None
