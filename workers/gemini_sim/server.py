"""Builds the simulator's ASGI application and serves it by hypercorn (HTTP/1.1, h2c, TLS with ALPN)."""

import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any, cast

from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.settings import SimSettings
from echo_workers.gemini_sim.routes import caches, control, files, internal, models, oauth
from echo_workers.gemini_sim.routes.common import json_response
from echo_workers.gemini_sim.routes.recorder import Recorder
from echo_workers.gemini_sim.services.code_assist import CodeAssist
from echo_workers.gemini_sim.services.state import SimState


def create_app(settings: SimSettings | None = None) -> ASGIApp:
    """A fresh simulator with its own memory."""
    first = settings or SimSettings()
    state = SimState(settings=first)
    parts = (control, oauth, internal, files, caches, models)
    app = Starlette(
        routes=[route for part in parts for route in part.routes()],
        exception_handlers={404: _not_found, 405: _not_found},
    )
    app.state.sim, app.state.code_assist = state, CodeAssist(state)

    def start_over() -> None:
        state.start_over(first)
        app.state.code_assist = CodeAssist(state)

    app.state.start_over = start_over
    return Recorder(app, state)


async def _not_found(request: Request, error: Exception) -> Response:
    return json_response(GoogleRefusal(404, "Requested entity was not found.").body(), 404)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(256)
    return listener


async def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    certfile: str | None = None,
    keyfile: str | None = None,
    shutdown_trigger: Callable[[], Awaitable[Any]] | None = None,
    on_ready: Callable[[int], None] | None = None,
    settings: SimSettings | None = None,
) -> None:
    """Serve one fresh simulator.

    Args:
        host: address to bind.
        port: 0 picks a free one.
        certfile: PEM chain; with it the port speaks TLS and offers h2 and http/1.1 by ALPN.
        keyfile: PEM private key of the certificate.
        shutdown_trigger: serving ends when it returns; None = at SIGINT or SIGTERM.
        on_ready: called once with the bound port, when connections are accepted.
        settings: what the simulator starts with.

    Raises:
        OSError: the address is taken.
    """
    listener = _listen(host, port)
    bound: int = listener.getsockname()[1]
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.certfile, config.keyfile = certfile, keyfile
    config.errorlog, config.accesslog = logging.getLogger("echo.gemini_sim"), None
    config.include_server_header = False
    config.h2_max_concurrent_streams = 256
    config.keep_alive_timeout = 60
    config.keep_alive_max_requests = 1_000_000
    config.graceful_timeout = 0.5
    if on_ready is not None:
        on_ready(bound)
    app = cast(ASGIFramework, create_app(settings))
    await hypercorn_serve(app, config, shutdown_trigger=shutdown_trigger)
