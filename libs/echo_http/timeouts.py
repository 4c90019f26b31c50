"""Limits of one stream. Each stream has its own clock: a silent one never ends its siblings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

#: The request extension that carries a `StreamLimits`.
LIMITS_EXTENSION: Final = "echo_limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """How long one request may take in each phase, seconds; None = no limit.

    Args:
        connect_s: name look-up, TCP, proxy and TLS together, and waiting for a free slot.
        first_byte_s: from the last byte of the request to the first byte of the answer's body. Generous, because a
            model that thinks without showing its thoughts is silent for minutes.
        idle_s: silence between two pieces, while sending and while receiving.
    """

    connect_s: float | None = 10.0
    first_byte_s: float | None = 300.0
    idle_s: float | None = 120.0

    @classmethod
    def of(cls, extensions: Mapping[str, Any]) -> "StreamLimits":
        """Limits of a request: our own extension, else httpx's `timeout` extension (its read limit counts for both)."""
        own = extensions.get(LIMITS_EXTENSION)
        if isinstance(own, cls):
            return own
        timeout = extensions.get("timeout")
        if not timeout:
            return cls()
        read_s = timeout.get("read")
        return cls(connect_s=timeout.get("connect"), first_byte_s=read_s, idle_s=read_s)

    def as_httpx(self) -> dict[str, float | None]:
        """The nearest equivalent for httpx's own transport."""
        silence = None if self.first_byte_s is None or self.idle_s is None else max(self.first_byte_s, self.idle_s)
        return httpx.Timeout(silence, connect=self.connect_s, pool=self.connect_s).as_dict()
