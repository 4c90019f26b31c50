"""The application that `echoctl serve` gives to uvicorn: Open WebUI, with ECHO installed before it starts.

Importing this module imports all of Open WebUI.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from echo_cli._functions import discover_functions
from echo_cli._installer import function_form
from echo_paths import EchoPaths
from echo_runtime._owui_install import WantedFunction, install_functions
from echo_runtime._owui_serve import application
from echo_runtime.bundle_setup import MARK, BundledFunction

logger = logging.getLogger(__name__)


async def install() -> None:
    """Bring ECHO's functions into Open WebUI's database; one worker at a time, the others then find them there."""
    functions = discover_functions()
    wanted = [
        WantedFunction(
            listed=BundledFunction(id=function.id, kind=function.kind, scope=function.scope),
            form=function_form(function, "installed"),
        )
        for function in functions
    ]
    lock = _install_lock()
    await anyio.to_thread.run_sync(lock.__enter__)
    try:
        actions = await install_functions(wanted, MARK)
    finally:
        lock.__exit__(None, None, None)
    logger.info("ECHO's functions: %s", ", ".join(f"{name} {action}" for name, action in actions.items()))


@contextmanager
def _install_lock() -> Iterator[None]:
    root = EchoPaths.from_environment(os.environ).root
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (root / "install.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


app = application(install)
