"""What every route needs: the shared state, who calls, and refusals as responses."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from echo_workers.gemini_sim.core.errors import GoogleRefusal, bad_key, missing_key
from echo_workers.gemini_sim.core.frames import pretty
from echo_workers.gemini_sim.services.journal import Entry
from echo_workers.gemini_sim.services.recorder import JSON_HEADERS
from echo_workers.gemini_sim.services.state import SimState

Handler = Callable[[Request], Awaitable[Response]]
_BAD: Final = "bad-"


def state_of(request: Request) -> SimState:
    """The simulator that this application belongs to."""
    state: SimState = request.app.state.sim
    return state


def entry_of(request: Request) -> Entry:
    """The journal row of this request."""
    entry: Entry = request.scope["sim_entry"]
    return entry


def caller_of(request: Request) -> str:
    """The API key or bearer token.

    Any non-empty key is good except those that begin with `bad-`.

    Raises:
        GoogleRefusal: 403 without any identity, 400 for a bad key.
    """
    query = parse_qs(request.url.query)
    key = request.headers.get("x-goog-api-key") or next(iter(query.get("key", [])), "")
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    identity = key or bearer
    if not identity:
        raise missing_key()
    if identity.startswith(_BAD):
        raise bad_key()
    return identity


def json_response(value: Any, status: int = 200) -> Response:
    """A unary answer in Google's spelling."""
    return Response(pretty(value), status, headers=JSON_HEADERS)


def refusing(handler: Handler) -> Handler:
    """Turn a refusal into Google's envelope; without `alt=sse` a stream's error comes in an array (documented)."""

    async def wrapped(request: Request) -> Response:
        try:
            return await handler(request)
        except GoogleRefusal as refusal:
            body: Any = refusal.body()
            is_stream = request.url.path.endswith(":streamGenerateContent")
            if is_stream and request.query_params.get("alt") != "sse":
                body = [body]
            return json_response(body, refusal.http_status)

    return wrapped
