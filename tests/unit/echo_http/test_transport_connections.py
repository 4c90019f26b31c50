"""Connections that come, go, move and lie: GOAWAY, pings, TLS, HTTP/1.1, proxies, several event loops."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from echo_http import (
    LIMITS_EXTENSION,
    ConnectionLost,
    ConnectionSettings,
    EchoTransport,
    FirstByteTimeout,
    IdleTimeout,
    ProxySettings,
    RequestNotProcessed,
    StreamLimits,
    TlsSetupError,
    TransportSettings,
)
from http_servers import AsgiServer, Certificates, ConnectProxy, FakeClock, H2Server, ServerStream, eventually

DIRECT = ProxySettings()


def post(url: str, *, body: object = b"{}", limits: StreamLimits | None = None) -> httpx.Request:
    return httpx.Request("POST", url, content=body, extensions={LIMITS_EXTENSION: limits or StreamLimits()})  # type: ignore[arg-type]


async def read_all(response: httpx.Response) -> bytes:
    return b"".join([piece async for piece in response.aiter_raw()])


async def answer(stream: ServerStream) -> None:
    await stream.complete.wait()
    stream.head()
    await stream.data(b"done " + bytes(stream.body))
    stream.end()


async def echo_app(scope: dict, receive: Callable, send: Callable) -> None:  # type: ignore[type-arg]
    """Tells the HTTP version and sends the body back."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["http_version"].encode() + b" " + body})


# --- GOAWAY


async def test_requests_that_goaway_left_out_are_sent_again_and_served_ones_run_on(transport: EchoTransport) -> None:
    both_here, left = asyncio.Event(), asyncio.Event()

    async def leave_after_the_first(stream: ServerStream) -> None:
        server = stream.connection.server
        await stream.complete.wait()
        if stream.connection is server.connections[0]:
            if stream.id == 1:
                await both_here.wait()
                stream.goaway(1)
                left.set()
                stream.head()
                await stream.data(b"first ")
                await stream.data(b"served")
                stream.end()
            else:
                both_here.set()
        else:
            stream.head()
            await stream.data(b"second connection")
            stream.end()

    async with H2Server(leave_after_the_first) as server:
        first = asyncio.ensure_future(transport.handle_async_request(post(server.url)))
        await eventually(lambda: len(server.requests) == 1)
        second = asyncio.ensure_future(transport.handle_async_request(post(server.url)))
        assert await read_all(await first) == b"first served"
        assert await read_all(await second) == b"second connection"
        assert len(server.requests) == 3
        await eventually(lambda: server.connections[0].lost)


async def test_a_graceful_goaway_lets_everything_end_and_moves_new_requests(transport: EchoTransport) -> None:
    go = asyncio.Event()

    async def graceful(stream: ServerStream) -> None:
        stream.head()
        if stream.connection is stream.connection.server.connections[0]:
            stream.goaway(2**31 - 1)
            await go.wait()
        await stream.data(b"all of it")
        stream.end()

    async with H2Server(graceful) as server:
        old = await transport.handle_async_request(post(server.url))
        assert await read_all(await transport.handle_async_request(post(server.url))) == b"all of it"
        go.set()
        assert await read_all(old) == b"all of it"
        assert len(server.connections) == 2


async def test_what_may_have_run_is_not_sent_twice(transport: EchoTransport) -> None:
    async def leave_and_drop(stream: ServerStream) -> None:
        await stream.complete.wait()
        stream.goaway(stream.id, 2, b"trouble")
        stream.connection.close()

    async with H2Server(leave_and_drop) as server:
        with pytest.raises(ConnectionLost, match="GOAWAY 2 trouble"):
            await transport.handle_async_request(post(server.url))
        assert len(server.requests) == 1


async def test_a_refused_stream_is_sent_again(transport: EchoTransport) -> None:
    async def refuse_twice(stream: ServerStream) -> None:
        if len(stream.connection.server.requests) <= 2:
            stream.reset(7)
        else:
            await answer(stream)

    async with H2Server(refuse_twice) as server:
        response = await transport.handle_async_request(post(server.url, body=b"body"))
        assert await read_all(response) == b"done body"
        assert len(server.requests) == 3


async def test_refusals_without_end_are_told(transport: EchoTransport) -> None:
    async def refuse(stream: ServerStream) -> None:
        stream.reset(7)

    async with H2Server(refuse) as server:
        with pytest.raises(RequestNotProcessed):
            await transport.handle_async_request(post(server.url))
        assert len(server.requests) == 4


async def test_a_body_that_cannot_be_replayed_is_sent_once(transport: EchoTransport) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    async def refuse(stream: ServerStream) -> None:
        await stream.complete.wait()
        stream.reset(7)

    async with H2Server(refuse) as server:
        with pytest.raises(RequestNotProcessed):
            await transport.handle_async_request(post(server.url, body=parts()))
        assert len(server.requests) == 1
        assert server.requests[0].body == b"ab"


# --- life signs


