"""From wire failures to ECHO's errors. Pure."""

import ssl
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import httpx

from echo_constants import EchoError
from echo_gemini_client import errors
from echo_http import ConnectionLost, Failure, FailureKind, RequestNotProcessed, StreamResetByPeer, TlsSetupError
from echo_utils.secrets import mask_secrets

_CLASSES: Final[dict[FailureKind, type[EchoError]]] = {
    FailureKind.KEY_MISSING: errors.KeyMissing,
    FailureKind.KEY_REJECTED: errors.KeyRejected,
    FailureKind.MODEL_NOT_FOUND: errors.ModelNotFound,
    FailureKind.REGION: errors.RegionUnsupported,
    FailureKind.PERMISSION: errors.PermissionRefused,
    FailureKind.TERMS: errors.TermsViolation,
    FailureKind.ACCOUNT: errors.AccountVerification,
    FailureKind.QUOTA_MINUTE: errors.QuotaPerMinute,
    FailureKind.QUOTA_DAY: errors.QuotaPerDay,
    FailureKind.QUOTA_TIER: errors.QuotaNotInTier,
    FailureKind.SPEND: errors.SpendLimit,
    FailureKind.CAPACITY: errors.ModelOverloaded,
    FailureKind.SERVER: errors.ServerFailed,
    FailureKind.CONTEXT: errors.ContextTooLarge,
    FailureKind.SIGNATURE: errors.SignatureRefused,
    FailureKind.REQUEST: errors.RequestRefused,
}
_MAX_DETAIL_CHARS: Final = 2_000
_ACCOUNT_URL: Final = "https://myaccount.google.com"


def error_from_failure(failure: Failure, *, model: str, secrets: Iterable[str]) -> EchoError:
    """The error for an answer of Gemini; its detail holds Google's text without credentials."""
    parts = (str(failure.http_status), failure.status, failure.reason, failure.quota_id, failure.message)
    detail = mask_secrets(" ".join(part for part in parts if part), secrets)[:_MAX_DETAIL_CHARS]
    url = failure.url if _is_google(failure.url) else _ACCOUNT_URL
    return _CLASSES[failure.kind](
        detail,
        retry_after_s=failure.retry_after_s,
        model=failure.model or model,
        limit=failure.limit,
        quota_id=failure.quota_id,
        url=url,
    )


def error_from_transport(error: httpx.HTTPError, *, received: bool, secrets: Iterable[str]) -> EchoError:
    """The error for a failed connection or stream.

    Args:
        error: from the transport.
        received: whether anything of the answer had arrived.
        secrets: credentials of this request.
    """
    detail = mask_secrets(f"{type(error).__name__}: {error}", secrets)[:_MAX_DETAIL_CHARS]
    if isinstance(error, TlsSetupError) or isinstance(error.__cause__, ssl.SSLError):
        return errors.TlsFailed(detail)
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol):
        return errors.NetworkUnreachable(detail)
    if isinstance(error, httpx.PoolTimeout):
        return errors.ModelOverloaded(detail)
    if isinstance(error, RequestNotProcessed):
        return errors.ServerFailed(detail)  # several times in a row; trying later is safe
    if isinstance(error, httpx.TimeoutException):
        return errors.TimedOut(detail, received=received)
    if isinstance(
        error, StreamResetByPeer | ConnectionLost | httpx.NetworkError | httpx.RemoteProtocolError | httpx.DecodingError
    ):
        return errors.StreamBroken(detail, received=received)
    return errors.RequestRefused(detail)


def _is_google(url: str) -> bool:
    """A link that we show must lead where it says, whoever wrote the error."""
    parts = urlsplit(url)
    return parts.scheme == "https" and f".{parts.hostname or ''}".endswith(".google.com")
