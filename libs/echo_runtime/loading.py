"""Builds the runtime once an event loop, importing the heavy adapters in a thread."""

import asyncio
import importlib
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from echo_runtime.orchestrator import Orchestrator

_built: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[Any]]" = WeakKeyDictionary()


async def orchestrator() -> "Orchestrator":
    """The orchestrator of this event loop; connections and stores belong to one loop."""
    loop = asyncio.get_running_loop()
    future = _built.get(loop)
    if future is None:
        future = _built[loop] = asyncio.ensure_future(_build())
    try:
        return await asyncio.shield(future)
    except Exception:
        _built.pop(loop, None)  # what was wrong may be mended before the next call
        raise


async def _build() -> "Orchestrator":
    composition = await asyncio.to_thread(importlib.import_module, "echo_runtime.composition")
    return composition.build()  # type: ignore[no-any-return]
