"""HTTP/1.1 through httpx's own transport, with the same limits as our streams."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import httpx

from echo_http.errors import FirstByteTimeout, IdleTimeout
from echo_http.timeouts import StreamLimits


class Http1Fallback:
    """For servers and proxies without HTTP/2; belongs to one event loop.

    Args:
        verify: TLS context (True where only http:// is spoken).
        socket_options: as for `socket.setsockopt`.
    """

    def __init__(self, verify: ssl.SSLContext | bool, socket_options: list[tuple[int, int, int]]) -> None:
        self._verify = verify
        self._socket_options = socket_options
        self._transports: dict[str, httpx.AsyncHTTPTransport] = {}

    async def send(self, request: httpx.Request, limits: StreamLimits, proxy: str) -> httpx.Response:
        """Send a request; `proxy` "" = direct."""
        timeout = {
            "connect": limits.connect_s,
            "pool": limits.connect_s,
            "write": limits.idle_s,
            "read": limits.first_byte_s,
        }
        extensions: dict[str, object] = {**request.extensions, "timeout": timeout}
        inner = httpx.Request(
            request.method, request.url, headers=request.headers, stream=request.stream, extensions=extensions
        )
        try:
            response = await self._transport(proxy).handle_async_request(inner)
        except httpx.ReadTimeout as error:
            raise FirstByteTimeout(f"no answer began in {limits.first_byte_s} s") from error
        # httpcore reads its limit once for the whole body; ours differ between the first byte and the rest.
        extensions["timeout"] = {**timeout, "read": None}
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - narrows for mypy
        response.stream = _TimedStream(response.stream, limits)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()
        self._transports.clear()

    def _transport(self, proxy: str) -> httpx.AsyncHTTPTransport:
        transport = self._transports.get(proxy)
        if transport is None:
            transport = self._transports[proxy] = httpx.AsyncHTTPTransport(
                verify=self._verify,
                trust_env=False,
                http1=True,
                http2=False,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
                proxy=httpx.Proxy(proxy) if proxy else None,
                socket_options=self._socket_options,
            )
        return transport


class _TimedStream(httpx.AsyncByteStream):
    """A body whose pieces must come in time."""

    def __init__(self, inner: httpx.AsyncByteStream, limits: StreamLimits) -> None:
        self._inner = inner
        self._limits = limits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = aiter(self._inner)
        limit_s = self._limits.first_byte_s
        error: type[httpx.ReadTimeout] = FirstByteTimeout
        while True:
            try:
                async with asyncio.timeout(limit_s):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except TimeoutError as cause:
                raise error(f"nothing arrived for {limit_s} s") from cause
            yield piece
            limit_s, error = self._limits.idle_s, IdleTimeout

    async def aclose(self) -> None:
        await self._inner.aclose()
