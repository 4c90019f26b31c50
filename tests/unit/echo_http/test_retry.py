import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_http import Failure, FailureKind, RetryPolicy, classify_error, classify_payload, error_of
from echo_http.durations import parse_duration_s

TYPE = "type.googleapis.com/google.rpc."


def body(code: int, message: str = "", status: str = "", *details: dict[str, object]) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "status": status, "details": details}}).encode()


def info(reason: str, **metadata: str) -> dict[str, object]:
    return {"@type": TYPE + "ErrorInfo", "reason": reason, "metadata": metadata}


def quota(quota_id: str, value: str = "2") -> dict[str, object]:
    violation = {"quotaId": quota_id, "quotaMetric": "m", "quotaValue": value, "quotaDimensions": {"model": "gemini-x"}}
    return {"@type": TYPE + "QuotaFailure", "violations": [violation]}


def delay(text: str) -> dict[str, object]:
    return {"@type": TYPE + "RetryInfo", "retryDelay": text}


ANSWERS = {
    FailureKind.KEY_REJECTED: [
        body(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"),
        body(400, "x", "INVALID_ARGUMENT", info("API_KEY_INVALID")),
        body(400, "API Key not found. Please pass a valid API key."),
        body(403, "Your API key was reported as leaked. Please use another API key."),
        body(401, "Request had invalid authentication credentials."),
    ],
    FailureKind.KEY_MISSING: [
        body(403, "Method doesn't allow unregistered callers (callers without established identity)."),
    ],
    FailureKind.MODEL_NOT_FOUND: [
        body(404, "models/x is not found for API version v1beta, or is not supported for generateContent."),
        body(404, "Requested entity was not found."),
    ],
    FailureKind.REQUEST: [
        body(404, "Not found: cache content metadata 1."),
        body(400, 'Invalid JSON payload received. Unknown name "x"'),
    ],
    FailureKind.REGION: [
        body(400, "User location is not supported for the API use.", "FAILED_PRECONDITION"),
    ],
    FailureKind.PERMISSION: [
        body(403, "You do not have permission to access the File abc or it may not exist."),
    ],
    FailureKind.TERMS: [
        body(403, "This service has been disabled in this account for violation of Terms of Service."),
    ],
    FailureKind.ACCOUNT: [
        body(403, "Verify your account to continue.", "PERMISSION_DENIED", info("VALIDATION_REQUIRED")),
    ],
    FailureKind.CONTEXT: [
        body(400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576)."),
    ],
    FailureKind.SIGNATURE: [
        body(400, "Function call is missing a thought_signature in functionCall parts."),
        body(400, "Corrupted thought signature."),
    ],
    FailureKind.QUOTA_MINUTE: [
        body(429, "", "RESOURCE_EXHAUSTED", quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")),
        body(429, "* Quota exceeded for metric: m, limit: 0.5, model: gemini-x"),
        body(429, "Resource has been exhausted (e.g. check quota)."),
        body(429, "x", "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED"), delay("0.5s")),
    ],
    FailureKind.QUOTA_DAY: [
        body(429, "", "RESOURCE_EXHAUSTED", quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")),
        body(429, "x", "RESOURCE_EXHAUSTED", info("QUOTA_EXHAUSTED"), delay("581981.3s")),
        body(429, "x", "RESOURCE_EXHAUSTED", delay("301s")),
    ],
    FailureKind.QUOTA_TIER: [
        body(429, "", "RESOURCE_EXHAUSTED", quota("GenerateRequestsPerMinutePerProjectPerModel", "0")),
        body(429, "* Quota exceeded for metric: m, limit: 0, model: gemini-x\nPlease retry in 5s."),
    ],
    FailureKind.SPEND: [
        body(429, "Your project has exceeded its spend limit."),
        body(429, "x", "RESOURCE_EXHAUSTED", info("INSUFFICIENT_G1_CREDITS_BALANCE")),
    ],
    FailureKind.CAPACITY: [
        body(429, "No capacity available for model x on the server"),
        body(503, "The model is overloaded. Please try again later.", "UNAVAILABLE"),
        body(503, "x", "UNAVAILABLE", info("MODEL_CAPACITY_EXHAUSTED")),
    ],
    FailureKind.SERVER: [
        body(500, "An internal error has occurred.", "INTERNAL"),
        body(504, "Deadline expired before operation could complete."),
        body(499, "The operation was cancelled.", "CANCELLED"),
    ],
}


@pytest.mark.parametrize(("kind", "answer"), [(kind, one) for kind, several in ANSWERS.items() for one in several])
def test_each_text_of_google_has_its_kind(kind: FailureKind, answer: bytes) -> None:
    status = json.loads(answer)["error"]["code"]
    assert classify_error(status, answer).kind is kind
    assert classify_error(status, b"[" + answer + b"]").kind is kind, "some endpoints wrap it in an array"
    assert classify_payload(json.loads(answer)["error"]).kind is kind, "the same in the middle of a stream"


def test_the_quota_is_named() -> None:
    failure = classify_error(429, body(429, "m", "RESOURCE_EXHAUSTED", quota("PerMinuteX"), delay("56s")))
    assert (failure.quota_id, failure.quota_metric, failure.limit, failure.model) == (
        "PerMinuteX",
        "m",
        "2",
        "gemini-x",
    )
    assert failure.retry_after_s == 56
    assert failure.waits


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (body(429, "x", "", delay("56s")), 56),
        (body(429, "Please retry in 9s.", "", delay("56s")), 56),
        (body(429, "x", "", info("RATE_LIMIT_EXCEEDED", quotaResetDelay="539.477544ms")), 0.539477544),
        (body(429, "... \nPlease retry in 56.185908122s."), 56.185908122),
        (body(429, "Your quota will reset after 161h39m41s."), 581_981),
        (body(429, "Individual quota reached. Resets in 9h22m20s."), 33_740),
        (body(429, "Please retry later."), None),
    ],
)
def test_the_wait_comes_from_details_then_metadata_then_text(answer: bytes, seconds: float | None) -> None:
    assert classify_error(429, answer).retry_after_s == pytest.approx(seconds)


