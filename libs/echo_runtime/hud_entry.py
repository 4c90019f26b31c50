"""What ECHO's HUD action imports: light, because Open WebUI loads it on its event loop."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from echo_constants import Bilingual, Locale
from echo_runtime.call import Emitter, request_locale
from echo_runtime.loading import adapter

NOT_YOURS: Final = Bilingual(
    en="ECHO has no figures of this chat for you.", fr="ECHO n'a pas de chiffres de cette conversation pour vous."
)


async def show_context(body: Mapping[str, Any], user: Mapping[str, Any], request: Any, emit: Emitter | None) -> Any:
    """The gauge and charts of a chat as a document that Open WebUI shows below the answer.

    Args:
        body: an action's: `chat_id` names the chat.
        user: who asks; only the chat's owner gets its figures.
        request: tells the language.
        emit: tells the page when there is nothing to show; the answer is None then.
    """
    from starlette.responses import HTMLResponse  # by now the server has it; when the function was loaded, maybe not

    locale = request_locale({}, request)
    page = await _page(str(body.get("chat_id") or ""), user, locale)
    if page is not None:
        return HTMLResponse(page, headers={"Content-Disposition": "inline"})
    if emit is not None:
        await emit({"type": "notification", "data": {"type": "info", "content": NOT_YOURS.render(locale)}})
    return None


async def _page(chat_id: str, user: Mapping[str, Any], locale: Locale) -> str | None:
    embed = await asyncio.to_thread(adapter, "echo_runtime.hud_embed")
    host = await asyncio.to_thread(adapter, "echo_runtime.hud_host")
    user_id = str(user.get("id") or "")
    async with host.own_chat(user_id, chat_id) as store:
        if store is None:
            return None
        hud = await host.running_hud()
        gauge = await hud.gauge(store, chat_id, user_id, str(user.get("timezone") or ""))
        charts = await hud.charts(store, locale)
    page: str = await asyncio.to_thread(embed.embed_page, gauge, charts, locale)
    return page