def lively(**seconds: float) -> TransportSettings:
    return TransportSettings(proxies=DIRECT, connection=ConnectionSettings(**seconds))


async def test_a_dead_connection_is_found_by_ping(make_transport: Callable[..., EchoTransport]) -> None:
    clock = FakeClock()

    async def start_then_nothing(stream: ServerStream) -> None:
        stream.head()
        await stream.data(b"x")

    async with H2Server(start_then_nothing) as server:
        transport = make_transport(clock=clock, settings=lively(ping_after_s=30, ping_wait_s=15))
        response = await transport.handle_async_request(post(server.url, limits=StreamLimits(idle_s=None)))
        pieces = aiter(response.stream)
        await anext(pieces)
        reading = asyncio.ensure_future(anext(pieces))
        await clock.advance(31)
        await eventually(lambda: server.pings == 1)
        await clock.advance(31)
        await eventually(lambda: server.pings == 2)
        assert not reading.done(), "answered pings keep a silent stream alive"
        server.connections[0].deaf = True
        await clock.advance(31)
        await clock.advance(16)
        with pytest.raises(ConnectionLost, match="no sign of life"):
            await reading


async def test_an_idle_connection_is_asked_before_it_is_trusted(make_transport: Callable[..., EchoTransport]) -> None:
    clock = FakeClock()
    async with H2Server(answer) as server:
        transport = make_transport(clock=clock, settings=lively(probe_after_s=10, probe_wait_s=0.2))
        await read_all(await transport.handle_async_request(post(server.url)))
        await clock.advance(11)
        await read_all(await transport.handle_async_request(post(server.url)))
        assert (server.pings, len(server.connections)) == (1, 1)
        await clock.advance(11)
        server.connections[0].deaf = True  # the way is dead, and nobody told us
        asking = asyncio.ensure_future(transport.handle_async_request(post(server.url)))
        await eventually(lambda: server.connections[0].lost)
        assert await read_all(await asking) == b"done {}"
        assert len(server.connections) == 2


async def test_an_unused_connection_is_closed(make_transport: Callable[..., EchoTransport]) -> None:
    clock = FakeClock()
    async with H2Server(answer) as server:
        transport = make_transport(clock=clock, settings=lively(keep_idle_s=60))
        await read_all(await transport.handle_async_request(post(server.url)))
        await clock.advance(59)
        assert not server.connections[0].lost
        await clock.advance(2)
        await eventually(lambda: server.connections[0].lost)


async def test_nonsense_from_the_server_fails_its_streams_only(transport: EchoTransport) -> None:
    async def nonsense(stream: ServerStream) -> None:
        if len(stream.connection.server.connections) == 1:
            stream.connection.write(b"\x00\x00\x05\x00\x00\x00\x00\x00\x00hello")  # DATA on stream 0
        else:
            await answer(stream)

    async with H2Server(nonsense) as server:
        with pytest.raises(ConnectionLost, match="protocol error"):
            await transport.handle_async_request(post(server.url))
        assert await read_all(await transport.handle_async_request(post(server.url))) == b"done {}"


# --- TLS, HTTP/1.1, proxies


async def test_tls_with_a_private_ca_speaks_http2(
    make_transport: Callable[..., EchoTransport], certificates: Certificates
) -> None:
    async with H2Server(answer, tls=certificates.server_context("h2")) as server:
        transport = make_transport(settings=TransportSettings(ca_file=str(certificates.ca_file), proxies=DIRECT))
        response = await transport.handle_async_request(post(server.url))
        assert response.extensions["http_version"] == b"HTTP/2"
        assert await read_all(response) == b"done {}"


async def test_an_unknown_ca_is_refused(transport: EchoTransport, certificates: Certificates) -> None:
    async with H2Server(answer, tls=certificates.server_context("h2")) as server:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await transport.handle_async_request(post(server.url))
        assert server.requests == []


async def test_a_ca_file_that_is_missing_is_named(make_transport: Callable[..., EchoTransport]) -> None:
    transport = make_transport(settings=TransportSettings(ca_file="/nowhere/ca.pem", proxies=DIRECT))
    with pytest.raises(TlsSetupError):
        await transport.handle_async_request(post("https://localhost:1/"))


@pytest.mark.parametrize("secure", [False, True])
async def test_a_server_without_http2_is_served_over_http1(
    make_transport: Callable[..., EchoTransport], certificates: Certificates, secure: bool
) -> None:
    transport = make_transport(settings=TransportSettings(ca_file=str(certificates.ca_file), proxies=DIRECT))
    async with Http1OnlyServer(certificates.server_context("http/1.1") if secure else None) as server:
        for _ in range(2):
            response = await transport.handle_async_request(post(server.url, body=b"hello"))
            assert await read_all(response) == b"1.1 hello"
            assert response.extensions["http_version"] == b"HTTP/1.1"
        assert server.prefaces == (0 if secure else 1), "the server's ways are remembered"
        assert server.connections == 3


