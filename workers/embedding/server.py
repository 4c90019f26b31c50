"""Builds the embedding worker's application and serves it by hypercorn."""

import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any, cast

from fastapi import FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework
from starlette.requests import Request
from starlette.responses import Response

from echo_workers.embedding.routes.openai import build_router
from echo_workers.embedding.services.backends import EmbeddingBackend


def create_app(backend: EmbeddingBackend, model_name: str, api_key: str = "") -> FastAPI:
    """The application; errors have OpenAI's shape."""
    app = FastAPI(title="ECHO embeddings", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(build_router(backend, model_name, api_key))

    async def refused(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 400
        told = error.detail if isinstance(error, HTTPException) else "the request has not the shape of the interface"
        return JSONResponse({"error": {"message": told, "type": "invalid_request_error", "code": status}}, status)

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, refused)
    return app


async def serve(
    app: FastAPI,
    host: str,
    port: int,
    *,
    shutdown_trigger: Callable[[], Awaitable[Any]] | None = None,
    on_ready: Callable[[int], None] | None = None,
) -> None:
    """Serve an application.

    Args:
        app: see `create_app`.
        host: address to bind.
        port: 0 picks a free one.
        shutdown_trigger: serving ends when it returns; None = at SIGINT or SIGTERM.
        on_ready: called once with the bound port.

    Raises:
        OSError: the address is taken.
    """
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound: int = listener.getsockname()[1]
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog, config.accesslog = logging.getLogger("echo.embedding"), None
    config.include_server_header = False
    if on_ready is not None:
        on_ready(bound)
    await hypercorn_serve(cast(ASGIFramework, app), config, shutdown_trigger=shutdown_trigger)
