"""What quota records mean: absent is nothing, unknown is not full."""

import datetime as dt

import pytest

from echo_core.quota import (
    ModelQuota,
    QuotaRefusal,
    QuotaWindow,
    code_assist_quota,
    quota_fields,
    reset_text,
)

MODEL = "gemini-3-flash-agent"
NOW_S = dt.datetime(2026, 9, 3, 15, 17, tzinfo=dt.UTC).timestamp()
#: As recorded on 2026-09-03; see research, Code Assist.
SUMMARY = {
    "groups": [
        {
            "displayName": "Gemini Models",
            "buckets": [
                {
                    "bucketId": "gemini-weekly",
                    "window": "weekly",
                    "resetTime": "2026-09-10T15:08:08Z",
                    "remainingFraction": 0.9995751,
                },
                {"bucketId": "gemini-5h", "window": "5h", "resetTime": "2026-09-03T20:08:08Z"},
            ],
        },
        {
            "displayName": "Claude and GPT models",
            "buckets": [
                {"bucketId": "3p-weekly", "window": "weekly", "remainingFraction": 1},
                {"bucketId": "3p-5h", "window": "5h", "remainingFraction": 1, "disabled": True},
            ],
        },
    ]
}


def fields(quota: ModelQuota | None) -> dict[str, object]:
    return quota_fields(quota, NOW_S, dt.UTC)


def test_a_bucket_without_a_fraction_is_empty_and_not_full() -> None:
    quota = code_assist_quota(SUMMARY, MODEL)
    assert quota is not None
    assert quota.exhausted(NOW_S)
    told = fields(quota)
    assert told["quota_5h_fraction"] == 0.0
    assert told["quota_5h_reset"] == "20:08 (292 min)"
    assert told["quota_weekly_fraction"] == pytest.approx(0.9995751)
    assert told["quota_5h_disabled"] is False


@pytest.mark.parametrize("record", [{}, {"quotaInfo": {}}, {"groups": []}, {"groups": [{"buckets": [{}]}]}])
def test_an_empty_record_is_unknown(record: dict[str, object]) -> None:
    assert code_assist_quota(record, MODEL) is None
    told = fields(None)
    assert told["quota_5h_fraction"] is None
    assert told["quota_weekly_fraction"] is None
    assert {told[name] for name in ("quota_5h_reset", "quota_weekly_reset", "quota_rpd_rem", "quota_rpm_lim")} == {"–"}


def test_other_models_have_their_own_group() -> None:
    quota = code_assist_quota(SUMMARY, "claude-sonnet")
    assert quota is not None
    assert quota.weekly == QuotaWindow(fraction=1.0)
    assert fields(quota)["quota_5h_disabled"] is True
    assert not quota.exhausted(NOW_S)


def test_the_other_two_records_are_read_too() -> None:
    reset = "2026-08-22T17:36:20Z"
    listed = code_assist_quota({"quotaInfo": {"remainingFraction": 0.9783466, "resetTime": reset}}, MODEL)
    assert listed is not None and listed.five_hours is not None
    assert listed.five_hours.fraction == pytest.approx(0.9783466)
    buckets = [{"modelId": "other", "remainingFraction": 1.0}, {"modelId": MODEL, "remainingFraction": 0.25}]
    by_model = code_assist_quota({"buckets": buckets}, MODEL)
    assert by_model is not None and by_model.five_hours is not None
    assert by_model.five_hours.fraction == 0.25
    assert code_assist_quota({"buckets": buckets}, "third") is None


@pytest.mark.parametrize("fraction", ["much", None, float("nan"), -1, [1]])
def test_a_fraction_that_is_none_counts_as_nothing_left(fraction: object) -> None:
    quota = code_assist_quota({"quotaInfo": {"remainingFraction": fraction, "resetTime": "soon"}}, MODEL)
    assert quota is not None
    assert quota.five_hours == QuotaWindow(fraction=0.0)


def test_a_weekly_limit_that_is_used_up_bars_though_the_short_one_is_full() -> None:
    quota = ModelQuota(
        model=MODEL, told_by="server", five_hours=QuotaWindow(fraction=1.0), weekly=QuotaWindow(fraction=0.0)
    )
    assert quota.exhausted(NOW_S)


def test_a_refusal_bars_only_until_its_end() -> None:
    refusal = QuotaRefusal(by="minute", at_s=NOW_S, until_s=NOW_S + 56)
    quota = ModelQuota(model=MODEL, told_by="echo", refusal=refusal)
    assert quota.exhausted(NOW_S + 55)
    assert not quota.exhausted(NOW_S + 57)
    never = ModelQuota(model=MODEL, told_by="echo", refusal=QuotaRefusal(by="tier", at_s=NOW_S, until_s=None))
    assert never.exhausted(NOW_S + 1e9)


@pytest.mark.parametrize(
    ("in_s", "text"), [(0, "15:17 (0 min)"), (1, "15:17 (1 min)"), (3_600, "16:17 (60 min)"), (-90, "15:15 (0 min)")]
)
def test_a_reset_is_a_time_of_day_and_minutes(in_s: float, text: str) -> None:
    assert reset_text(NOW_S + in_s, NOW_S, dt.UTC) == text


def test_the_time_of_day_is_the_readers() -> None:
    assert reset_text(NOW_S, NOW_S, dt.timezone(dt.timedelta(hours=2))) == "17:17 (0 min)"
    assert reset_text(None, NOW_S, dt.UTC) == "–"
