"""`/v1internal:*`: the Code Assist backend."""

import hashlib
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from echo_workers.gemini_sim.core.code_assist import error_body
from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.routes.common import (
    Handler,
    entry_of,
    identity_of,
    json_of,
    json_response,
)
from echo_workers.gemini_sim.routes.models import stream_response
from echo_workers.gemini_sim.services.code_assist import CodeAssist

#: Source: recorded header of a real answer.
_TRACE_HEADER: Final = "x-cloudaicompanion-trace-id"


def _service(request: Request) -> CodeAssist:
    service: CodeAssist = request.app.state.code_assist
    return service


def _refusing(handler: Handler) -> Handler:
    """Errors of this backend; those of a stream come in a one-element array (third-party)."""

    async def wrapped(request: Request) -> Response:
        try:
            return await handler(request)
        except GoogleRefusal as refusal:
            body: Any = error_body(refusal)
            if request.url.path.endswith(":streamGenerateContent"):
                body = [body]
            return json_response(body, refusal.http_status)

    return wrapped


async def _call(request: Request) -> Response:
    identity, method = identity_of(request), request.path_params["method"]
    service, body = _service(request), await json_of(request)
    if method not in ("generateContent", "streamGenerateContent"):
        return json_response(service.call(method, body, identity))
    prompt = service.prompt(body, identity)
    entry = entry_of(request)
    entry.prompt_tokens, entry.cached_tokens = prompt.prompt_tokens, prompt.cached_tokens
    generation = service.generation(prompt, stream=method == "streamGenerateContent")
    entry.signed = generation.signed
    trace = hashlib.sha256(generation.response_id.encode()).hexdigest()[:16]

    def wrap(chunk: dict[str, Any]) -> dict[str, Any]:
        return {"response": chunk, "traceId": trace}

    response = (
        stream_response(request, generation, wrap) if generation.stream else json_response(wrap(generation.whole()))
    )
    response.headers[_TRACE_HEADER] = trace
    return response


async def _operation(request: Request) -> Response:
    identity_of(request)
    return json_response(_service(request).operation(f"operations/{request.path_params['name']}"))


def routes() -> list[Route]:
    """The endpoints of this file."""
    return [
        Route("/v1internal:{method:str}", _refusing(_call), methods=["POST"]),
        Route("/v1internal/operations/{name:str}", _refusing(_operation), methods=["GET"]),
    ]
