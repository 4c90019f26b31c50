"""A fixture that fails a test when code of ours blocks the event loop."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import forbiddenfruit
import pytest
from blockbuster import BlockBuster, BlockingError

__all__ = ["BlockingError", "blocking_refused", "no_blocking"]

#: Workers are imported through the link libs/echo_workers, so their frames lie below this folder too.
LIBS = Path(__file__).resolve().parents[1] / "libs"


@contextmanager
def blocking_refused(below: Path | None = None) -> Iterator[BlockBuster]:
    """Refuse blocking calls on the event loop; with `below`, only when a frame of that folder is on the stack.

    BlockBuster's patch of a C type leaves its wrapper behind in the type's dictionary under `_c_<name>`. The wrapper
    holds standard output, and the interpreter crashes when it frees both at exit, so it is removed here.
    """
    scanned = None
    if below is not None:
        scanned = ModuleType("scanned")
        scanned.__file__ = f"{below}/"
    guard = BlockBuster([scanned] if scanned else None)
    guard.activate()
    try:
        yield guard
    finally:
        guard.deactivate()
        for function in guard.functions.values():
            left_behind = f"_c_{function.func_name}"
            if left_behind in vars(function.module):
                forbiddenfruit.reverse(function.module, left_behind)


@pytest.fixture
def no_blocking() -> Iterator[BlockBuster]:
    """Refuse blocking calls (disk, sleep, sockets, SQLite) made on the event loop by any `echo_*` package.

    A test's own file reads stay free. The call raises `BlockingError` where it happens. Ask for the fixture in an
    async test of an adapter or of the composition root.
    """
    with blocking_refused(LIBS) as guard:
        yield guard
