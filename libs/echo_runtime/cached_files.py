"""Explicit caching: while a chat goes on about a large file, Google keeps the beginning of its requests ready.

The administrator switches it on by the minutes that Google keeps a beginning. What is kept is noted in the chat's own
records under endpoint, key and model, so it never serves another chat, user or key. Whatever goes wrong with a cache,
the request is sent whole, as without one.
"""

import asyncio
import datetime as dt
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from anyio import to_thread

from echo_constants import EchoError
from echo_core.ports import Clock, GenerateRequest, OnWait, ShadowStore
from echo_core.usage import RoundUsage
from echo_gemini_client import GeminiCaches, PermissionRefused, RequestRefused
from echo_protocol import ModelInfo, Usage
from echo_protocol.attached import kept_files
from echo_protocol.explicit_cache import CacheSplit, split_for_cache
from echo_runtime.call import PipeCall
from echo_runtime.file_backend import FileBackend

log = logging.getLogger(__name__)

#: Key in `echo_settings`; the model follows.
CACHE_KEY: Final = "explicit_cache:"
#: A cache that ends sooner is not used any more. Source: our choice.
_MARGIN_S: Final = 30.0
#: Making a cache of a long film takes Google a while; a user does not wait longer. Source: our choice.
_CREATE_LIMIT_S: Final = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBeginning:
    """A cache at Google, or that there can be none.

    Args:
        key: of what it holds.
        name: `cachedContents/…`, "" where Google refused to make one.
        expires_s: epoch seconds; a refusal is forgotten then.
        tokens: how much is kept.
    """

    key: str
    name: str
    expires_s: float
    tokens: int = 0


