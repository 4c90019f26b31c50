"""`/v1` and `/v1beta`: models, generateContent, streamGenerateContent, countTokens, embeddings."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from echo_workers.gemini_sim.core.errors import model_not_found
from echo_workers.gemini_sim.core.frames import JSON_HEADERS, STREAM_HEADERS, array_frame, sse_event
from echo_workers.gemini_sim.routes.common import (
    caller_of,
    entry_of,
    json_of,
    json_response,
    model_of,
    paging,
    refusing,
    state_of,
    version_of,
)
from echo_workers.gemini_sim.services.catalogue import list_models
from echo_workers.gemini_sim.services.count import count_tokens
from echo_workers.gemini_sim.services.embed import embed_batch, embed_one
from echo_workers.gemini_sim.services.generate import Generation
from echo_workers.gemini_sim.services.prompt import read_prompt


async def _list(request: Request) -> Response:
    caller_of(request)
    version_of(request)
    return json_response(list_models(state_of(request), *paging(request)))


async def _get(request: Request) -> Response:
    caller_of(request)
    return json_response(model_of(request, request.path_params["model"], "getModel").resource())


async def _call(request: Request) -> Response:
    name, _, method = request.path_params["call"].rpartition(":")
    match method:
        case "generateContent" | "streamGenerateContent":
            return await _generate(request, name, method)
        case "countTokens":
            caller = caller_of(request)
            model = model_of(request, name, method)
            return json_response(count_tokens(await json_of(request), model, caller, state_of(request)))
        case "embedContent" | "batchEmbedContents":
            caller_of(request)
            model = model_of(request, name, "embedContent")
            body = await json_of(request)
            return json_response(embed_one(body, model) if method == "embedContent" else embed_batch(body, model))
        case _:
            raise model_not_found(name, version_of(request), method)


async def _generate(request: Request, name: str, method: str) -> Response:
    state, caller = state_of(request), caller_of(request)
    model = model_of(request, name, "generateContent")
    prompt = read_prompt(await json_of(request), model, caller, state)
    entry = entry_of(request)
    entry.prompt_tokens, entry.cached_tokens = prompt.prompt_tokens, prompt.cached_tokens
    is_stream = method == "streamGenerateContent"
    generation = Generation(prompt=prompt, state=state, stream=is_stream, serial=state.next_serial())
    entry.signed = generation.signed
    if not is_stream:
        return json_response(generation.whole())
    return stream_response(request, generation)


def stream_response(
    request: Request, generation: Generation, wrap: Callable[[dict[str, Any]], dict[str, Any]] = dict
) -> Response:
    """The chunks as server-sent events with `alt=sse`, as one JSON array without; `wrap` puts each in an envelope."""
    is_sse = request.query_params.get("alt") == "sse"
    frames = _events(generation, wrap) if is_sse else _array(generation, wrap)
    return StreamingResponse(frames, headers=STREAM_HEADERS if is_sse else JSON_HEADERS)


async def _paced(generation: Generation) -> AsyncIterator[dict[str, Any]]:
    delay_s = generation.state.settings.chunk_delay_ms / 1_000
    for chunk in generation.chunks():
        await asyncio.sleep(delay_s)
        yield chunk


async def _events(generation: Generation, wrap: Callable[[dict[str, Any]], dict[str, Any]]) -> AsyncIterator[bytes]:
    async for chunk in _paced(generation):
        yield sse_event(wrap(chunk))


async def _array(generation: Generation, wrap: Callable[[dict[str, Any]], dict[str, Any]]) -> AsyncIterator[bytes]:
    first = True
    async for chunk in _paced(generation):
        yield array_frame(wrap(chunk), first=first)
        first = False
    yield b"\r\n]\r\n"


def routes() -> list[Route]:
    """The endpoints of this file."""
    prefix = "/{version:str}/models"
    return [
        Route(prefix, refusing(_list), methods=["GET"]),
        Route(prefix + "/{model:str}", refusing(_get), methods=["GET"]),
        Route(prefix + "/{call:str}", refusing(_call), methods=["POST"]),
    ]
