"""The state of this machine as far as a turn cares, one watch an event loop."""

import asyncio
from weakref import WeakKeyDictionary

from echo_constants import EchoError
from echo_runtime.health import Health

_watches: "WeakKeyDictionary[asyncio.AbstractEventLoop, Health]" = WeakKeyDictionary()


async def finding() -> EchoError | None:
    """What was wrong with the data folder at the last look, None when nothing was."""
    loop = asyncio.get_running_loop()
    watch = _watches.get(loop)
    if watch is None:
        watch = _watches[loop] = await asyncio.to_thread(_watch)
    return watch.finding()


def _watch() -> Health:
    from echo_http import SystemClock  # heavy: in a thread, and only here
    from echo_runtime._owui_routes import echo_data_dir

    return Health(echo_data_dir(), SystemClock())
