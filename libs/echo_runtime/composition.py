"""Names every adapter, once."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from echo_core.ports import Clock
from echo_events import Happening
from echo_http import SystemClock
from echo_logger import mask_own_records
from echo_paths import EchoPaths
from echo_protocol import Backend, Catalogue
from echo_runtime._owui_routes import echo_data_dir
from echo_runtime.api_sessions import ApiHistory
from echo_runtime.backends import Backends
from echo_runtime.briefings import Briefings
from echo_runtime.compaction import Compactor
from echo_runtime.context import ContextBuilder
from echo_runtime.document_desk import DocumentDesk
from echo_runtime.drafting import Drafter
from echo_runtime.file_backend import FileBackends
from echo_runtime.history import HistoryBuilder
from echo_runtime.hud import Hud
from echo_runtime.keys import KeyRing
from echo_runtime.levels import Levels
from echo_runtime.live_catalogue import LiveCatalogue
from echo_runtime.local_quota import LocalQuota
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.memory_reading import MemoryReader
from echo_runtime.memory_redaction import redact_memories
from echo_runtime.metering import PriceList
from echo_runtime.orchestrator import Orchestrator
from echo_runtime.prompt_desk import PromptDesk
from echo_runtime.pushing import Pushes
from echo_runtime.recovery import Recovery
from echo_runtime.remembering import Remembering
from echo_runtime.retrieval import document_index, passages
from echo_runtime.scopes import Scopes
from echo_runtime.stores import ChatStores
from echo_runtime.templates import Templates
from echo_runtime.turn_index import TurnIndex
from echo_runtime.valley import Valley
from echo_runtime.vaults import Vaults
from echo_state_manager import SessionStores
from echo_state_manager.crypto import MasterSecret, master_secret
from echo_state_manager.identity import IdentityStore
from echo_state_manager.memories import MemoryStores
from echo_state_manager.prompts import PromptStore

#: The backend that this version talks to.
BACKEND: Final[Backend] = "ai_studio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the pipe and the lifecycle share on one event loop.

    Args:
        identity: accounts, keys and the chat index.
        sessions: the records of chats.
        keys: finds the key of whoever asks.
        documents: what users attached, read.
        memories: what is remembered of users.
        turns: the chats in the session memory; None where they are not indexed.
        secret: what encrypted files are under; None where there is none.
    """

    clock: Clock
    paths: EchoPaths
    identity: IdentityStore
    sessions: SessionStores
    keys: KeyRing
    documents: DocumentDesk
    memories: MemoryDesk
    turns: TurnIndex | None = None
    secret: MasterSecret | None = None

    @property
    def vaults(self) -> Vaults:
        """The files of users."""
        return Vaults(self.paths, self.secret)


_services: "WeakKeyDictionary[asyncio.AbstractEventLoop, Services]" = WeakKeyDictionary()


def services() -> Services:
    """The services of the running event loop; files and connections belong to one loop.

    Raises:
        SecretKeyMissingError: there is no secret to encrypt keys with.
    """
    loop = asyncio.get_running_loop()
    found = _services.get(loop)
    if found is None:
        mask_own_records()
        clock = SystemClock()
        paths = EchoPaths(echo_data_dir())
        secret = master_secret(os.environ)
        identity = IdentityStore(paths.identity_db, secret, clock)
        sessions = SessionStores(paths, clock, secret)
        found = _services[loop] = Services(
            clock=clock,
            paths=paths,
            identity=identity,
            sessions=sessions,
            keys=KeyRing(identity, os.environ),
            documents=DocumentDesk(paths, Vaults(paths, secret), index=document_index()),
            memories=MemoryDesk(MemoryStores(paths, clock), passages, clock, partial(redact_memories, sessions)),
            turns=TurnIndex(passages, sessions, paths),
            secret=secret,
        )
    return found


def answer_recovery(busy: Callable[[str], Awaitable[bool]]) -> Recovery:
    """Finishes answers that a crash cut off; `busy` tells whether a chat has one in work."""
    return Recovery(services().sessions, Scopes(Catalogue.load()), busy)


def build() -> Orchestrator:
    """The orchestrator over the real adapters, for the running event loop.

    Raises:
        SecretKeyMissingError: there is no secret to encrypt keys with.
    """
    return assemble(services(), os.environ)


def assemble(shared: Services, env: Mapping[str, str]) -> Orchestrator:
    """The orchestrator over the services given.

    Args:
        shared: its files and connections belong to the running event loop.
        env: the process environment.
    """
    catalogue = Catalogue.load()
    live = LiveCatalogue(catalogue, shared.clock)
    backends = Backends(shared.keys, shared.clock, env)
    levels = Levels(live.now, backends.client_for, BACKEND)
    stores = ChatStores(shared.sessions, shared.clock)
    quota = LocalQuota(shared.identity, shared.clock)
    scopes = Scopes(catalogue)
    drafter = Drafter(stores, shared.vaults, documents=shared.documents)
    pushes = Pushes(shared.sessions, shared.identity, shared.clock)
    prompts = PromptDesk(PromptStore(shared.paths.prompts_db, shared.clock))
    return Orchestrator(
        backends=backends,
        files=FileBackends(shared.vaults, shared.clock),
        stores=stores,
        contexts=ContextBuilder(
            levels,
            HistoryBuilder(stores, scopes, shared.clock, shared.vaults, drafter, shared.documents),
            ApiHistory(scopes),
            Briefings(Templates(shared.clock), BACKEND, pushes),
            Compactor(partial(levels.model, "APOLLO"), BACKEND, shared.clock, prompts.book),
            BACKEND,
            shared.documents,
            Valley(shared.turns),
            _remembering(shared, levels, pushes),
        ),
        scopes=scopes,
        catalogue=live,
        prices=PriceList(catalogue, shared.clock),
        hud=Hud(stores, quota, quota, live.now, shared.clock),
        prompts=prompts,
        clock=shared.clock,
        drafter=drafter,
        pushes=pushes,
        env_base_url=env.get("GEMINI_BASE_URL", ""),
    )


def _remembering(shared: Services, levels: Levels, pushes: Pushes) -> Remembering:
    async def push(happening: Happening, event_id: str, user_id: str) -> None:
        await pushes.push(happening, event_id=event_id, user_id=user_id)

    return Remembering(
        shared.memories,
        MemoryReader(shared.memories, shared.memories.stores, shared.sessions),
        partial(levels.model, "DISTILLATION"),
        BACKEND,
        push,
        shared.clock,
    )
