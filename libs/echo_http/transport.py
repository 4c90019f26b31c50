"""An httpx transport that speaks HTTP/2 for many parallel, long and often stopped streams."""

import asyncio
import logging
import os
import ssl
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import httpx
from hpack.struct import HeaderTuple, NeverIndexedHeaderTuple

from echo_core.ports import Clock
from echo_http._connection import ConnectionSettings, H2Connection
from echo_http._dial import SOCKET_OPTIONS, Origin, dial
from echo_http._http1 import Http1Fallback
from echo_http._pool import NotHttp2, OriginPool
from echo_http._stream import H2Stream
from echo_http.clock import SystemClock
from echo_http.errors import ConnectionLost, RequestNotProcessed, TlsSetupError
from echo_http.proxies import ProxySettings
from echo_http.timeouts import StreamLimits

# hpack writes header values, so also API keys, to its debug log.
logging.getLogger("hpack").setLevel(logging.INFO)

_SECRET_HEADERS: Final = frozenset({b"authorization", b"x-goog-api-key", b"cookie", b"proxy-authorization"})
#: Connection-specific fields are forbidden in HTTP/2; Host becomes :authority. Source: RFC 9113 8.2.2, 8.3.1.
_DROPPED_HEADERS: Final = frozenset(
    {b"host", b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_MAX_SENDS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    """How the transport reaches servers.

    Args:
        ca_file: PEM file with certificates to trust besides the usual ones (SSL_CERT_FILE or certifi), "" = none.
        proxies: None = read HTTPS_PROXY, HTTP_PROXY and NO_PROXY when the transport is made.
        max_connections: HTTP/2 connections to one origin on one event loop.
        greeting_s: how long an http:// server may take to show that it speaks HTTP/2, before HTTP/1.1 is used.
        dial_s: upper limit for opening one connection, whoever waits for it.
        http1_for_s: how long an origin that does not speak HTTP/2 is remembered.
    """

    ca_file: str = ""
    proxies: ProxySettings | None = None
    max_connections: int = 16
    greeting_s: float = 2.0
    dial_s: float = 30.0
    http1_for_s: float = 600.0
    connection: ConnectionSettings = field(default_factory=ConnectionSettings)


class _LoopState:
    """What belongs to one event loop."""

    def __init__(self) -> None:
        self.pools: dict[Origin, OriginPool] = {}
        self.http1_until_s: dict[Origin, float] = {}
        self.http1: Http1Fallback | None = None


class EchoTransport(httpx.AsyncBaseTransport):
    """One object for the whole process: each event loop gets its own connections.

    A request is sent again on another connection only when the server said that it did not touch it (GOAWAY,
    REFUSED_STREAM) or when the connection ended before anything was written; its body must be replayable then
    (bytes are). Everything else is raised.

    Args:
        clock: for limits and pings.
        settings: see there.
        make_tls: makes a TLS context, called once for HTTP/2 and once for HTTP/1.1; None = from `ca_file`.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        settings: TransportSettings | None = None,
        make_tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._settings = settings or TransportSettings()
        self._proxies = self._settings.proxies or ProxySettings.from_env(os.environ)
        self._make_tls = make_tls or partial(_default_tls, self._settings.ca_file)
        self._tls: dict[str, ssl.SSLContext] = {}
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = weakref.WeakKeyDictionary()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; returns when status and headers are there.

        Raises:
            httpx.TransportError: see `echo_http.errors`.
        """
        state = self._state()
        origin = Origin.of(request.url)
        limits = StreamLimits.of(request.extensions)
        if not self._wants_http1(state, origin):
            try:
                return await self._send_http2(state, origin, request, limits)
            except NotHttp2:
                state.http1_until_s[origin] = self._clock.monotonic_s() + self._settings.http1_for_s
        return await self._send_http1(state, origin, request, limits)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        state = self._loops.pop(asyncio.get_running_loop(), None)
        if state is None:
            return
        for pool in state.pools.values():
            await pool.aclose("the transport is closed")
        if state.http1 is not None:
            await state.http1.aclose()

    def _state(self) -> _LoopState:
        loop = asyncio.get_running_loop()
        state = self._loops.get(loop)
        if state is None:
            state = self._loops[loop] = _LoopState()
        return state

    # --- HTTP/2

    async def _send_http2(
        self, state: _LoopState, origin: Origin, request: httpx.Request, limits: StreamLimits
    ) -> httpx.Response:
        pool = state.pools.get(origin)
        if pool is None:
            pool = state.pools[origin] = self._new_pool(origin)
        headers = _wire_headers(request)
        has_body = _has_body(request)
        sends = 0
        while True:
            sends += 1
            connection = await pool.acquire(limits.connect_s)
            try:
                stream = connection.open(headers, limits, has_body=has_body)
            except ValueError as error:
                raise httpx.LocalProtocolError(str(error)) from None
            try:
                return await _exchange(stream, request, has_body=has_body)
            except RequestNotProcessed:
                stream.abort()
                if sends == _MAX_SENDS or not _replayable(request):
                    raise
            except BaseException:
                stream.abort()
                raise

    def _new_pool(self, origin: Origin) -> OriginPool:
        async def connect(on_change: Callable[[H2Connection], None]) -> H2Connection:
            return await self._connect(origin, on_change)

        return OriginPool(connect, max_connections=self._settings.max_connections)

    async def _connect(self, origin: Origin, on_change: Callable[[H2Connection], None]) -> H2Connection:
        def make() -> H2Connection:
            return H2Connection(self._clock, self._settings.connection, on_change)

        tls = await self._tls_context("h2") if origin.scheme == "https" else None
        proxy = self._proxies.proxy_for(origin.scheme, origin.host, origin.port)
        try:
            async with asyncio.timeout(self._settings.dial_s):
                connection = await dial(origin, make, tls=tls, proxy=proxy)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {self._settings.dial_s} s") from error
        if not connection.speaks_http2:
            connection.shut("no HTTP/2")
            raise NotHttp2
        if tls is None:
            await self._expect_greeting(connection)
        return connection

    async def _expect_greeting(self, connection: H2Connection) -> None:
        """Without ALPN only the server's SETTINGS frame shows that it understood the preface (RFC 9113 3.4)."""
        try:
            async with asyncio.timeout(self._settings.greeting_s):
                await connection.greeted
        except (TimeoutError, ConnectionLost):
            connection.shut("no HTTP/2")
            raise NotHttp2 from None

    async def _tls_context(self, protocol: str) -> ssl.SSLContext:
        """One context a protocol, because what ALPN offers is set on the context."""
        if protocol not in self._tls:
            # Reading the CA bundle takes 20 to 60 ms: not on the event loop.
            try:
                made = await asyncio.to_thread(self._make_tls)
            except OSError as error:  # ssl.SSLError is one
                raise TlsSetupError(f"the certificates cannot be read: {error}") from error
            made.set_alpn_protocols(["h2", "http/1.1"] if protocol == "h2" else ["http/1.1"])
            self._tls.setdefault(protocol, made)
        return self._tls[protocol]

    # --- HTTP/1.1

    def _wants_http1(self, state: _LoopState, origin: Origin) -> bool:
        until_s = state.http1_until_s.get(origin)
        if until_s is not None and self._clock.monotonic_s() < until_s:
            return True
        # A plain proxy forwards http:// requests itself; HTTP/2 prior knowledge would not survive it.
        return origin.scheme == "http" and bool(self._proxies.proxy_for("http", origin.host, origin.port))

    async def _send_http1(
        self, state: _LoopState, origin: Origin, request: httpx.Request, limits: StreamLimits
    ) -> httpx.Response:
        if state.http1 is None:
            state.http1 = Http1Fallback(await self._tls_context("http/1.1"), SOCKET_OPTIONS)
        proxy = self._proxies.proxy_for(origin.scheme, origin.host, origin.port)
        return await state.http1.send(request, limits, proxy)


class _Body(httpx.AsyncByteStream):
    """A response body; closing it early stops the server."""

    __slots__ = ("_loop", "_stream")

    def __init__(self, stream: H2Stream) -> None:
        self._stream: H2Stream | None = stream
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> "_Body":
        return self

    async def __anext__(self) -> bytes:
        data = await self._stream.read() if self._stream is not None else b""
        if not data:
            raise StopAsyncIteration
        return data

    async def aclose(self) -> None:
        """Stop the stream; nothing is waited for."""
        if self._stream is not None:
            self._stream.abort()
            self._stream = None

    def __del__(self) -> None:
        """A body that was forgotten must not keep the server generating."""
        if self._stream is not None and not self._stream.ended and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stream.abort)


async def _exchange(stream: H2Stream, request: httpx.Request, *, has_body: bool) -> httpx.Response:
    if has_body:
        assert isinstance(request.stream, httpx.AsyncByteStream)  # noqa: S101 - narrows for mypy
        await stream.send_body(request.stream)
    status, headers = await stream.head()
    extensions = {"http_version": b"HTTP/2", "stream_id": stream.id}
    return httpx.Response(status, headers=headers, stream=_Body(stream), extensions=extensions)


def _wire_headers(request: httpx.Request) -> list[tuple[bytes, bytes]]:
    headers = [
        (b":method", request.method.encode("ascii")),
        (b":scheme", request.url.raw_scheme),
        (b":authority", request.headers.get("host", request.url.netloc.decode("ascii")).encode("ascii")),
        (b":path", request.url.raw_path),
    ]
    for raw_name, value in request.headers.raw:
        name = raw_name.lower()
        if name not in _DROPPED_HEADERS:
            kind = NeverIndexedHeaderTuple if name in _SECRET_HEADERS else HeaderTuple
            headers.append(kind(name, value))
    return headers


def _has_body(request: httpx.Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"


def _replayable(request: httpx.Request) -> bool:
    return isinstance(request.stream, httpx.ByteStream) or not _has_body(request)


def _default_tls(ca_file: str) -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context
