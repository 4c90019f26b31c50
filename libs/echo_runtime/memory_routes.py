"""The HTTP side of a user's memory page; knows FastAPI, not Open WebUI.

Whose memories are meant comes from the signed-in user alone: no address and no form names a user, so that nobody, an
administrator neither, can ask for those of somebody else.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from echo_core.memories import AXIOM, MAX_MEMORY_CHARS, TRIVIAL
from echo_runtime.key_routes import EchoRoute, Guard, require_bearer, serve_file
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.memory_exchange import (
    MAX_IMPORTED_AT_ONCE,
    MemoryForm,
    exported,
    import_memories,
    shown,
)

OpenMemories = Callable[[], Awaitable[MemoryDesk]]

#: Memories of one answer. Source: our choice.
_PAGE: Final = 50
_MAX_QUERY_CHARS: Final = 200


class EditForm(BaseModel):
    """A memory in the user's own words; one that is only a little too long is told as such."""

    text: str = Field(max_length=2 * MAX_MEMORY_CHARS)
    importance: int = Field(ge=TRIVIAL, le=AXIOM)


class PinForm(BaseModel):
    """Whether a memory is to be kept for good."""

    pinned: bool


class ImportForm(BaseModel):
    """A part of a file of memories."""

    memories: list[MemoryForm] = Field(max_length=MAX_IMPORTED_AT_ONCE)


def build_memory_routes(desk: OpenMemories, *, user: Guard, active: Guard) -> list[Any]:
    """The page, and its data under `/echo/api/memories`: the signed-in user's own.

    Args:
        desk: opens the memories; called with each request.
        user: FastAPI dependency that gives the signed-in user (with `id`) or refuses.
        active: FastAPI dependency that refuses while ECHO is switched off.
    """

    def whose(who: Annotated[Any, Depends(user)]) -> str:
        return str(who.id)

    router = APIRouter(prefix="/echo", route_class=EchoRoute, dependencies=[Depends(active)])

    @router.get("/hud/memory")
    def page(request: Request) -> Response:  # a plain function, which FastAPI runs in a thread, because it reads a file
        return serve_file(request, "memory.html")

    data = APIRouter(prefix="/api/memories", route_class=EchoRoute, dependencies=[Depends(require_bearer)])
    me = Annotated[str, Depends(whose)]
    _add_reading(data, desk, me)
    _add_changes(data, desk, me)
    router.include_router(data)
    return list(router.routes)


def _add_reading(router: APIRouter, desk: OpenMemories, me: Any) -> None:
    @router.get("")
    async def listed(
        user_id: me,
        query: Annotated[str, Query(max_length=_MAX_QUERY_CHARS)] = "",
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> dict[str, Any]:
        """What holds: pinned first, then the newest."""
        found = await (await desk()).list_memories(user_id, query, offset, _PAGE)
        return {"memories": [shown(memory) for memory in found.memories], "total": found.total}

    @router.get("/export")
    async def export(user_id: me) -> dict[str, Any]:
        return await exported(await desk(), user_id)

    @router.get("/{memory_id}/history")
    async def history(memory_id: str, user_id: me) -> dict[str, Any]:
        """A memory and what it took the place of, newest first."""
        return {"memories": [shown(memory) for memory in await (await desk()).history(user_id, memory_id)]}


def _add_changes(router: APIRouter, desk: OpenMemories, me: Any) -> None:
    @router.post("/import")
    async def import_part(form: ImportForm, user_id: me) -> dict[str, Any]:
        return asdict(await import_memories(await desk(), user_id, form.memories))

    @router.put("/{memory_id}")
    async def edit(memory_id: str, form: EditForm, user_id: me) -> dict[str, Any]:
        return shown(await (await desk()).edit(user_id, memory_id, form.text, form.importance))

    @router.put("/{memory_id}/pin")
    async def pin(memory_id: str, form: PinForm, user_id: me) -> dict[str, Any]:
        return shown(await (await desk()).pin(user_id, memory_id, form.pinned))

    @router.delete("/{memory_id}")
    async def forget(memory_id: str, user_id: me) -> dict[str, Any]:
        return {"forgotten": len(await (await desk()).forget(user_id, [memory_id]))}

    @router.delete("")
    async def forget_everything(user_id: me) -> dict[str, Any]:
        running = await desk()
        every = [memory.id for memory in await running.everything(user_id)]
        return {"forgotten": len(await running.forget(user_id, every))}
