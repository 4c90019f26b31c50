"""HTTP/2 for many parallel, long and often stopped streams: transport, SSE decoder, retries and circuit breaker."""

from echo_http._connection import ConnectionSettings
from echo_http.breaker import BreakerSettings, CircuitBreaker
from echo_http.clock import SystemClock
from echo_http.errors import (
    ConnectionLost,
    FirstByteTimeout,
    IdleTimeout,
    RequestNotProcessed,
    StreamResetByPeer,
    TlsSetupError,
)
from echo_http.proxies import ProxySettings
from echo_http.retry import (
    Failure,
    FailureKind,
    RetryPolicy,
    classify_error,
    classify_payload,
    error_of,
)
from echo_http.sse import RawBody, SseDecoder, SseTooLarge
from echo_http.timeouts import LIMITS_EXTENSION, StreamLimits
from echo_http.transport import EchoTransport, TransportSettings

__all__ = [
    "LIMITS_EXTENSION",
    "BreakerSettings",
    "CircuitBreaker",
    "ConnectionLost",
    "ConnectionSettings",
    "EchoTransport",
    "Failure",
    "FailureKind",
    "FirstByteTimeout",
    "IdleTimeout",
    "ProxySettings",
    "RawBody",
    "RequestNotProcessed",
    "RetryPolicy",
    "SseDecoder",
    "SseTooLarge",
    "StreamLimits",
    "StreamResetByPeer",
    "SystemClock",
    "TlsSetupError",
    "TransportSettings",
    "classify_error",
    "classify_payload",
    "error_of",
]
