"""A real ASGI server (hypercorn) on a free port: HTTP/2 by prior knowledge or TLS, HTTP/1.1."""

import asyncio
import logging
from typing import Any, Self

from hypercorn.asyncio import serve
from hypercorn.config import Config


class AsgiServer:
    """Use as an async context manager.

    Args:
        app: an ASGI application.
        certificate_file: PEM with key and certificate; "" = http.
        alpn: what TLS offers.
    """

    def __init__(self, app: Any, *, certificate_file: str = "", alpn: tuple[str, ...] = ("h2", "http/1.1")) -> None:
        self._app = app
        self._config = Config()
        self._config.bind = ["127.0.0.1:0"]
        self._config.accesslog = None
        self._config.errorlog = logging.getLogger("http_servers.asgi")
        self._config.alpn_protocols = list(alpn)
        self._config.h2_max_concurrent_streams = 200
        if certificate_file:
            self._config.certfile = self._config.keyfile = certificate_file
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        sockets = self._config.create_sockets()
        listener = (sockets.secure_sockets or sockets.insecure_sockets)[0]
        listener.listen(100)
        port = listener.getsockname()[1]
        self._config.bind = [f"fd://{listener.detach()}"]
        scheme = "https" if self._config.certfile else "http"
        self.url = f"{scheme}://localhost:{port}"
        self._task = asyncio.get_running_loop().create_task(
            serve(self._app, self._config, shutdown_trigger=self._stop.wait)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._stop.set()
        await self._task
