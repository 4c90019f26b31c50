"""`/{version}/cachedContents`."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.tools import check_tools
from echo_workers.gemini_sim.core.turns import check_contents
from echo_workers.gemini_sim.core.wire import read_message
from echo_workers.gemini_sim.routes.common import (
    caller_of,
    json_of,
    json_response,
    model_of,
    paging,
    refusing,
    state_of,
    version_of,
)
from echo_workers.gemini_sim.services.catalogue import page_of
from echo_workers.gemini_sim.services.prompt import segments_of


async def _create(request: Request) -> Response:
    state, caller = state_of(request), caller_of(request)
    raw = await json_of(request)
    body = read_message("CachedContent", raw)
    if not body.get("model"):
        raise invalid("* CreateCachedContentRequest.cached_content.model: model is required\n")
    model = model_of(request, body["model"], "createCachedContent")
    if body.get("contents"):
        check_contents(body["contents"], "CreateCachedContentRequest.cached_content")
    check_tools(body, model)
    segments = segments_of(raw, body, model, caller, state)
    cache = state.caches.create(caller.key, model, body, segments, state.clock.now_s())
    return json_response(cache.resource())


async def _list(request: Request) -> Response:
    version_of(request)
    state, caller = state_of(request), caller_of(request)
    rows = [cache.resource() for cache in state.caches.listed(caller.key, state.clock.now_s())]
    return json_response(page_of(rows, "cachedContents", *paging(request)))


async def _one(request: Request) -> Response:
    version_of(request)
    state, caller = state_of(request), caller_of(request)
    name, now_s = request.path_params["cache"], state.clock.now_s()
    match request.method:
        case "DELETE":
            state.caches.delete(caller.key, name, now_s)
            return json_response({})
        case "PATCH":
            body = read_message("CachedContent", await json_of(request))
            return json_response(state.caches.extend(caller.key, name, body, now_s).resource())
        case _:
            return json_response(state.caches.get(caller.key, name, now_s).resource())


def routes() -> list[Route]:
    """The endpoints of this file."""
    return [
        Route("/{version:str}/cachedContents", refusing(_create), methods=["POST"]),
        Route("/{version:str}/cachedContents", refusing(_list), methods=["GET"]),
        Route("/{version:str}/cachedContents/{cache:str}", refusing(_one), methods=["GET", "PATCH", "DELETE"]),
    ]
