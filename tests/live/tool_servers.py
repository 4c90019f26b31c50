"""Tool servers as people run them: one that speaks OpenAPI and one that speaks MCP, real HTTP on this machine."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from mcp.server.mcpserver import Image, MCPServer

from echo_workers.gemini_sim.core.demo.picture import png


def openapi_app() -> FastAPI:
    """`get_weather` answers, `get_report` is long."""
    app = FastAPI(title="Weather")

    @app.get("/weather", operation_id="get_weather", summary="Tells the weather of a city.")
    async def weather(city: str) -> dict[str, Any]:
        return {"city": city, "celsius": 21}

    @app.get("/report", operation_id="get_report", summary="Reports everything.")
    async def report() -> dict[str, Any]:
        return {"rows": [f"row {n:06d}" for n in range(40_000)]}

    return app


def mcp_app() -> Any:
    """`shout` answers, `picture` gives an image."""
    server = MCPServer("lab")

    @server.tool()
    def shout(text: str) -> str:
        """Says it louder."""
        return text.upper()

    @server.tool()
    def picture() -> Image:
        """Draws something."""
        return Image(data=base64.b64decode(png("cat")), format="png")

    return server.streamable_http_app()


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an app on a free port, until the context ends."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
