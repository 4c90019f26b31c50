import asyncio
import socket

import httpx
import pytest

from echo_http._dial import Origin, _tcp


async def test_sockets_keep_their_way_alive_and_find_the_address_that_answers() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sock = await _tcp("localhost", port)  # ::1 refuses, 127.0.0.1 takes it
    try:
        assert sock.getpeername()[1] == port
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
    finally:
        sock.close()
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Example.com/x", "https://example.com:443"),
        ("http://[::1]:81", "http://[::1]:81"),
        ("https://bücher.example", "https://xn--bcher-kva.example:443"),
    ],
)
def test_origins(url: str, origin: str) -> None:
    assert str(Origin.of(httpx.URL(url))) == origin