def test_retry_after_counts_when_google_says_nothing() -> None:
    assert classify_error(503, b"<html>", {"retry-after": "7"}).retry_after_s == 7
    assert classify_error(503, b"<html>", {"retry-after": "soon"}).retry_after_s is None


def test_an_error_wrapped_as_text_once_more_is_understood() -> None:
    inner = body(429, "Please retry in 5s.", "RESOURCE_EXHAUSTED").decode()
    failure = classify_error(500, body(500, inner))
    assert (failure.kind, failure.http_status, failure.retry_after_s) == (FailureKind.QUOTA_MINUTE, 429, 5)


@pytest.mark.recordings
def test_a_recorded_429_is_read(recordings: Path) -> None:
    path = recordings / "vercel__ai/packages/google/src/__fixtures__/google-429-retry-info.json"
    failure = classify_error(429, path.read_bytes())
    assert (failure.kind, failure.retry_after_s) == (FailureKind.QUOTA_MINUTE, 34.4)


KEYS = ["error", "code", "message", "status", "details", "@type", "violations", "metadata", "retryDelay", "links"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=6,
)


@given(st.integers(0, 999), st.one_of(st.binary(max_size=100), JSON.map(lambda value: json.dumps(value).encode())))
def test_any_body_gets_a_verdict(status: int, answer: bytes) -> None:
    assert isinstance(classify_error(status, answer), Failure)


def test_a_chunk_with_candidates_is_no_error() -> None:
    assert error_of({"candidates": [], "error": {"code": 1}}) is None
    assert error_of({"error": "text"}) == {"message": "text"}
    assert error_of([{"x": 1}, {"error": {"code": 5}}]) == {"code": 5}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("161h39m41.300432511s", 581_981.300432511),
        ("0.5s", 0.5),
        ("1500ms", 1.5),
        ("2m", 120),
        ("3us", 3e-6),
        ("0s", 0),
    ],
)
def test_durations_of_both_kinds(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "5", "1 s", "-1s", "1h2", "1e3s", "9" * 18 + "h"])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert parse_duration_s(text) is None


def wait(
    policy: RetryPolicy, retry_after_s: float | None, attempts: int = 1, waited_s: float = 0, random: float = 0.5
) -> float | None:
    return policy.wait_s(retry_after_s, attempts=attempts, waited_s=waited_s, random=lambda: random)


def test_waits_double_up_to_the_cap_with_jitter_on_top() -> None:
    policy = RetryPolicy(max_attempts=9, max_total_wait_s=1_000, base_s=1, cap_s=8, jitter=0.5)
    assert [wait(policy, None, attempts) for attempts in (1, 2, 3, 4, 5)] == [1.25, 2.5, 5, 10, 10]


@given(st.floats(0, 50), st.floats(0, 1, exclude_max=True), st.floats(0, 60))
def test_a_wait_is_never_shorter_than_asked_nor_longer_than_the_budget(
    asked_s: float, random: float, waited_s: float
) -> None:
    policy = RetryPolicy(max_total_wait_s=60)
    result = wait(policy, asked_s, waited_s=waited_s, random=random)
    if result is None:
        assert waited_s + asked_s > 60
    else:
        assert result >= asked_s
        assert waited_s + result <= 60


def test_the_last_attempt_is_the_last() -> None:
    assert wait(RetryPolicy(max_attempts=3), None, attempts=3) is None
