"""What an error answer of Gemini means, and whether and when to try again. Pure.

Source: the error envelope and its texts as recorded or quoted from the service; delays over 300 s count as
final, as in gemini-cli.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from echo_http.durations import DURATION_PATTERN, parse_duration_s


class FailureKind(StrEnum):
    """Why Gemini refused or failed."""

    KEY_MISSING = "key_missing"
    KEY_REJECTED = "key_rejected"
    MODEL_NOT_FOUND = "model_not_found"
    REGION = "region"
    PERMISSION = "permission"
    TERMS = "terms"
    ACCOUNT = "account"
    QUOTA_MINUTE = "quota_minute"
    QUOTA_DAY = "quota_day"
    QUOTA_TIER = "quota_tier"
    SPEND = "spend"
    CAPACITY = "capacity"
    SERVER = "server"
    CONTEXT = "context"
    SIGNATURE = "signature"
    REQUEST = "request"


#: Kinds that pass by themselves within seconds or minutes.
WAITING_KINDS: Final = frozenset({FailureKind.QUOTA_MINUTE, FailureKind.CAPACITY, FailureKind.SERVER})

#: A 429 that asks for more than this is no per-minute limit. Source: the published source of gemini-cli.
LONGEST_MINUTE_WAIT_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One classified error answer.

    Args:
        http_status: of the answer, or the `code` inside it when the error came in the middle of a stream.
        status: Google's name of it, such as RESOURCE_EXHAUSTED; "" when absent.
        message: Google's text; may hold parts of the request, so it belongs in the log only.
        retry_after_s: as asked by the server; None when it did not say.
        quota_id, quota_metric, limit: from QuotaFailure, "" when absent.
        url: where the user can act (account verification, help), "" when absent.
    """

    kind: FailureKind
    http_status: int
    status: str = ""
    message: str = ""
    reason: str = ""
    retry_after_s: float | None = None
    quota_id: str = ""
    quota_metric: str = ""
    limit: str = ""
    model: str = ""
    url: str = ""

    @property
    def waits(self) -> bool:
        """Whether waiting helps; terminal kinds need somebody to act, or tomorrow."""
        return self.kind in WAITING_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long to try again.

    Args:
        max_attempts: requests in all, the first included.
        max_total_wait_s: sum of all waits; a longer one ends the trying at once.
        base_s, cap_s: the first wait and the longest one where the server did not say; doubled each time.
        jitter: share that is added at random, so that many clients do not come back together.
    """

    max_attempts: int = 4
    max_total_wait_s: float = 60.0
    base_s: float = 1.0
    cap_s: float = 20.0
    jitter: float = 0.25

    def wait_s(
        self, retry_after_s: float | None, *, attempts: int, waited_s: float, random: Callable[[], float]
    ) -> float | None:
        """Seconds to wait before the next attempt, None = give up.

        Args:
            retry_after_s: what the server asked for; never undercut.
            attempts: requests made so far.
            waited_s: seconds waited so far.
            random: values in [0, 1).
        """
        if attempts >= self.max_attempts:
            return None
        asked_s = min(self.cap_s, self.base_s * 2 ** (attempts - 1)) if retry_after_s is None else retry_after_s
        wait_s = asked_s + asked_s * self.jitter * random()
        if waited_s + wait_s <= self.max_total_wait_s:
            return wait_s
        return asked_s if waited_s + asked_s <= self.max_total_wait_s else None


def classify_error(http_status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Failure:
    """Classify an error answer; any body is accepted, also HTML, an array around the error, or nothing."""
    error = error_of(_loads(body)) or {}
    retry_after_s = _number((headers or {}).get("retry-after"))
    return classify_payload(error, http_status=http_status, retry_after_s=retry_after_s)


def error_of(value: object) -> dict[str, Any] | None:
    """The `error` object of a decoded answer (bare, or first in an array), None when it is no error."""
    if isinstance(value, list):
        return next((found for item in value if (found := error_of(item)) is not None), None)
    if not isinstance(value, dict) or "error" not in value or "candidates" in value:
        return None
    error = value["error"]
    return error if isinstance(error, dict) else {"message": str(error)}


def classify_payload(error: Mapping[str, Any], *, http_status: int = 0, retry_after_s: float | None = None) -> Failure:
    """Classify the inner `error` object, as it also comes in the middle of a stream."""
    error = _unwrapped(error)
    details = [item for item in _list(error.get("details")) if isinstance(item, dict)]
    info = _detail(details, "ErrorInfo")
    metadata = _dict(info.get("metadata"))
    message = _text(error.get("message"))
    code = error.get("code")
    status_code = code if isinstance(code, int) and not isinstance(code, bool) and code else http_status
    violations = [item for item in _list(_detail(details, "QuotaFailure").get("violations")) if isinstance(item, dict)]
    first = violations[0] if violations else {}
    delay_s = _delay_s(details, metadata, message)
    facts = _Facts(
        code=status_code,
        status=_text(error.get("status")),
        message=message,
        reason=_text(info.get("reason")),
        quota_ids=tuple(_text(item.get("quotaId")) for item in violations),
        limits=tuple(_text(item.get("quotaValue")) for item in violations),
        delay_s=retry_after_s if delay_s is None else delay_s,
    )
    return Failure(
        kind=_kind(facts),
        http_status=status_code,
        status=facts.status,
        message=message,
        reason=facts.reason,
        retry_after_s=facts.delay_s,
        quota_id=_text(first.get("quotaId")),
        quota_metric=_text(first.get("quotaMetric")),
        limit=_text(first.get("quotaValue")),
        model=_text(_dict(first.get("quotaDimensions")).get("model")) or _text(metadata.get("model")),
        url=_url(details, metadata),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    code: int
    status: str
    message: str
    reason: str
    quota_ids: tuple[str, ...]
    limits: tuple[str, ...]
    delay_s: float | None


Rule = tuple[FailureKind, Callable[[_Facts], bool]]


def _says(pattern: str) -> Callable[[_Facts], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda facts: compiled.search(facts.message) is not None


def _because(*reasons: str) -> Callable[[_Facts], bool]:
    return lambda facts: facts.reason in reasons


def _is_429(facts: _Facts) -> bool:
    return facts.code == 429 or facts.status == "RESOURCE_EXHAUSTED"


_limit_zero = _says(r"\blimit: 0(?![.\d])")
_spend = _says(r"spend(?:ing)? (?:limit|cap)|prepa(?:id|yment) credits|credit balance")
_names_a_model = _says(r"\bmodels?\b|requested entity was not found")
_short_of_capacity = _says(r"no capacity available|overloaded|experiencing high demand|capacity exceeded")

#: First match wins. Texts: recorded, or quoted by users.
_RULES: Final[tuple[Rule, ...]] = (
    (FailureKind.TERMS, _says(r"violation of (?:the )?terms of service")),
    (FailureKind.ACCOUNT, _because("VALIDATION_REQUIRED")),
    (FailureKind.ACCOUNT, _says(r"verify your account")),
    (FailureKind.KEY_REJECTED, _because("API_KEY_INVALID", "API_KEY_EXPIRED", "ACCESS_TOKEN_EXPIRED")),
    (FailureKind.KEY_REJECTED, _says(r"api key (?:not valid|not found|expired)|key was reported as leaked")),
    (FailureKind.KEY_MISSING, _says(r"unregistered callers|api key is missing")),
    (FailureKind.REGION, _says(r"user location is not supported")),
    (FailureKind.CONTEXT, _says(r"token count.*exceeds the maximum number of tokens")),
    (FailureKind.SIGNATURE, lambda facts: facts.code == 400 and _says(r"thought[_ ]signature")(facts)),
    (FailureKind.SPEND, _because("INSUFFICIENT_G1_CREDITS_BALANCE")),
    (FailureKind.SPEND, lambda facts: _is_429(facts) and (_spend(facts) or "Spend" in "".join(facts.quota_ids))),
    (FailureKind.QUOTA_TIER, lambda facts: _is_429(facts) and ("0" in facts.limits or _limit_zero(facts))),
    (FailureKind.QUOTA_DAY, lambda facts: _is_429(facts) and any("PerDay" in quota for quota in facts.quota_ids)),
    (FailureKind.QUOTA_DAY, _because("QUOTA_EXHAUSTED")),
    (FailureKind.CAPACITY, _because("MODEL_CAPACITY_EXHAUSTED", "MODEL_CAPACITY_EXCEEDED")),
    (FailureKind.CAPACITY, lambda facts: (_is_429(facts) or facts.code == 503) and _short_of_capacity(facts)),
    (FailureKind.QUOTA_DAY, lambda facts: _is_429(facts) and (facts.delay_s or 0) > LONGEST_MINUTE_WAIT_S),
    (FailureKind.QUOTA_MINUTE, _is_429),
    (FailureKind.CAPACITY, lambda facts: facts.code == 503),
    (FailureKind.SERVER, lambda facts: facts.code in (408, 499) or facts.code >= 500),
    (FailureKind.KEY_REJECTED, lambda facts: facts.code == 401),
    (FailureKind.PERMISSION, lambda facts: facts.code == 403),
    (FailureKind.MODEL_NOT_FOUND, lambda facts: facts.code == 404 and _names_a_model(facts)),
)


def _kind(facts: _Facts) -> FailureKind:
    return next((kind for kind, matches in _RULES if matches(facts)), FailureKind.REQUEST)


_DELAY_IN_TEXT: Final = re.compile(rf"(?:retry in|reset after|resets in)\s+{DURATION_PATTERN}", re.IGNORECASE)


def _delay_s(details: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any], message: str) -> float | None:
    """RetryInfo, else quotaResetDelay, else the text."""
    for value in (_detail(details, "RetryInfo").get("retryDelay"), metadata.get("quotaResetDelay")):
        delay_s = parse_duration_s(value) if isinstance(value, str) else None
        if delay_s is not None:
            return delay_s
    found = _DELAY_IN_TEXT.search(message)
    return parse_duration_s(found[1]) if found else None


def _url(details: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any]) -> str:
    links = _list(_detail(details, "Help").get("links"))
    help_url = _text(links[0].get("url")) if links and isinstance(links[0], dict) else ""
    return _text(metadata.get("validation_url")) or help_url


def _unwrapped(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some gateways put the whole error once more, as text, into the message."""
    message = _text(error.get("message")).strip()
    inner = error_of(_loads(message.encode())) if message.startswith(("{", "[")) else None
    return inner or error


def _detail(details: Iterable[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    return next((item for item in details if _text(item.get("@type")).endswith(f".{kind}")), {})


def _loads(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,9}", text.strip()) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
