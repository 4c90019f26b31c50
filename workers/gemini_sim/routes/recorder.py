"""The outermost layer: records each request, plays scripts, and notices who ended the stream."""

import asyncio
import re
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from echo_workers.gemini_sim.core.frames import JSON_HEADERS, STREAM_HEADERS
from echo_workers.gemini_sim.routes.connection import flushed, reset_stream
from echo_workers.gemini_sim.services.accounting import account_scripted
from echo_workers.gemini_sim.services.journal import Entry
from echo_workers.gemini_sim.services.scripts import Script
from echo_workers.gemini_sim.services.state import SimState

CONTROL_PREFIX: Final = "/__sim__/"
_RPC: Final = re.compile(r"/(?:v1|v1beta|v1alpha)/(?:models|tunedModels)/([^:/]+):(\w+)")
_INTERNAL: Final = re.compile(r"/v1internal:(\w+)")
_BODY_MODEL: Final = re.compile(r'"model"\s*:\s*"(?:models/)?([^"]+)"')
_REST: Final[tuple[tuple[str, str, str], ...]] = (
    ("GET", r"/v1\w*/models", "listModels"),
    ("GET", r"/v1\w*/models/[^:/]+", "getModel"),
    ("POST", r"/upload/v1\w*/files", "uploadFile"),
    ("GET", r"/v1\w*/files", "listFiles"),
    ("GET", r"/v1\w*/files/[^/]+", "getFile"),
    ("DELETE", r"/v1\w*/files/[^/]+", "deleteFile"),
    ("POST", r"/v1\w*/cachedContents", "createCachedContent"),
    ("GET", r"/v1\w*/cachedContents", "listCachedContents"),
    ("GET", r"/v1\w*/cachedContents/[^/]+", "getCachedContent"),
    ("PATCH", r"/v1\w*/cachedContents/[^/]+", "updateCachedContent"),
    ("DELETE", r"/v1\w*/cachedContents/[^/]+", "deleteCachedContent"),
    ("POST", r"/token", "token"),
    ("POST", r"/revoke", "revoke"),
)


def rpc_of(http_method: str, path: str, body: str) -> tuple[str, str]:
    """(RPC name, model id) of a request; empty strings when it has none."""
    found = _RPC.fullmatch(path)
    if found:
        return found[2], unquote(found[1])
    internal = _INTERNAL.fullmatch(path)
    if internal:
        model = _BODY_MODEL.search(body)
        return internal[1], model[1] if model else ""
    for method, pattern, name in _REST:
        if method == http_method and re.fullmatch(pattern, path):
            return name, path.rsplit("/", 1)[1] if name == "getModel" else ""
    return "", ""


async def read_body(receive: Receive) -> bytes | None:
    """The whole body; None when the client left before it was complete."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)


class Recorder:
    """ASGI middleware around the whole simulator.

    Args:
        app: the routes.
    """

    def __init__(self, app: ASGIApp, state: SimState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope."""
        if scope["type"] != "http" or scope["path"].startswith(CONTROL_PREFIX):
            await self._app(scope, receive, send)
            return
        body = await read_body(receive)
        if body is None:
            return
        query = scope["query_string"].decode("latin-1")
        path = scope["path"] + (f"?{query}" if query else "")
        entry = self._state.journal.open(scope["method"], path, scope["http_version"], scope["headers"], body)
        text = body.decode("utf-8", "backslashreplace")
        method, model = rpc_of(scope["method"], scope["path"], text)
        script = self._state.scripts.take(scope["method"], method, model, text)
        gone = asyncio.create_task(_disconnected(receive))
        if script is None:
            self._state.settle()
            serve = self._answer(scope, body, send, entry, gone)
        else:
            if script.status == 200 and method in ("generateContent", "streamGenerateContent"):
                # Counted when somebody looks, so that a scripted answer costs no more than its bytes.
                count = partial(account_scripted, self._state, entry, scope["path"], _identity(scope), body)
                self._state.pending.append(count)
            serve = self._play(script, method, send, entry, gone)
        await self._until_gone(serve, gone, entry)

    async def _until_gone(self, serve: Coroutine[Any, Any, None], gone: asyncio.Task[None], entry: Entry) -> None:
        work = asyncio.create_task(serve)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            elif entry.ended == "open":
                entry.ended = "reset_by_client"
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _answer(self, scope: Scope, body: bytes, send: Send, entry: Entry, gone: asyncio.Task[None]) -> None:
        scope = {**scope, "sim_entry": entry}
        delivered = False

        async def replay() -> Message:
            nonlocal delivered
            if delivered:
                await asyncio.Event().wait()
            delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def tracked(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                await _note_end(entry, gone, send)
            await send(message)

        await self._app(scope, replay, tracked)

    async def _play(self, script: Script, method: str, send: Send, entry: Entry, gone: asyncio.Task[None]) -> None:
        entry.status = script.status
        is_stream = script.status == 200 and method == "streamGenerateContent"
        headers = {
            **(STREAM_HEADERS if is_stream else JSON_HEADERS),
            **{k.lower(): v for k, v in script.headers.items()},
        }
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        started = False
        for chunk in script.chunks:
            if chunk.delay_ms:
                await asyncio.sleep(chunk.delay_ms / 1_000)
            if not started:
                await send({"type": "http.response.start", "status": script.status, "headers": raw})
                started = True
            await send({"type": "http.response.body", "body": chunk.data(), "more_body": True})
        if not started:
            await send({"type": "http.response.start", "status": script.status, "headers": raw})
        match script.end:
            case "close":
                await _note_end(entry, gone, send)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            case "reset":
                entry.ended = "reset_by_server"
                await send({"type": "http.response.body", "body": b"", "more_body": True})
                await reset_stream(send)
            case "hang":
                await asyncio.Event().wait()


def _identity(scope: Scope) -> str:
    """The key or token of a request, "" without one."""
    headers, query = Headers(scope=scope), QueryParams(scope["query_string"])
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    return headers.get("x-goog-api-key") or query.get("key") or bearer


async def _note_end(entry: Entry, gone: asyncio.Task[None], send: Send) -> None:
    """Before the last frame: did everything reach somebody?

    Sends to a stream that the client has reset return at once and without a word, so a script without delays would run
    to its end before the loop had told us.
    """
    await flushed(send)
    await asyncio.sleep(0)
    entry.ended = "reset_by_client" if gone.done() else "complete"


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
