"""Opens sockets: name look-up, TCP to the fastest address, HTTP CONNECT through a proxy, TLS with ALPN."""

import asyncio
import base64
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

import aiohappyeyeballs
import httpx

from echo_http._connection import H2Connection

#: Delay before the next address is tried as well. Source: RFC 8305 section 5 (250 ms).
_NEXT_ADDRESS_AFTER_S: Final = 0.25
_MAX_CONNECT_ANSWER_BYTES: Final = 16 * 1024
#: TCP keep-alive: first probe, distance, count. Keeps NAT and firewalls from forgetting a silent stream.
_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4))


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a server."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: httpx.URL) -> "Origin":
        """The origin of a URL.

        Raises:
            httpx.UnsupportedProtocol: it is neither http nor https.
        """
        if url.scheme not in ("http", "https") or not url.host:
            raise httpx.UnsupportedProtocol("the URL must begin with http:// or https:// and name a host")
        return cls(url.scheme, url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


SOCKET_OPTIONS: Final[list[tuple[int, int, int]]] = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in _KEEP_ALIVE if hasattr(socket, name)),
]


async def dial(
    origin: Origin, make: Callable[[], H2Connection], *, tls: ssl.SSLContext | None, proxy: str
) -> H2Connection:
    """Open a connection to an origin; the caller sets the time limit and reads `selected_alpn`.

    Args:
        origin: where to.
        make: builds the protocol that gets the socket.
        tls: context for https, None for http.
        proxy: URL of an HTTP proxy that is asked to CONNECT, "" = direct.

    Raises:
        httpx.ConnectError: no way to the host, or TLS failed (`__cause__` tells which).
        httpx.ProxyError: the proxy refused.
    """
    try:
        if proxy:
            return await _dial_through(proxy, origin, make, tls)
        sock = await _tcp(origin.host, origin.port)
        server_name = origin.host if tls else None
        _, connection = await asyncio.get_running_loop().create_connection(
            make, sock=sock, ssl=tls, server_hostname=server_name
        )
    except OSError as error:  # ssl.SSLError and socket.gaierror are OSErrors
        raise httpx.ConnectError(f"{type(error).__name__}: {error}") from error
    return connection


async def _tcp(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    sock = await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS_AFTER_S)
    for level, option, value in SOCKET_OPTIONS:
        sock.setsockopt(level, option, value)
    return sock


class _ConnectAnswer(asyncio.Protocol):
    """Reads a proxy's answer to CONNECT."""

    def __init__(self) -> None:
        self._data = b""
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._data += data
        if b"\r\n\r\n" in self._data or len(self._data) > _MAX_CONNECT_ANSWER_BYTES:
            words = self._data.split(b"\r\n", 1)[0].split()
            status = words[1].decode("latin-1")[:3] if len(words) > 1 else "nothing"
            self._settle(None if status.startswith("2") else f"the proxy answered CONNECT with {status}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle("the proxy closed the connection")

    def _settle(self, problem: str | None) -> None:
        if self.accepted.done():
            return
        if problem is None:
            self.accepted.set_result(None)
        else:
            self.accepted.set_exception(httpx.ProxyError(problem))


async def _dial_through(
    proxy: str, origin: Origin, make: Callable[[], H2Connection], tls: ssl.SSLContext | None
) -> H2Connection:
    loop = asyncio.get_running_loop()
    url = urlsplit(proxy)
    host, secure = url.hostname or "", url.scheme == "https"
    if url.scheme not in ("http", "https") or not host:
        raise httpx.ProxyError(f"proxies of kind {url.scheme!r} are not supported; use http:// or https://")
    sock = await _tcp(host, url.port or (443 if secure else 80))
    transport, answer = await loop.create_connection(
        _ConnectAnswer,
        sock=sock,
        ssl=await asyncio.to_thread(ssl.create_default_context) if secure else None,
        server_hostname=host if secure else None,
    )
    try:
        transport.write(_connect_request(origin, url.username, url.password))
        await answer.accepted
        connection = make()
        inner: asyncio.BaseTransport | None = transport
        if tls is None:
            transport.set_protocol(connection)
        else:
            inner = await loop.start_tls(transport, connection, tls, server_hostname=origin.host)
        connection.connection_made(inner or transport)
    except BaseException:
        transport.abort()
        raise
    return connection


def _connect_request(origin: Origin, user: str | None, password: str | None) -> bytes:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    target = f"{host}:{origin.port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if user is not None:
        pair = f"{unquote(user)}:{unquote(password or '')}".encode()
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(pair).decode()}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
