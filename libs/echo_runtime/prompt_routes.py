"""The HTTP side of the administrators' page of prompts; knows FastAPI, not Open WebUI."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from echo_prompts import MAX_PROMPT_CHARS, PLACEHOLDERS, prompt_key, shipped
from echo_runtime.key_routes import EchoRoute, Guard, require_bearer, serve_file
from echo_runtime.prompt_desk import PromptDesk

OpenDesk = Callable[[], Awaitable[PromptDesk]]


class TextForm(BaseModel):
    """A text for a prompt; one that is only a little too long is told as such by `check_text`."""

    text: str = Field(max_length=2 * MAX_PROMPT_CHARS)


class VersionForm(BaseModel):
    """A version that is to hold again; 0 is the shipped text."""

    version: int = Field(ge=0)


def build_prompt_routes(desk: OpenDesk, *, user: Guard, active: Guard) -> list[Any]:
    """The page, and its data under `/echo/api/admin/prompts` for administrators.

    Args:
        desk: opens what reads and changes the prompts; built at first use.
        user: FastAPI dependency that gives the signed-in user (with `name` and `role`) or refuses.
        active: FastAPI dependency that refuses while ECHO is switched off.
    """

    def administrator(who: Annotated[Any, Depends(user)]) -> Any:
        """Open WebUI's own guard answers 401 to other users, too, which the page takes for signed out."""
        if who.role != "admin":
            raise HTTPException(403)
        return who

    router = APIRouter(prefix="/echo", route_class=EchoRoute, dependencies=[Depends(active)])

    @router.get("/hud/prompts")
    def page(request: Request) -> Response:  # a plain function, which FastAPI runs in a thread, because it reads a file
        return serve_file(request, "prompts.html")

    data = APIRouter(
        prefix="/api/admin/prompts",
        route_class=EchoRoute,
        dependencies=[Depends(require_bearer), Depends(administrator)],
    )
    _add_reading(data, desk)
    _add_changes(data, desk, Annotated[Any, Depends(administrator)])
    router.include_router(data)
    return list(router.routes)


async def _shown(desk: PromptDesk, name: str, locale: str) -> dict[str, Any]:
    """One prompt: the text that holds, the shipped one, every version between, newest first."""
    key = prompt_key(name, locale)
    return {
        "prompt": asdict(await desk.state(name, locale)),
        "shipped": shipped(*key).text,
        "placeholders": sorted(f"##{each}##" for each in PLACEHOLDERS.get(key[0], ())),
        "versions": [asdict(version) for version in reversed(await desk.history(name, locale))],
    }


def _add_reading(router: APIRouter, desk: OpenDesk) -> None:
    @router.get("")
    async def states() -> dict[str, Any]:
        """How each prompt stands, without its text."""
        shown = [asdict(state) for state in await (await desk()).states()]
        return {"prompts": [{key: value for key, value in state.items() if key != "text"} for state in shown]}

    @router.get("/{name}/{locale}")
    async def show(name: str, locale: str) -> dict[str, Any]:
        return await _shown(await desk(), name, locale)

    @router.post("/{name}/{locale}/preview")
    async def preview(name: str, locale: str, form: TextForm) -> dict[str, Any]:
        """What a text would be; nothing is changed."""
        return asdict(await (await desk()).preview(name, locale, form.text))


def _add_changes(router: APIRouter, desk: OpenDesk, current: Any) -> None:
    @router.put("/{name}/{locale}")
    async def put(name: str, locale: str, form: TextForm, user: current) -> dict[str, Any]:
        running = await desk()
        await running.put(name, locale, form.text, user.name)
        return await _shown(running, name, locale)

    @router.post("/{name}/{locale}/rollback")
    async def roll_back(name: str, locale: str, form: VersionForm, user: current) -> dict[str, Any]:
        running = await desk()
        await running.roll_back(name, locale, form.version, user.name)
        return await _shown(running, name, locale)
