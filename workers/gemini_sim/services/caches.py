"""Explicit caches: cachedContents with a life of its own."""

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import GoogleRefusal, invalid
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.times import epoch_s, seconds, timestamp
from echo_workers.gemini_sim.core.tokens import Segment

#: Source: context caching, documented (one hour).
_LIFE_DEFAULT_S: Final = 3_600.0


def no_such_cache() -> GoogleRefusal:
    """Missing, expired or somebody else's. Source: third-party (403)."""
    return GoogleRefusal(403, "CachedContent not found (or permission denied)")


@dataclass(slots=True, kw_only=True)
class CachedContent:
    """One cache.

    Args:
        request: the CachedContent message with camelCase names; its contents come before a request's own.
        segments: the prompt that it holds.
    """

    id: str
    owner: str
    model: str
    request: dict[str, Any]
    segments: tuple[Segment, ...]
    created_s: float
    updated_s: float
    expires_s: float

    @property
    def tokens(self) -> int:
        """What a request that uses it counts as cached."""
        return sum(segment.tokens for segment in self.segments)

    def resource(self) -> dict[str, Any]:
        """The `CachedContent` object. Source: recorded shape."""
        return {
            "name": f"cachedContents/{self.id}",
            "model": f"models/{self.model}",
            "createTime": timestamp(self.created_s),
            "updateTime": timestamp(self.updated_s),
            "expireTime": timestamp(self.expires_s),
            "displayName": self.request.get("displayName", ""),
            "usageMetadata": {"totalTokenCount": self.tokens},
        }


def _expiry(body: dict[str, Any], now_s: float) -> float:
    if "ttl" in body and "expireTime" in body:
        raise invalid("Only one of ttl and expire_time may be set.")
    if "expireTime" in body:
        at_s = epoch_s(body["expireTime"])
    else:
        at_s = now_s + (seconds(body["ttl"]) if "ttl" in body else _LIFE_DEFAULT_S)
    if at_s <= now_s:
        raise invalid("expire_time must be in the future.")
    return at_s


@dataclass(slots=True)
class CacheStore:
    """Caches of all keys; a key stands for its project."""

    _caches: dict[str, CachedContent] = field(default_factory=dict)
    _count: int = 0

    def create(
        self, owner: str, model: ServerModel, request: dict[str, Any], segments: list[Segment], now_s: float
    ) -> CachedContent:
        """Keep a prompt.

        Raises:
            GoogleRefusal: 400, too small (third-party wording, minimum by model) or an expiry that makes no sense.
        """
        total = sum(segment.tokens for segment in segments)
        smallest = model.cache_min_tokens if model.explicit_min_tokens is None else model.explicit_min_tokens
        if total < smallest:
            raise invalid(f"Cached content is too small. total_token_count={total}, min_total_token_count={smallest}")
        self._count += 1
        digest = hashlib.sha256(f"cache{self._count}".encode()).digest()
        cache = CachedContent(
            id=base64.b32encode(digest).decode().lower()[:40],
            owner=owner,
            model=model.id,
            request=request,
            segments=tuple(segments),
            created_s=now_s,
            updated_s=now_s,
            expires_s=_expiry(request, now_s),
        )
        self._caches[cache.id] = cache
        return cache

    def get(self, owner: str, name: str, now_s: float) -> CachedContent:
        """A live cache of this owner.

        Raises:
            GoogleRefusal: 403.
        """
        cache = self._caches.get(name.removeprefix("cachedContents/"))
        if cache is None or cache.owner != owner or now_s >= cache.expires_s:
            raise no_such_cache()
        return cache

    def listed(self, owner: str, now_s: float) -> list[CachedContent]:
        """Live caches of an owner."""
        return [cache for cache in self._caches.values() if cache.owner == owner and now_s < cache.expires_s]

    def extend(self, owner: str, name: str, body: dict[str, Any], now_s: float) -> CachedContent:
        """Change the expiry, the only thing that may change. Raises as `get` and `create`."""
        cache = self.get(owner, name, now_s)
        if not {"ttl", "expireTime"} & set(body):
            raise invalid("Only ttl or expire_time can be updated.")
        cache.expires_s, cache.updated_s = _expiry(body, now_s), now_s
        return cache

    def delete(self, owner: str, name: str, now_s: float) -> None:
        """Remove a cache. Raises as `get`."""
        del self._caches[self.get(owner, name, now_s).id]
