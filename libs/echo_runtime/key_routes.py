"""The HTTP side of ECHO's key page; knows FastAPI, not Open WebUI."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, SecretStr

from echo_constants import ECHO_VERSION, LOCALES, AuthError, Bilingual, EchoError
from echo_runtime.key_service import KeyService
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore
from echo_ui import static_file

#: No inline script or style, nothing from elsewhere, no framing by others.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_GUARDED: Final = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_PRIVATE: Final = {**_GUARDED, "Cache-Control": "no-store"}

Guard = Callable[..., Any]


MALFORMED: Final = Bilingual(
    en="What was sent does not have the form that this address takes; nothing was changed.",
    fr="L'envoi n'a pas la forme que cette adresse attend ; rien n'a été modifié.",
)


class KeyForm(BaseModel):
    """A key as the page sends it; the value does not show in errors."""

    key: SecretStr


class EchoRoute(APIRoute):
    """Answers ECHO's errors with their code and their text in both languages; nothing is cached."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """As FastAPI asks for it."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                response = await handler(request)
            except EchoError as error:
                status = _status(error)
                texts = {locale: error.user_message(locale) for locale in LOCALES}
                response = JSONResponse({"code": error.code, "message": texts}, status)
            except RequestValidationError:  # its own text would hold what was typed, which may be a key
                response = JSONResponse({"code": "malformed", "message": {"en": MALFORMED.en, "fr": MALFORMED.fr}}, 422)
            response.headers.update({name: value for name, value in _PRIVATE.items() if name not in response.headers})
            return response

        return guarded


def _status(error: EchoError) -> int:
    """What tells a page that an error happened: 4xx is about what it asked for, 503 about us."""
    if isinstance(error, AuthError):
        return 400  # the key in the form is wrong, not the right to call
    return error.api_status if error.api_status < 500 else 503


def require_bearer(request: Request) -> None:
    """Refuse a request that only carries the cookie, which a browser also sends when another page asks it to.

    Raises:
        HTTPException: 401.
    """
    if not request.headers.get("Authorization", "").lower().startswith("bearer "):
        raise HTTPException(401)


def build_routes(
    service: KeyService, identity: IdentityStore, *, user: Guard, admin: Guard, active: Guard
) -> list[Any]:
    """The routes under `/echo`.

    Args:
        service: does the work.
        identity: asked for the health answer.
        user: FastAPI dependency that gives the signed-in user (with `id` and `role`) or refuses.
        admin: the same for administrators.
        active: FastAPI dependency that refuses while ECHO is switched off.
    """
    router = APIRouter(prefix="/echo", route_class=EchoRoute, dependencies=[Depends(active)])
    _add_page(router)
    _add_user_routes(router, service, user)
    _add_admin_routes(router, service, admin)

    @router.get("/api/health")
    async def health() -> dict[str, str]:
        try:
            await identity.open()
        except EchoError as error:
            return {"status": "degraded", "version": ECHO_VERSION, "code": error.code}
        return {"status": "ok", "version": ECHO_VERSION}

    return list(router.routes)


def _add_page(router: APIRouter) -> None:
    # Plain functions: FastAPI runs them in a thread, because they read files.
    @router.get("/hud/keys")
    def page(request: Request) -> Response:
        return serve_file(request, "keys.html")

    @router.get("/hud/static/{name}")
    def static(request: Request, name: str) -> Response:
        return serve_file(request, name)


def serve_file(request: Request, name: str) -> Response:
    """A file of ECHO's pages. Blocks: it reads a file.

    Raises:
        HTTPException: 404.
    """
    found = static_file(name)
    if found is None:
        raise HTTPException(404)
    headers = {**_GUARDED, "Cache-Control": "no-cache", "ETag": found.etag}
    if found.media_type == "text/html":
        headers["Content-Security-Policy"] = _POLICY
    if request.headers.get("If-None-Match") == found.etag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


def _add_user_routes(router: APIRouter, service: KeyService, guard: Guard) -> None:
    bearer = [Depends(require_bearer)]
    current = Annotated[Any, Depends(guard)]

    async def show(user: Any) -> dict[str, Any]:
        key = await service.stored(user.id)
        return {
            "keys": [asdict(key)] if key else [],
            "fallback": await service.fallback(),
            "simulated": await service.simulated(),
            "admin": user.role == "admin",
        }

    @router.get("/api/keys", dependencies=bearer)
    async def show_keys(user: current) -> dict[str, Any]:
        return await show(user)

    @router.put("/api/keys", dependencies=bearer)
    async def put_key(form: KeyForm, user: current) -> dict[str, Any]:
        await service.put(user.id, form.key.get_secret_value())
        return await show(user)

    @router.delete("/api/keys", dependencies=bearer)
    async def delete_key(user: current) -> dict[str, Any]:
        await service.delete(user.id)
        return await show(user)

    @router.post("/api/keys/test", dependencies=bearer)
    async def test_key(user: current, form: KeyForm | None = None) -> dict[str, str]:
        return {"verdict": await service.test(user.id, _typed(form))}


def _add_admin_routes(router: APIRouter, service: KeyService, guard: Guard) -> None:
    bearer = [Depends(require_bearer), Depends(guard)]

    async def show() -> dict[str, Any]:
        key = await service.stored(INSTANCE_OWNER)
        return {
            "keys": [asdict(key)] if key else [],
            "fallback": await service.fallback(),
            "simulated": await service.simulated(),
        }

    @router.get("/api/admin/key", dependencies=bearer)
    async def show_instance_key() -> dict[str, Any]:
        return await show()

    @router.put("/api/admin/key", dependencies=bearer)
    async def put_instance_key(form: KeyForm) -> dict[str, Any]:
        await service.put(INSTANCE_OWNER, form.key.get_secret_value())
        return await show()

    @router.delete("/api/admin/key", dependencies=bearer)
    async def delete_instance_key() -> dict[str, Any]:
        await service.delete(INSTANCE_OWNER)
        return await show()

    @router.post("/api/admin/key/test", dependencies=bearer)
    async def test_instance_key(form: KeyForm | None = None) -> dict[str, str]:
        return {"verdict": await service.test(INSTANCE_OWNER, _typed(form))}


def _typed(form: KeyForm | None) -> str | None:
    return None if form is None else form.key.get_secret_value()
