"""What every route needs: the shared state, who calls, and refusals as responses."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from echo_workers.gemini_sim.core.errors import GoogleRefusal, bad_key, invalid, missing_key, unauthenticated
from echo_workers.gemini_sim.core.frames import JSON_HEADERS, pretty
from echo_workers.gemini_sim.core.models import ServerModel, find_model
from echo_workers.gemini_sim.core.wire import parse_json
from echo_workers.gemini_sim.services.journal import Entry
from echo_workers.gemini_sim.services.prompt import Caller
from echo_workers.gemini_sim.services.state import SimState

Handler = Callable[[Request], Awaitable[Response]]
_BAD: Final = "bad-"
#: Source: Google's 400 text, quoted in many issues; newer docs speak of 100 MB, so this is the strict side.
_MAX_BODY_BYTES: Final = 20_971_520
#: API versions that are served. Source: SDK default v1 since 3.0, v1beta before; v1alpha is a superset (documented).
VERSIONS: Final = ("v1", "v1beta", "v1alpha")


def state_of(request: Request) -> SimState:
    """The simulator that this application belongs to."""
    state: SimState = request.app.state.sim
    return state


def entry_of(request: Request) -> Entry:
    """The journal row of this request."""
    entry: Entry = request.scope["sim_entry"]
    return entry


def base_url(request: Request) -> str:
    """Scheme, host and port that the client used."""
    return f"{request.url.scheme}://{request.url.netloc}"


def bearer_of(request: Request) -> str:
    """The bearer token, "" when there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def caller_of(request: Request) -> Caller:
    """Who calls the public API: an API key (header or query) or an OAuth token.

    Any non-empty key is good except those that begin with `bad-`.

    Raises:
        GoogleRefusal: 403 without any identity, 400 for a bad key, 401 for a dead token.
    """
    query = parse_qs(request.url.query)
    key = request.headers.get("x-goog-api-key") or next(iter(query.get("key", [])), "")
    if key:
        if key.startswith(_BAD):
            raise bad_key()
        return Caller(key=key)
    if not bearer_of(request):
        raise missing_key()
    return Caller(key=identity_of(request))


def identity_of(request: Request) -> str:
    """Whom the bearer token stands for.

    Raises:
        GoogleRefusal: 401.
    """
    state = state_of(request)
    identity = state.accounts.identity(bearer_of(request), state.clock.now_s())
    if identity is None:
        raise unauthenticated()
    return identity


def version_of(request: Request) -> str:
    """The API version in the path.

    Raises:
        GoogleRefusal: 404, no such version.
    """
    version: str = request.path_params["version"]
    if version not in VERSIONS:
        raise GoogleRefusal(404, "Requested entity was not found.")
    return version


def model_of(request: Request, name: str, method: str) -> ServerModel:
    """A model that has this method. Raises as `find_model`."""
    with_retired = state_of(request).settings.serve_retired_models
    return find_model(name, version_of(request), method, with_retired=with_retired)


async def json_of(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises as `parse_json`, and for a body that is too large."""
    body = await request.body()
    if len(body) > _MAX_BODY_BYTES:
        raise invalid(f"Request payload size exceeds the limit: {_MAX_BODY_BYTES} bytes.")
    return parse_json(body)


def paging(request: Request) -> tuple[str | None, str | None]:
    """(page size, page token) in either spelling."""
    query = request.query_params
    return query.get("pageSize", query.get("page_size")), query.get("pageToken", query.get("page_token"))


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
