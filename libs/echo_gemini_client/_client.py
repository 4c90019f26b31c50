"""The client: credentials, attempts, streams."""

import json
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import httpx

from echo_core.ports import Clock, GenerateRequest, OnWait
from echo_gemini_client import errors
from echo_gemini_client._apis import USER_AGENT, Api, WireCall
from echo_gemini_client._attempts import Attempts
from echo_gemini_client._failures import error_from_failure, error_from_transport
from echo_gemini_client._stream import ChunkStream
from echo_http import (
    LIMITS_EXTENSION,
    CircuitBreaker,
    RetryPolicy,
    StreamLimits,
    SystemClock,
    classify_error,
    classify_payload,
    error_of,
)

KeySource = Callable[[], Awaitable[str | None]]
#: An error answer is a few KB; more than this is not read.
_MAX_ERROR_BYTES: Final = 1024 * 1024
_MAX_MODEL_PAGES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How patient the client is."""

    limits: StreamLimits = field(default_factory=StreamLimits)
    retries: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer: its JSON object ({} for an empty body) and its headers."""

    value: dict[str, Any]
    headers: Mapping[str, str]


class EchoGeminiClient:
    """A Gemini endpoint: `echo_core.ports.ModelBackend` over HTTP. Cheap to make; share the transport and the breaker.

    Args:
        api: the envelope (`AiStudioApi` or `CodeAssistApi`).
        key_source: awaited for every request; the API key or bearer token, None or "" = there is none.
        transport: usually one `EchoTransport` for the process.
        breaker: circuits by (backend, host, model).
        on_wait: told of each wait of every call, unless a call brings its own.
        clock, random_source: time and the jitter of waits.
    """

    def __init__(
        self,
        api: Api,
        key_source: KeySource,
        transport: httpx.AsyncBaseTransport,
        *,
        settings: ClientSettings | None = None,
        breaker: CircuitBreaker | None = None,
        on_wait: OnWait | None = None,
        clock: Clock | None = None,
        random_source: Callable[[], float] = random.random,
    ) -> None:
        self.name = api.name
        self.api = api
        self._key_source = key_source
        self._transport = transport
        self._settings = settings or ClientSettings()
        self._breaker = breaker or CircuitBreaker()
        self._on_wait = on_wait
        self._clock = clock or SystemClock()
        self._random = random_source

    @asynccontextmanager
    async def stream_generate(
        self, request: GenerateRequest, *, on_wait: OnWait | None = None
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Open a stream of decoded GenerateContentResponse objects; entering waits for the first one.

        Failures before the first chunk are retried within the policy; later ones are raised where they happen.
        Leaving the context stops the generation (RST_STREAM).

        Args:
            request: its bytes are sent as they are.
            on_wait: awaited before each wait with its length in seconds and the error that caused it.

        Raises:
            EchoError: see `echo_gemini_client.errors`.
        """
        call = self.api.generate(request, stream=True)
        stream = await self._attempts(call, request.model, on_wait).run(partial(self._open_stream, call, request.model))
        try:
            yield stream
        finally:
            await stream.aclose()

    async def generate(self, request: GenerateRequest, *, on_wait: OnWait | None = None) -> dict[str, Any]:
        """One answer without streaming. Raises as `stream_generate`."""
        call = self.api.generate(request, stream=False)
        return self.api.unwrap(await self.call_json(call, model=request.model, on_wait=on_wait))

    async def count_tokens(self, request: GenerateRequest) -> int:
        """Tokens of the request. Raises as `stream_generate`."""
        answer = await self.call_json(self.api.count_tokens(request), model=request.model)
        total = answer.get("totalTokens", 0)
        return total if isinstance(total, int) else 0

    async def list_models(self) -> list[dict[str, Any]]:
        """The live model list, all pages. Raises as `stream_generate`."""
        models: list[dict[str, Any]] = []
        token = ""
        for _ in range(_MAX_MODEL_PAGES):
            answer = await self.call_json(self.api.list_models(token))
            models += self.api.models_of(answer)
            token = answer.get("nextPageToken") or ""
            if not token:
                break
        return models

    async def call_json(self, call: WireCall, *, model: str = "", on_wait: OnWait | None = None) -> dict[str, Any]:
        """Send any call and decode its JSON object. Raises as `stream_generate`."""
        return (await self.call(call, model=model, on_wait=on_wait)).value

    async def call(self, call: WireCall, *, model: str = "", on_wait: OnWait | None = None) -> Answer:
        """As `call_json`, with the answer's headers."""
        return await self._attempts(call, model, on_wait).run(partial(self._fetch, call, model))

    # --- one attempt

    def _attempts(self, call: WireCall, model: str, on_wait: OnWait | None) -> Attempts:
        return Attempts(
            self._settings.retries,
            self._breaker,
            self._clock,
            self._random,
            key=(self.name, self.api.base_url, model),
            idempotent=call.idempotent,
            on_wait=self._on_wait if on_wait is None else on_wait,
        )

    async def _open_stream(self, call: WireCall, model: str) -> ChunkStream:
        response, secret = await self._send(call, model)
        stream = ChunkStream(response, self.api.unwrap, model=model, secrets=(secret,))
        try:
            await stream.prime()
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def _fetch(self, call: WireCall, model: str) -> Answer:
        response, secret = await self._send(call, model)
        try:
            body = await response.aread()
        except httpx.HTTPError as error:
            raise error_from_transport(error, received=False, secrets=(secret,)) from error
        finally:
            await response.aclose()
        try:
            value = json.loads(body) if body.strip() else {}
        except (ValueError, RecursionError):
            raise errors.StreamBroken(f"an answer of {len(body)} bytes is not JSON", received=True) from None
        problem = error_of(value)
        if problem is not None:
            raise error_from_failure(classify_payload(problem, http_status=200), model=model, secrets=(secret,))
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, dict):
            raise errors.StreamBroken("an answer is not a JSON object", received=True)
        return Answer(value=value, headers=response.headers)

    async def _send(self, call: WireCall, model: str) -> tuple[httpx.Response, str]:
        """Send once; a response with status 200 and the credential that was used."""
        secret = await self._secret()
        try:
            response = await self._transport.handle_async_request(self._request(call, secret))
            if 200 <= response.status_code < 300:
                return response, secret
            body = await _read_error(response)
        except httpx.InvalidURL as error:
            raise errors.NetworkUnreachable(f"the base URL is not valid: {error}") from error
        except httpx.HTTPError as error:
            raise error_from_transport(error, received=False, secrets=(secret,)) from error
        failure = classify_error(response.status_code, body, response.headers)
        raise error_from_failure(failure, model=model, secrets=(secret,))

    def _request(self, call: WireCall, secret: str) -> httpx.Request:
        headers = {
            "accept": "*/*",
            "accept-encoding": "identity",  # compression would hold back small pieces of a stream
            "user-agent": USER_AGENT,
            **({"content-type": "application/json"} if call.body is not None else {}),
            **call.headers,
            **(self.api.auth(secret) if call.with_key else {}),
        }
        limits = self._settings.limits
        extensions = {LIMITS_EXTENSION: limits, "timeout": limits.as_httpx()}
        return httpx.Request(call.method, call.url, content=call.body, headers=headers, extensions=extensions)

    async def _secret(self) -> str:
        secret = (await self._key_source() or "").strip()
        if not secret:
            raise errors.KeyMissing
        if not re.fullmatch(r"[!-~]+", secret):
            raise errors.KeyRejected("the key holds characters that no key has")
        return secret


async def _read_error(response: httpx.Response) -> bytes:
    body = b""
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MAX_ERROR_BYTES:
                break
    finally:
        await response.aclose()
    return body
