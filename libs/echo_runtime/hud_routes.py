"""The HTTP side of the HUD; knows FastAPI, not Open WebUI.

Everything answers for the signed-in user's own chats only.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from echo_constants import Locale
from echo_core.ports import ShadowStore
from echo_runtime.compaction_desk import MAX_NOTE_BYTES, CompactionDesk
from echo_runtime.compaction_entry import act
from echo_runtime.hud import Hud
from echo_runtime.hud_compaction import checkpoint_text
from echo_runtime.hud_embed import chart_payload
from echo_runtime.key_routes import EchoRoute, Guard, require_bearer
from echo_runtime.turn_context import Display

#: The records of one chat of one user: None where there are none or where they are somebody else's.
OpenChat = Callable[[str, str], AbstractAsyncContextManager[ShadowStore | None]]


class ChatForm(BaseModel):
    """A chat of the user."""

    chat_id: str


class MessageForm(ChatForm):
    """An answer in a chat of the user."""

    message_id: str


class PinForm(MessageForm):
    """A message of the user's chat that is to stay word for word, or no longer."""

    pinned: bool


class CheckpointForm(ChatForm):
    """The user's own words for a checkpoint."""

    checkpoint_id: str
    text: str = Field(min_length=1, max_length=MAX_NOTE_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class HudHost:
    """What the routes need of Open WebUI.

    Args:
        hud: makes gauges; built at first use.
        open_chat: by user id and chat id.
        display: where a user sees the gauge.
        is_echo: whether one of the model names that the page shows is ECHO's.
        desk: changes compactions, of the user's own chats only.
    """

    hud: Callable[[], Awaitable[Hud]]
    open_chat: OpenChat
    display: Callable[[str], Awaitable[Display]]
    is_echo: Callable[[list[str]], Awaitable[bool]]
    desk: Callable[[], CompactionDesk]


def build_hud_routes(host: HudHost, *, user: Guard, active: Guard) -> list[Any]:
    """The HUD's routes under `/echo/api/hud`.

    Args:
        host: does the work.
        user: FastAPI dependency that gives the signed-in user (with `id`) or refuses.
        active: FastAPI dependency that refuses while ECHO is switched off.
    """
    router = APIRouter(
        prefix="/echo/api/hud", route_class=EchoRoute, dependencies=[Depends(active), Depends(require_bearer)]
    )
    current = Annotated[Any, Depends(user)]
    names = Annotated[list[str], Query(max_length=16)]

    @router.get("")
    async def state(user: current, chat_id: str = "", zone: str = "", model: names = []) -> dict[str, Any]:  # noqa: B006
        """What the page's script shows: whether at all, and the gauge of the chat that is open."""
        display = await host.display(user.id)
        answer: dict[str, Any] = {"display": display, "is_echo": await host.is_echo(model), "gauge": None}
        if not chat_id or display != "page":
            return answer
        async with host.open_chat(user.id, chat_id) as store:
            if store is None:
                return answer  # the same for a new chat, one that is not ECHO's, and somebody else's
            gauge = await (await host.hud()).gauge(store, chat_id, user.id, zone)
        return {**answer, "gauge": gauge.payload()}

    @router.get("/charts")
    async def charts(user: current, chat_id: str, locale: Locale = "en") -> dict[str, Any]:
        """The charts of one of the user's chats; none for any other."""
        async with host.open_chat(user.id, chat_id) as store:
            drawn = () if store is None else await (await host.hud()).charts(store, locale)
        return {"charts": [chart_payload(chart, locale) for chart in drawn]}

    _add_compaction(router, host, user)
    return list(router.routes)


def _add_compaction(router: APIRouter, host: HudHost, user: Guard) -> None:
    """Look at the checkpoint, put own words in its place, pin messages, take the compaction back."""
    current = Annotated[Any, Depends(user)]

    @router.get("/checkpoint")
    async def checkpoint(user: current, chat_id: str) -> dict[str, Any]:
        async with host.open_chat(user.id, chat_id) as store:
            return {"checkpoint": None if store is None else await checkpoint_text(store)}

    @router.put("/checkpoint")
    async def edit(user: current, form: CheckpointForm) -> dict[str, Any]:
        await host.desk().edit(form.chat_id, user.id, form.checkpoint_id, form.text)
        return {"done": True}

    @router.post("/compact")
    async def compact(user: current, form: MessageForm, request: Request) -> dict[str, Any]:
        told: list[str] = []

        async def hear(event: dict[str, Any]) -> None:
            told.append(str(event["data"]["description"]))

        async with host.open_chat(user.id, form.chat_id) as store:
            if store is not None:
                body = {"chat_id": form.chat_id, "id": form.message_id}
                await act(body, {"id": user.id, "role": user.role}, hear, None, request)
        return {"told": " ".join(told)}

    @router.post("/pin")
    async def pin(user: current, form: PinForm) -> dict[str, Any]:
        return {"pins": await host.desk().pin(form.chat_id, user.id, form.message_id, pinned=form.pinned)}

    @router.post("/undo")
    async def undo(user: current, form: ChatForm) -> dict[str, Any]:
        await host.desk().undo(form.chat_id, user.id)
        return {"done": True}
