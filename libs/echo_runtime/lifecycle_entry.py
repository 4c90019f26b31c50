"""What the event function imports: light, because Open WebUI loads it on its event loop."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from echo_runtime.loading import adapter, warm_up

#: Published before Open WebUI serves its first request.
STARTUP: Final = "system.startup.started"
#: Published when Open WebUI stops.
SHUTDOWN: Final = "system.shutdown.started"
_MODULE: Final = "echo_runtime._owui_routes"
_BACKGROUND: Final = ("echo_runtime.retrieval", "echo_runtime.nightly")


async def on_event(app: Any, name: str, event: Mapping[str, Any], own_id: str) -> None:
    """Let ECHO react to one event of Open WebUI; builds the lifecycle of this process at the first one.

    Args:
        app: Open WebUI's application.
        name: the event's name, as `GET /api/events` lists them.
        event: its payload.
        own_id: id of the event function.

    Raises:
        EchoError: what ECHO could not do; Open WebUI logs it.
    """
    if name == STARTUP:
        # Deliberately on the event loop: ECHO's routes have to be there before the first request.
        routes = adapter(_MODULE)
    else:
        routes = await asyncio.to_thread(adapter, _MODULE)
    await routes.lifecycle_of(app).handle(name, event, own_id)
    if name == STARTUP:
        await warm_up()
        for module in _BACKGROUND:
            (await asyncio.to_thread(adapter, module)).begin()
    elif name == SHUTDOWN:
        for module in reversed(_BACKGROUND):
            await (await asyncio.to_thread(adapter, module)).end()
