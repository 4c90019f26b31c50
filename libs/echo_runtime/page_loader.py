"""`/static/loader.js` as the page gets it: what was there before, then a few lines that start ECHO's HUD.

Open WebUI's page loads this file on every screen. What an administrator, an image or another plugin put there comes
first and unchanged; ECHO's lines do nothing before somebody is signed in. Source: Open WebUI 0.12.4, `index.html`.
"""

import hashlib
import logging
from collections.abc import Iterable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Message

from echo_ui import static_file

log = logging.getLogger(__name__)

LOADER_PATH: Final = "/static/loader.js"
#: Headers by which the one who serves the file would answer with less than the file.
_PARTIAL: Final = (b"if-none-match", b"if-modified-since", b"if-range", b"range", b"if-match", b"if-unmodified-since")


async def loader_response(request: Request, others: Iterable[BaseRoute], *, active: bool) -> Response:
    """The combined file.

    Args:
        request: for the file.
        others: the routes that would have answered without ECHO, in their order.
        active: whether ECHO's lines are added.
    """
    content = await _before(request, others)
    ours = static_file("loader.js") if active else None
    if ours is not None:
        content = content + b"\n;" + ours.content if content.strip() else ours.content
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"Cache-Control": "no-cache", "ETag": etag, "X-Content-Type-Options": "nosniff"}
    if request.headers.get("If-None-Match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="text/javascript", headers=headers)


async def _before(request: Request, others: Iterable[BaseRoute]) -> bytes:
    """What would have been served; nothing when nobody has the file or fails over it."""
    scope = dict(request.scope)
    scope["headers"] = [(name, value) for name, value in scope["headers"] if name.lower() not in _PARTIAL]
    scope["method"] = "GET"
    for route in others:
        match, child = route.matches(scope)
        if match is Match.FULL:
            scope.update(child)
            break
    else:
        return b""
    status, pieces = 500, []

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            pieces.append(message.get("body", b""))

    try:
        await route.handle(scope, request.receive, send)
    except HTTPException as error:
        status = error.status_code
    except Exception:  # another plugin's fault must not keep the page from loading
        log.exception("%s, which was there before ECHO, could not be read", LOADER_PATH)
    return b"".join(pieces) if status == 200 else b""
