"""What arrived, oldest first, without secrets."""

import hashlib
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Ended = Literal["open", "complete", "reset_by_client", "reset_by_server"]

_SECRET_HEADERS: Final = frozenset({"x-goog-api-key", "authorization", "proxy-authorization", "cookie"})
_SECRET_FORM: Final = re.compile(
    r"(?P<name>\b(?:refresh_token|client_secret|code_verifier|access_token|token|code)=)(?P<value>[^&\s]+)"
)
_SECRET_JSON: Final = re.compile(
    r'(?P<name>"(?:refresh_token|client_secret|access_token|id_token)"\s*:\s*")(?P<value>[^"]+)'
)
_SECRET_QUERY: Final = re.compile(r"(?P<name>[?&](?:key|access_token|code|code_challenge|upload_id)=)(?P<value>[^&]+)")


def mask(secret: str) -> str:
    """A stand-in that tells two secrets apart and reveals neither."""
    return f"***{hashlib.sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def digest_of(signature: str) -> str:
    """Stands for a signature, which may have megabytes: 16 hex characters of its SHA-256."""
    return hashlib.sha256(signature.encode()).hexdigest()[:16]


def _masked(match: re.Match[str]) -> str:
    return match["name"] + mask(match["value"])


@dataclass(slots=True, kw_only=True)
class Entry:
    """One request.

    Attributes:
        body: its exact text; bytes that are no UTF-8 are shown escaped.
        signed: `digest_of` each signature in the answer, in order, so that a test can tell whose a signature is.
    """

    n: int
    method: str
    path: str
    http_version: str
    headers: dict[str, str]
    body: str
    body_bytes: int
    status: int = 0
    cached_tokens: int = 0
    prompt_tokens: int = 0
    ended: Ended = "open"
    signed: list[str] = field(default_factory=list)

    def public(self) -> dict[str, Any]:
        """The row as `GET /__sim__/requests` gives it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Journal:
    """The list behind `/__sim__/requests`.

    Args:
        kept_bytes: bodies of this much together are kept; the oldest rows go first, so that a demo can run for days.
    """

    kept_bytes: int = 256 * 1024 * 1024
    entries: deque[Entry] = field(default_factory=deque)
    _next: int = 1
    _bytes: int = 0

    def open(self, method: str, path: str, http_version: str, headers: list[tuple[bytes, bytes]], body: bytes) -> Entry:
        """Record a request that has fully arrived."""
        text = body.decode("utf-8", "backslashreplace")
        shown: dict[str, str] = {}
        is_form = False
        for raw_name, raw_value in headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            is_form = is_form or (name == "content-type" and "x-www-form-urlencoded" in value)
            value = mask(value) if name in _SECRET_HEADERS else value
            shown[name] = f"{shown[name]}, {value}" if name in shown else value
        if is_form:
            text = _SECRET_FORM.sub(_masked, text)
        elif "_token" in text or "client_secret" in text:
            text = _SECRET_JSON.sub(_masked, text)
        entry = Entry(
            n=self._next,
            method=method,
            path=_SECRET_QUERY.sub(_masked, path),
            http_version=http_version,
            headers=shown,
            body=text,
            body_bytes=len(body),
        )
        self._next += 1
        self._bytes += len(body)
        self.entries.append(entry)
        while self._bytes > self.kept_bytes and len(self.entries) > 1:
            self._bytes -= self.entries.popleft().body_bytes
        return entry

    def clear(self) -> None:
        """Empty the list; numbers start again at 1."""
        self.entries.clear()
        self._next, self._bytes = 1, 0
