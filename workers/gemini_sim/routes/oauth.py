"""Google's sign-in endpoints: consent, token, revoke, userinfo."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from echo_workers.gemini_sim.routes.common import identity_of, refusing, state_of
from echo_workers.gemini_sim.services.accounts import USER, OAuthRefusal


async def _form(request: Request) -> dict[str, str]:
    text = (await request.body()).decode("utf-8", "replace")
    return {**request.query_params, **dict(parse_qsl(text, keep_blank_values=True))}


async def _authorise(request: Request) -> Response:
    """Grant consent at once; `login_hint=deny` stands for a user who presses cancel."""
    state, query = state_of(request), dict(request.query_params)
    try:
        if query.get("login_hint") == "deny":
            answer = {"error": "access_denied"}
        else:
            answer = {"code": state.accounts.authorise(query, state.clock.now_s()), "scope": query["scope"]}
    except OAuthRefusal as refusal:
        return JSONResponse(refusal.body(), refusal.http_status)
    if "state" in query:
        answer["state"] = query["state"]
    target = query.get("redirect_uri", "")
    joint = "&" if urlsplit(target).query else "?"
    return RedirectResponse(f"{target}{joint}{urlencode(answer)}", 302)


async def _token(request: Request) -> Response:
    state = state_of(request)
    try:
        return JSONResponse(state.accounts.token(await _form(request), state.clock.now_s()))
    except OAuthRefusal as refusal:
        return JSONResponse(refusal.body(), refusal.http_status)


async def _revoke(request: Request) -> Response:
    form = await _form(request)
    try:
        state_of(request).accounts.revoke(form.get("token", ""))
    except OAuthRefusal as refusal:
        return JSONResponse(refusal.body(), refusal.http_status)
    return JSONResponse({})


async def _userinfo(request: Request) -> Response:
    identity_of(request)
    return JSONResponse(USER)


def routes() -> list[Route]:
    """The endpoints of this file."""
    return [
        Route("/o/oauth2/v2/auth", _authorise, methods=["GET"]),
        Route("/token", _token, methods=["POST"]),
        Route("/revoke", _revoke, methods=["POST"]),
        Route("/oauth2/v2/userinfo", refusing(_userinfo), methods=["GET"]),
        Route("/oauth2/v3/userinfo", refusing(_userinfo), methods=["GET"]),
    ]
