"""`/v1` and `/v1beta`: models, generateContent, streamGenerateContent, countTokens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from echo_workers.gemini_sim.core.errors import model_not_found
from echo_workers.gemini_sim.core.frames import array_frame, sse_event
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.wire import parse_json
from echo_workers.gemini_sim.routes.common import caller_of, entry_of, json_response, refusing, state_of
from echo_workers.gemini_sim.services.catalogue import list_models
from echo_workers.gemini_sim.services.count import count_tokens
from echo_workers.gemini_sim.services.generate import Generation
from echo_workers.gemini_sim.services.prompt import read_prompt
from echo_workers.gemini_sim.services.recorder import JSON_HEADERS, STREAM_HEADERS


async def _list(request: Request) -> Response:
    caller_of(request)
    query = request.query_params
    return json_response(
        list_models(
            state_of(request),
            query.get("pageSize", query.get("page_size")),
            query.get("pageToken", query.get("page_token")),
        )
    )


async def _get(request: Request) -> Response:
    caller_of(request)
    model = find_model(
        request.path_params["model"],
        request.path_params["version"],
        "getModel",
        with_retired=state_of(request).settings.serve_retired_models,
    )
    return json_response(model.resource())


async def _call(request: Request) -> Response:
    model_id, _, method = request.path_params["call"].rpartition(":")
    match method:
        case "generateContent" | "streamGenerateContent":
            return await _generate(request, model_id, method)
        case "countTokens":
            return await _count(request, model_id)
        case _:
            raise model_not_found(model_id, request.path_params["version"], method)


async def _generate(request: Request, model_id: str, method: str) -> Response:
    state, version = state_of(request), request.path_params["version"]
    key = caller_of(request)
    model = find_model(model_id, version, method, with_retired=state.settings.serve_retired_models)
    prompt = read_prompt(parse_json(await request.body()), model, "ai_studio", key, state)
    entry = entry_of(request)
    entry.prompt_tokens, entry.cached_tokens = prompt.prompt_tokens, prompt.cached_tokens
    state.answers += 1
    generation = Generation(prompt=prompt, state=state, stream=method.startswith("stream"), serial=state.answers)
    if not generation.stream:
        return json_response(generation.whole())
    is_sse = request.query_params.get("alt") == "sse"
    return StreamingResponse(
        _frames(generation, is_sse=is_sse), headers=STREAM_HEADERS if is_sse else JSON_HEADERS, media_type=None
    )


async def _frames(generation: Generation, *, is_sse: bool) -> AsyncIterator[bytes]:
    delay_s = generation.state.settings.chunk_delay_ms / 1_000
    first = True
    for chunk in generation.chunks():
        await asyncio.sleep(delay_s)
        yield sse_event(chunk) if is_sse else array_frame(chunk, first=first)
        first = False
    if not is_sse:
        yield b"]"


async def _count(request: Request, model_id: str) -> Response:
    state = state_of(request)
    caller_of(request)
    version = request.path_params["version"]
    model = find_model(model_id, version, "countTokens", with_retired=state.settings.serve_retired_models)
    body: dict[str, Any] = parse_json(await request.body())
    return json_response(count_tokens(body, model, state))


def routes() -> list[Route]:
    """The endpoints of this file."""
    prefix = "/{version:str}/models"
    return [
        Route(prefix, refusing(_list), methods=["GET"]),
        Route(prefix + "/{model:str}", refusing(_get), methods=["GET"]),
        Route(prefix + "/{call:str}", refusing(_call), methods=["POST"]),
    ]
