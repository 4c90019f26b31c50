"""Servers as people run them, real HTTP on this machine: tools by OpenAPI, tools by MCP, and a search engine.

The search engine is not SearXNG: it is a small server that speaks SearXNG's JSON, with results of its own making.
"""

import base64
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Request
from mcp.server.mcpserver import Image, MCPServer

from echo_cli._ports import free_port
from echo_workers.gemini_sim.core.demo.picture import png
from live.client import poll


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
    server = MCPServer("lab", instructions="Shout only when asked to.")

    @server.tool()
    def shout(text: str) -> str:
        """Says it louder."""
        return text.upper()

    @server.tool()
    def picture() -> Image:
        """Draws something."""
        return Image(data=base64.b64decode(png("cat")), format="png")

    return server.streamable_http_app()


def searxng_app(asked: list[dict[str, str]]) -> FastAPI:
    """Answers searches in SearXNG's JSON and keeps what it was asked.

    Source: SearXNG docs, Search API (`format=json`; `results` with `url`, `title`, `content`, `score`).
    """
    app = FastAPI(title="Speaks SearXNG's JSON")

    @app.get("/search")
    async def search(request: Request) -> dict[str, Any]:
        asked.append(dict(request.query_params))
        found = [
            {
                "url": f"https://example.org/{n}",
                "title": f"Result {n}",
                "content": f"Words about {asked[-1]['q']}, {n}.",
                "engine": "own",
                "category": "general",
                "score": 9.0 - n,
            }
            for n in range(1, 4)
        ]
        return {"query": asked[-1]["q"], "number_of_results": len(found), "results": found, "suggestions": []}

    return app


_DYING = """
import os, signal, sys
import uvicorn
from fastapi import FastAPI

app = FastAPI(title="Mortal")

@app.get("/die", operation_id="die", summary="Dies while it works.")
async def die():
    os.kill(os.getpid(), signal.SIGKILL)

config = uvicorn.Config(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
uvicorn.Server(config).run()
"""


@contextmanager
def dying_server() -> Iterator[str]:
    """A tool server in a process of its own, which kills itself when its tool is called."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _DYING, str(port)])
    url = f"http://127.0.0.1:{port}"
    try:
        poll(lambda: _answers(url), "the tool server")
        yield url
    finally:
        process.kill()
        process.wait(10)


def _answers(url: str) -> bool | None:
    try:
        return httpx.get(f"{url}/openapi.json", trust_env=False).is_success or None
    except httpx.TransportError:
        return None


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
