"""Open WebUI's application with work of ours before its start-up (imports `open_webui`)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from open_webui.main import app as open_webui_app


def application(before_start: Callable[[], Awaitable[None]]) -> FastAPI:
    """Open WebUI's own application object, told to do something first.

    Args:
        before_start: awaited once a process, after the database is migrated and before Open WebUI's own start-up.
    """
    app: FastAPI = open_webui_app
    theirs = app.router.lifespan_context

    @asynccontextmanager
    async def ours(served: FastAPI) -> AsyncIterator[Any]:
        await before_start()
        async with theirs(served) as state:
            yield state

    app.router.lifespan_context = ours
    return app
