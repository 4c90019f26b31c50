"""The HTTP side of the HUD; knows FastAPI, not Open WebUI.

Everything answers for the signed-in user's own chats only.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from echo_constants import Locale
from echo_core.ports import ShadowStore
from echo_runtime.hud import Hud
from echo_runtime.hud_embed import chart_payload
from echo_runtime.key_routes import EchoRoute, Guard, require_bearer
from echo_runtime.turn_context import Display

#: The records of one chat of one user: None where there are none or where they are somebody else's.
OpenChat = Callable[[str, str], AbstractAsyncContextManager[ShadowStore | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HudHost:
    """What the routes need of Open WebUI.

    Args:
        hud: makes gauges; built at first use.
        open_chat: by user id and chat id.
        display: where a user sees the gauge.
        is_echo: whether one of the model names that the page shows is ECHO's.
    """

    hud: Callable[[], Awaitable[Hud]]
    open_chat: OpenChat
    display: Callable[[str], Awaitable[Display]]
    is_echo: Callable[[list[str]], Awaitable[bool]]


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

    return list(router.routes)