async def test_over_http1_silence_times_out_and_closing_early_stops_the_server(transport: EchoTransport) -> None:
    async with Http1OnlyServer(None, answer=b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhello") as server:
        response = await transport.handle_async_request(
            post(server.url, body=b"12345", limits=StreamLimits(idle_s=0.05))
        )
        with pytest.raises(IdleTimeout):
            await read_all(response)
        response = await transport.handle_async_request(post(server.url, body=b"12345"))
        assert await anext(aiter(response.stream)) == b"hello"
        await response.aclose()
        await eventually(lambda: server.gone == 2)
    async with Http1OnlyServer(None, answer=b"") as server:
        with pytest.raises(FirstByteTimeout):
            await transport.handle_async_request(
                post(server.url, body=b"12345", limits=StreamLimits(first_byte_s=0.05))
            )


async def test_a_real_server_takes_prior_knowledge_and_tls(
    make_transport: Callable[..., EchoTransport], certificates: Certificates
) -> None:
    transport = make_transport(settings=TransportSettings(ca_file=str(certificates.ca_file), proxies=DIRECT))
    for server in (AsgiServer(echo_app), AsgiServer(echo_app, certificate_file=certificates.server_file)):
        async with server:
            response = await transport.handle_async_request(post(server.url, body=b"x" * 200_000))
            assert await read_all(response) == b"2 " + b"x" * 200_000


async def test_a_port_that_nobody_listens_on_is_a_connect_error(transport: EchoTransport) -> None:
    with pytest.raises(httpx.ConnectError):
        await transport.handle_async_request(post("http://127.0.0.1:1/"))


async def test_a_silent_port_is_given_up_in_time(make_transport: Callable[..., EchoTransport]) -> None:
    async with H2Server(answer, silent=True) as server:
        with pytest.raises(httpx.TimeoutException):
            await make_transport().handle_async_request(
                post(server.url, limits=StreamLimits(connect_s=0.1, first_byte_s=0.1, idle_s=0.1))
            )


@pytest.mark.parametrize("userinfo", ["", "me:p%40ss@"])
async def test_https_goes_through_a_connect_proxy(
    make_transport: Callable[..., EchoTransport], certificates: Certificates, userinfo: str
) -> None:
    async with H2Server(answer, tls=certificates.server_context("h2")) as server, ConnectProxy() as proxy:
        proxies = ProxySettings.from_env({"HTTPS_PROXY": f"http://{userinfo}127.0.0.1:{proxy.port}"})
        settings = TransportSettings(ca_file=str(certificates.ca_file), proxies=proxies)
        response = await make_transport(settings=settings).handle_async_request(post(server.url))
        assert await read_all(response) == b"done {}"
        assert response.extensions["http_version"] == b"HTTP/2"
        assert proxy.requests[0].startswith(f"CONNECT localhost:{server.port} HTTP/1.1\r\n")
        assert ("Basic bWU6cEBzcw==" in proxy.requests[0]) == bool(userinfo)


async def test_a_proxy_that_refuses_is_named(make_transport: Callable[..., EchoTransport]) -> None:
    async with ConnectProxy(refuse=407) as proxy:
        settings = TransportSettings(proxies=ProxySettings(https=f"http://127.0.0.1:{proxy.port}"))
        with pytest.raises(httpx.ProxyError, match="407"):
            await make_transport(settings=settings).handle_async_request(post("https://example.invalid/"))


# --- event loops


async def test_two_event_loops_share_one_transport() -> None:
    transport = EchoTransport(settings=TransportSettings(proxies=DIRECT))
    bodies: list[bytes] = []

    async def elsewhere(url: str) -> None:
        for _ in range(3):
            bodies.append(await read_all(await transport.handle_async_request(post(url))))
        await transport.aclose()

    async with H2Server(answer) as server:
        thread = threading.Thread(target=asyncio.run, args=(elsewhere(server.url),))
        thread.start()
        for _ in range(3):
            bodies.append(await read_all(await transport.handle_async_request(post(server.url))))
        await asyncio.to_thread(thread.join)
        await transport.aclose()
        assert bodies == [b"done {}"] * 6
        assert len(server.connections) == 2


class Http1OnlyServer:
    """Closes connections that begin with the HTTP/2 preface, as many HTTP/1.1 servers do after a 400.

    Args:
        answer: sent instead of the whole answer; the connection then stays open until the client closes it.
    """

    def __init__(self, tls: ssl.SSLContext | None, answer: bytes | None = None) -> None:
        self._tls = tls
        self._answer = answer
        self.connections = self.prefaces = self.gone = 0
        self.url = ""

    async def __aenter__(self) -> "Http1OnlyServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        scheme = "https" if self._tls else "http"
        self.url = f"{scheme}://localhost:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:  # the client saw by ALPN that this is no HTTP/2
            writer.close()
            return
        if head.startswith(b"PRI"):
            self.prefaces += 1
            writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        elif self._answer is None:
            body = await reader.readexactly(5)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n1.1 " + body)
        else:
            writer.write(self._answer)
            await reader.read()
            self.gone += 1
        writer.close()
