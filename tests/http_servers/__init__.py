"""Small servers for transport tests: one that follows HTTP/2 to the letter and misbehaves on demand, and helpers."""

from http_servers.asgi import AsgiServer
from http_servers.certificates import Certificates
from http_servers.connect_proxy import ConnectProxy
from http_servers.h2_server import H2Server, ServerStream
from http_servers.waiting import FakeClock, InstantClock, eventually

__all__ = [
    "AsgiServer",
    "Certificates",
    "ConnectProxy",
    "FakeClock",
    "H2Server",
    "InstantClock",
    "ServerStream",
    "eventually",
]
