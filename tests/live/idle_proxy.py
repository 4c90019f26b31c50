"""A proxy that cuts a connection on which nothing has passed for a while, as proxies before Open WebUI do."""

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


@contextmanager
def idle_proxy(target_url: str, limit_s: float) -> Iterator[str]:
    """Pass bytes to `target_url`; the address to use instead while the context lasts."""
    target = urlsplit(target_url)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((target.hostname, target.port)) as far, suppress(ConnectionError):
                _pass(self.request, far, limit_s)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _pass(near: socket.socket, far: socket.socket, limit_s: float) -> None:
    while ready := select.select([near, far], [], [], limit_s)[0]:
        for end in ready:
            data = end.recv(65_536)
            if not data:
                return
            (far if end is near else near).sendall(data)
