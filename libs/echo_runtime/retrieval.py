"""Where passages are kept and searched: chosen by the environment, opened once, closed at shutdown.

QDRANT_URL names a server; without it the embedded engine works in ECHO's data folder, for one process. EMBEDDING_URL
names an embedding service; without it the packaged model works in this process. Connections
belong to an event loop, the embedded engine and the packaged model to the process.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from echo_constants import EchoError
from echo_core.passages import SESSION_RAG, PassageFilter
from echo_core.ports import Embedder
from echo_events import Happening
from echo_ingestion.records import ID_CHARS
from echo_memory import SERVICE_MODEL, EdgeEngine, PackagedEmbedder, PassageStore, ServerEngine, ServiceEmbedder
from echo_memory.points import PointStore
from echo_paths import EchoPaths
from echo_runtime import _owui, push_event
from echo_runtime.document_index import DOCUMENT_KIND, DocumentIndex, Indexable
from echo_runtime.memory_desk import MemoryDesk

log = logging.getLogger(__name__)

#: Environment variables. Source: docs/docker.md.
QDRANT_URL: Final = "QDRANT_URL"
QDRANT_API_KEY: Final = "QDRANT_API_KEY"
EMBEDDING_URL: Final = "EMBEDDING_URL"
EMBEDDING_MODEL: Final = "EMBEDDING_MODEL"
EMBEDDING_API_KEY: Final = "EMBEDDING_API_KEY"

_stores: "WeakKeyDictionary[asyncio.AbstractEventLoop, PassageStore]" = WeakKeyDictionary()
_indexes: "WeakKeyDictionary[asyncio.AbstractEventLoop, DocumentIndex]" = WeakKeyDictionary()
_tasks: set[asyncio.Task[None]] = set()


@cache
def _edge(folder: Path) -> EdgeEngine:
    return EdgeEngine(folder)


@cache
def _packaged() -> PackagedEmbedder:
    return PackagedEmbedder()


def open_store(paths: EchoPaths, env: Mapping[str, str]) -> PassageStore:
    """A store over the adapters that the environment names; opens nothing yet.

    Args:
        paths: ECHO's data folder.
        env: the process environment.
    """
    return PassageStore(engine_of(paths, env), embedder_of(env))


def engine_of(paths: EchoPaths, env: Mapping[str, str]) -> PointStore:
    """The vector engine that the environment names."""
    url = env.get(QDRANT_URL, "").strip()
    return ServerEngine(url, env.get(QDRANT_API_KEY, "").strip()) if url else _edge(paths.qdrant_dir)


def embedder_of(env: Mapping[str, str]) -> Embedder:
    """The embedder that the environment names."""
    url = env.get(EMBEDDING_URL, "").strip()
    if not url:
        return _packaged()
    return ServiceEmbedder(url, env.get(EMBEDDING_MODEL, "").strip() or SERVICE_MODEL, env.get(EMBEDDING_API_KEY, ""))


def passages() -> PassageStore:
    """The store of the running event loop.

    Raises:
        SecretKeyMissingError: there is no secret, so ECHO's services cannot be built.
    """
    from echo_runtime.composition import services

    loop = asyncio.get_running_loop()
    found = _stores.get(loop)
    if found is None:
        found = _stores[loop] = open_store(services().paths, os.environ)
    return found


def document_index() -> DocumentIndex:
    """The index of documents of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _indexes.get(loop)
    if found is None:
        found = _indexes[loop] = DocumentIndex(passages, _tell_of)
    return found


async def _tell_of(chat_id: str, document: Indexable, error: EchoError | None) -> None:
    """Let the model know with the chat's next question; a chat that was deleted meanwhile gets no records again."""
    owner = await _owui.chat_owner(chat_id)
    if owner is not None:
        happening = Happening(name="document_indexed", fields={"document": document.name})
        if error is not None:
            why = error.message.render("en", **error.fields)
            happening = Happening(name="document_failed", fields={"document": document.name, "why": why})
        event_id = f"{happening.name}:{document.document_id}"
        await push_event(happening, event_id=event_id, user_id=owner, chat_id=chat_id)


def begin() -> None:
    """Re-index in the background what another model embedded, and go on with documents; called at start-up."""
    for work in (_reindex(), _resume()):
        task = asyncio.get_running_loop().create_task(work)
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)


async def end() -> None:
    """Close what was opened; called at shutdown. Without it nothing is lost: the engine keeps a write-ahead log."""
    for task in tuple(_tasks):
        task.cancel()
    store = _stores.pop(asyncio.get_running_loop(), None)
    if store is not None:
        await store.close()
        if isinstance(store.embedder, ServiceEmbedder):
            await store.embedder.close()


async def _reindex() -> None:
    try:
        if _anything_kept():
            moved = await passages().reindex()
            if moved:
                log.info("%d passages re-indexed", moved)
    except EchoError as error:
        log.warning("Re-indexing waits for the next start: %s", error)


async def _resume() -> None:
    from echo_runtime.composition import services

    try:
        turns = services().turns
        chats = await turns.resume(_owui.chat_owner) if turns is not None else 0
        resumed = await services().documents.resume(_owui.chat_owner)
    except EchoError as error:
        log.warning("What was being indexed waits for the next start: %s", error)
    else:
        if resumed or chats:
            log.info("Indexing of %d documents and %d chats goes on", resumed, chats)


async def _stop_turns(*, user_id: str = "", chat_id: str = "") -> None:
    from echo_runtime.composition import services

    turns = services().turns
    if turns is not None:
        await turns.forget(user_id=user_id, chat_id=chat_id)


def _memories() -> MemoryDesk:
    from echo_runtime.composition import services

    return services().memories


def _anything_kept() -> bool:
    """Whether vectors can be there; a look must not make the folder or load the engine."""
    from echo_runtime.composition import services

    return bool(os.environ.get(QDRANT_URL)) or services().paths.qdrant_dir.is_dir()


class VectorPurge:
    """Purge ports for vectors: chats take their session memory along, files their passages, users everything."""

    async def purge(self, user_id: str, chat_id: str) -> None:
        """Remove what was indexed of a chat."""
        await document_index().forget(chat_id=chat_id)
        await _stop_turns(chat_id=chat_id)
        if _anything_kept():
            await passages().of(user_id, SESSION_RAG).delete(PassageFilter(chat_ids=(chat_id,)))

    async def purge_user(self, user_id: str) -> None:
        """Remove everything of a user."""
        await document_index().forget(user_id=user_id)
        await _stop_turns(user_id=user_id)
        await _memories().purge_user(user_id)
        if _anything_kept():
            await passages().delete_user(user_id)

    async def purge_document(self, user_id: str, sha256: str) -> None:
        """Remove what was indexed of a file, for whichever chat."""
        document_id = sha256[:ID_CHARS]
        await document_index().forget(user_id=user_id, document_id=document_id)
        if _anything_kept():
            where = PassageFilter(source_ids=(document_id,), kinds=(DOCUMENT_KIND,))
            await passages().of(user_id, SESSION_RAG).delete(where)
