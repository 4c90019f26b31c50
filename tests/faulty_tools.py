"""Tools that hang, throw, flood, lie and kill."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

HUGE = 2_000_000


async def hangs() -> str:
    await asyncio.Event().wait()
    return "never"


async def throws() -> str:
    raise ValueError("broken \ud800")


async def exits() -> str:
    sys.exit(3)


async def interrupts() -> str:
    raise KeyboardInterrupt


async def cancels() -> str:
    raise asyncio.CancelledError


async def several() -> str:
    raise BaseExceptionGroup("the server is gone", [ConnectionResetError("reset"), EOFError()])


async def floods() -> str:
    return "é" * HUGE


async def binary() -> bytes:
    return bytes(range(256)) * 1000


async def odd() -> Any:
    return {"nan": float("nan"), "when": object(), 7: {1, 2}}


async def nothing() -> None:
    return None


async def surrogate() -> str:
    return "half \ud83d"


def refuses(needed: str) -> str:
    return needed


FAULTS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        hangs,
        throws,
        exits,
        interrupts,
        cancels,
        several,
        floods,
        binary,
        odd,
        nothing,
        surrogate,
        refuses,
    )
}


async def fine(x: int = 0) -> str:
    return "fine"


async def kills() -> str:
    """Its work is done by a process of its own, which dies by SIGKILL."""
    code = "import os, signal; print('half', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    said, _ = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"the worker ended by {child.returncode} after {said!r}")
    return "whole"
