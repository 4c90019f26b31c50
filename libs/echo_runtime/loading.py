"""Builds the runtime once an event loop, importing the heavy adapters in a thread."""

import asyncio
import importlib
import logging
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from echo_constants import Bilingual, ConfigError

if TYPE_CHECKING:
    from echo_runtime.orchestrator import Orchestrator

log = logging.getLogger(__name__)

_built: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[Any]]" = WeakKeyDictionary()


class LibrariesUnfit(ConfigError):
    """A package that ECHO stands on is missing or is another one than ECHO was made for."""

    code = "libraries_unfit"
    message = Bilingual(
        en="A package that ECHO needs is missing on the server, or another plugin changed its version.",
        fr="Un paquet nécessaire à ECHO manque sur le serveur, ou un autre plugin en a changé la version.",
    )
    remedy = Bilingual(
        en="Administrator: `echoctl doctor` names it and says what to install; the log has the details.",
        fr="Administrateur : `echoctl doctor` le nomme et dit quoi installer ; le journal donne les détails.",
    )


async def orchestrator() -> "Orchestrator":
    """The orchestrator of this event loop; connections and stores belong to one loop.

    Raises:
        LibrariesUnfit: an adapter cannot be imported.
        StateError: the secret or the data folder is not usable.
    """
    loop = asyncio.get_running_loop()
    future = _built.get(loop)
    if future is None:
        future = _built[loop] = asyncio.ensure_future(_build())
    try:
        return await asyncio.shield(future)
    except Exception:
        _built.pop(loop, None)  # what was wrong may be mended before the next call
        raise


async def warm_up() -> None:
    """Build the runtime before the first question comes; what stands in its way is logged now, not only then."""
    try:
        await orchestrator()
    except Exception:  # whoever asks is told too
        log.exception("ECHO cannot answer until this is mended; `echoctl doctor` says how")


def adapter(name: str) -> ModuleType:
    """Import a module that stands on packages of others.

    Raises:
        LibrariesUnfit: one of them is missing or foreign.
    """
    try:
        return importlib.import_module(name)
    except (ImportError, AttributeError, TypeError) as error:  # what a foreign version of a package looks like
        raise LibrariesUnfit(f"{type(error).__name__}: {error}") from error


async def _build() -> "Orchestrator":
    composition = await asyncio.to_thread(adapter, "echo_runtime.composition")
    return composition.build()  # type: ignore[no-any-return]