class CachingBackend:
    """A ModelBackend over another one. One instance a call.

    Args:
        inner: resolves files and asks Google.
        caches: of the caller's key.
        store: the chat's records.
        scope: names endpoint and key.
        ttl_s: how long Google keeps a beginning.
        clock: for expiry.
        model_of: what is known of a model, by the backend's id.
        on_cost: told of what Google bills beside the answers.
    """

    def __init__(
        self,
        inner: FileBackend,
        caches: GeminiCaches,
        store: ShadowStore,
        *,
        scope: str,
        ttl_s: float,
        clock: Clock,
        model_of: Callable[[str], ModelInfo],
        on_cost: Callable[[RoundUsage], None],
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._caches = caches
        self._store = store
        self._scope = scope
        self._ttl_s = ttl_s
        self._clock = clock
        self._model_of = model_of
        self._on_cost = on_cost

    @asynccontextmanager
    async def stream_generate(
        self, request: GenerateRequest, *, on_wait: OnWait | None = None
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """As `ModelBackend.stream_generate`; a cache that Google does not know any more costs one try."""
        async with AsyncExitStack() as stack:
            sent = await self._shortened(request)
            try:
                chunks = await stack.enter_async_context(self._inner.stream_generate(sent, on_wait=on_wait))
            except (PermissionRefused, RequestRefused) as error:
                if sent is request:
                    raise
                log.info("a cache was refused, the request goes whole: %s", error)
                await self._store.save_setting(CACHE_KEY + request.model, "")
                chunks = await stack.enter_async_context(self._inner.stream_generate(request, on_wait=on_wait))
            yield chunks

    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        """As `ModelBackend.generate`; never from a cache."""
        return await self._inner.generate(request)

    async def count_tokens(self, request: GenerateRequest) -> int:
        """As `ModelBackend.count_tokens`."""
        return await self._inner.count_tokens(request)

    async def list_models(self) -> list[dict[str, Any]]:
        """As `ModelBackend.list_models`."""
        return await self._inner.list_models()

    async def _shortened(self, request: GenerateRequest) -> GenerateRequest:
        """The request without a beginning that Google keeps; the same one where nothing is kept."""
        if not self._model_of(request.model).capabilities.explicit_cache or not kept_files(request.body_json):
            return request
        split = await to_thread.run_sync(split_for_cache, request.body_json)
        kept = None if split is None else await self._kept(split, request.model)
        return request if split is None or kept is None else replace(request, body_json=split.request(kept.name))

    async def _kept(self, split: CacheSplit, model: str) -> KeptBeginning | None:
        key = hashlib.sha256(b"\0".join((self._scope.encode(), model.encode(), split.beginning))).hexdigest()
        known = _noted(await self._store.get_setting(CACHE_KEY + model))
        left_s = 0.0 if known is None else known.expires_s - self._clock.now_s()
        if known is not None and known.key == key and left_s > _MARGIN_S:
            if known.name and left_s < self._ttl_s / 2:
                known = await self._extended(known, model, left_s)
            return known if known.name else None
        if known is not None and known.name and left_s > 0 and known.key != key:
            with suppress(EchoError):  # of another beginning; it would only cost until it ends by itself
                await self._caches.delete(known.name)
        made = await self._made(split, model, key)
        await self._note(made, model)
        return made if made.name else None

    async def _made(self, split: CacheSplit, model: str, key: str) -> KeptBeginning:
        body = split.cached_content(model, self._ttl_s)
        try:
            async with asyncio.timeout(_CREATE_LIMIT_S):
                resolved = await self._inner.addressed(GenerateRequest(model=model, body_json=body))
                resource = await self._caches.create(model, resolved.body_json)
        except (EchoError, TimeoutError) as error:
            log.info("Google keeps no beginning of %d bytes: %s %s", len(body), type(error).__name__, error)
            return KeptBeginning(key=key, name="", expires_s=self._clock.now_s() + self._ttl_s)
        tokens = int((resource.get("usageMetadata") or {}).get("totalTokenCount") or 0)
        self._on_cost(_bill(model, tokens, read=tokens, life_s=self._ttl_s))
        return KeptBeginning(
            key=key, name=str(resource.get("name") or ""), expires_s=self._expiry(resource), tokens=tokens
        )

    async def _extended(self, known: KeptBeginning, model: str, left_s: float) -> KeptBeginning:
        try:
            resource = await self._caches.extend(known.name, self._ttl_s)
        except EchoError as error:
            log.info("a cache was not extended: %s", error)
            return known
        self._on_cost(_bill(model, known.tokens, read=0, life_s=self._ttl_s - left_s))
        longer = replace(known, expires_s=self._expiry(resource))
        await self._note(longer, model)
        return longer

    async def _note(self, kept: KeptBeginning, model: str) -> None:
        await self._store.save_setting(CACHE_KEY + model, json.dumps(asdict(kept)))

    def _expiry(self, resource: dict[str, Any]) -> float:
        try:
            return dt.datetime.fromisoformat(str(resource.get("expireTime"))).timestamp()
        except ValueError:
            return self._clock.now_s() + self._ttl_s


def caching(
    files: FileBackend,
    store: ShadowStore | None,
    call: PipeCall,
    clock: Clock,
    *,
    ttl_s: float,
    shared: bool,
    model_of: Callable[[str], ModelInfo],
    on_cost: Callable[[RoundUsage], None],
) -> FileBackend | CachingBackend:
    """The same backend, with explicit caches where the administrator wants them and the chat is the caller's alone.

    Args:
        files: resolves files and asks Google.
        store: the chat's records.
        call: of the chat.
        clock: for expiry.
        ttl_s: 0 = no caches.
        shared: whether the chat has several writers, of whom nothing is kept for anybody.
        model_of: what is known of a model, by the backend's id.
        on_cost: told of what Google bills beside the answers.
    """
    if shared:
        files.keep_nothing()
    if shared or store is None or not call.is_saved or ttl_s <= 0:
        return files
    caches = GeminiCaches(files.client)
    return CachingBackend(
        files, caches, store, scope=files.scope, ttl_s=ttl_s, clock=clock, model_of=model_of, on_cost=on_cost
    )


def _noted(text: str | None) -> KeptBeginning | None:
    try:
        return KeptBeginning(**json.loads(text)) if text else None
    except (ValueError, TypeError):  # of another version
        return None


def _bill(model: str, tokens: int, *, read: int, life_s: float) -> RoundUsage:
    """Reading a beginning once at the price of input, and keeping it. Source: Gemini API docs, Context caching."""
    usage = Usage(prompt_tokens=read, total_tokens=read)
    return RoundUsage(model_id=model, usage=usage, stored_token_hours=tokens * life_s / 3600)
