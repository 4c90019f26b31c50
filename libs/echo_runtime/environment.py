"""The machine as far as a turn cares: its clock and the state of the data folder; one for each event loop."""

import asyncio
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from echo_core.ports import Clock
from echo_runtime.health import Health


@dataclass(frozen=True, slots=True)
class Machine:
    """What the stages ask.

    Args:
        clock: time.
        health: the data folder.
    """

    clock: Clock
    health: Health


_machines: "WeakKeyDictionary[asyncio.AbstractEventLoop, Machine]" = WeakKeyDictionary()


async def machine() -> Machine:
    """The machine, for the running event loop."""
    loop = asyncio.get_running_loop()
    found = _machines.get(loop)
    if found is None:
        found = _machines[loop] = await asyncio.to_thread(_machine)
    return found


def _machine() -> Machine:
    from echo_http import SystemClock  # heavy: in a thread, and only here
    from echo_runtime._owui_routes import echo_data_dir

    clock = SystemClock()
    return Machine(clock, Health(echo_data_dir(), clock))
