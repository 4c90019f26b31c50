"""`/__sim__/*`: scripts, what arrived, reset, clock, settings."""

import json
from typing import Any

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.routes.common import state_of
from echo_workers.gemini_sim.services.scripts import Script

_SCRIPTS = TypeAdapter(list[Script])


async def _script(request: Request) -> Response:
    try:
        scripts = _SCRIPTS.validate_json(await request.body())
    except ValidationError as error:
        return JSONResponse({"error": json.loads(error.json(include_url=False, include_context=False))}, 422)
    return JSONResponse({"queued": state_of(request).scripts.add(scripts)})


async def _requests(request: Request) -> Response:
    state = state_of(request)
    state.settle()
    return JSONResponse([entry.public() for entry in state.journal.entries])


async def _reset(request: Request) -> Response:
    """Empty list and queue; with `{"everything": true}` all else too: files, caches, accounts, clock, settings."""
    value = await _object(request)
    if value is not None and value.get("everything") is True:
        request.app.state.start_over()
    else:
        state_of(request).reset()
    return JSONResponse({})


async def _object(request: Request) -> dict[str, Any] | None:
    try:
        value = json.loads(await request.body() or b"{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


async def _clock(request: Request) -> Response:
    """`{"advance_s": N}` moves the simulator's clock ahead; answers the time it then shows."""
    value = await _object(request)
    step = (value or {}).get("advance_s", 0)
    if value is None or not isinstance(step, int | float) or isinstance(step, bool) or step < 0:
        return JSONResponse({"error": "advance_s must be a number of seconds, 0 or more"}, 422)
    state_of(request).clock.advance(step)
    return JSONResponse({"now_s": state_of(request).clock.now_s()})


async def _settings(request: Request) -> Response:
    """Change settings of `SimSettings` by name."""
    value = await _object(request)
    state = state_of(request)
    try:
        state.settings = state.settings.changed(value or {})
    except GoogleRefusal as refusal:
        return JSONResponse({"error": refusal.text}, 422)
    return JSONResponse({})


def routes() -> list[Route]:
    """The endpoints of this file."""
    return [
        Route("/__sim__/script", _script, methods=["POST"]),
        Route("/__sim__/requests", _requests, methods=["GET"]),
        Route("/__sim__/reset", _reset, methods=["POST"]),
        Route("/__sim__/clock", _clock, methods=["POST"]),
        Route("/__sim__/settings", _settings, methods=["POST"]),
    ]
