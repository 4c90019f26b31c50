"""ECHO's place inside a running Open WebUI: lifecycle, routes, valves, what exists (imports `open_webui`)."""

import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from fastapi import FastAPI, HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from echo_paths import EchoPaths
from echo_runtime._owui_hud import any_is_echo, display_for
from echo_runtime.backends import is_simulator
from echo_runtime.compaction_desk import desk
from echo_runtime.hud_host import own_chat, running_hud, running_memories, running_prompts
from echo_runtime.hud_routes import HudHost, build_hud_routes
from echo_runtime.key_probe import GeminiKeyProbe
from echo_runtime.key_routes import build_routes
from echo_runtime.key_service import KeyService
from echo_runtime.keys import GEMINI_KEY_VARIABLE, KeyRing
from echo_runtime.lifecycle import PIPE_ID, Lifecycle
from echo_runtime.memory_routes import build_memory_routes
from echo_runtime.page_loader import LOADER_PATH, loader_response
from echo_runtime.prompt_routes import build_prompt_routes
from echo_runtime.purge import Purger
from echo_runtime.retention import Retention
from echo_runtime.retrieval import VectorPurge
from echo_runtime.settings import DEFAULT_BASE_URL
from echo_state_manager.identity import IdentityStore

logger = logging.getLogger(__name__)

#: Marks our routes, so that a reload of the event function replaces them.
_MARK: Final = "_echo_owner"
_OWNER: Final = "echo_lifecycle"
_BASE_URL_NAME: Final = "GEMINI_BASE_URL"
#: Ids in one SQL list. Source: SQLite's oldest limit, 999 variables (https://sqlite.org/limits.html).
_CHUNK: Final = 500
_CHECKPOINT_TRIES: Final = 20
_CHECKPOINT_PAUSE_S: Final = 0.25


def lifecycle_of(app: FastAPI) -> Lifecycle:
    """The lifecycle of this process's Open WebUI, built at first use on its event loop.

    Raises:
        SecretKeyMissingError: no secret to encrypt with.
    """
    lifecycle = getattr(app.state, _OWNER, None)
    if not isinstance(lifecycle, Lifecycle):
        lifecycle = _build(app)
        setattr(app.state, _OWNER, lifecycle)
    return lifecycle


def echo_data_dir() -> Path:
    """`$ECHO_DATA_DIR`, else `echo` in Open WebUI's data folder."""
    from open_webui.env import DATA_DIR

    return EchoPaths.from_environment(os.environ, Path(DATA_DIR)).root


def _build(app: FastAPI) -> Lifecycle:
    from echo_runtime.composition import answer_recovery, services  # which asks this module for the data folder

    shared = services()
    host = OwuiHost(app, shared.identity, shared.keys)
    retention = Retention(shared.sessions, shared.paths, shared.clock)
    vectors = VectorPurge()
    ports = (retention, shared.vaults, shared.sessions, vectors)
    purger = Purger(shared.paths, shared.identity, host, ports, (vectors,), shared.vaults, (vectors,))
    return Lifecycle(host, shared.identity, purger, answer_recovery(host.busy), retention)


class OwuiHost:
    """The running Open WebUI as `LifecycleHost` and `ChatTruth`.

    Args:
        app: Open WebUI's application.
        identity: keeps what the key page stores.
        keys: tells whose key answers for somebody without one.
    """

    def __init__(self, app: FastAPI, identity: IdentityStore, keys: KeyRing) -> None:
        self._app = app
        self._identity = identity
        self._keys = keys
        self._function_id = ""

    def routes_installed(self) -> bool:
        """As `LifecycleHost`."""
        return any(getattr(route, _MARK, None) == _OWNER for route in self._app.router.routes)

    def install_routes(self, owner: str) -> None:
        """As `LifecycleHost`; before all others, because Open WebUI's page answers every unknown path."""
        from open_webui.utils.auth import get_admin_user, get_verified_user

        self._function_id = owner
        service = KeyService(self._identity, self._keys, GeminiKeyProbe(self._base_url), self._follow, self._simulated)
        routes: list[BaseRoute] = build_routes(
            service, self._identity, user=get_verified_user, admin=get_admin_user, active=self._require_active
        )
        routes += build_prompt_routes(running_prompts, user=get_verified_user, active=self._require_active)
        routes += build_memory_routes(running_memories, user=get_verified_user, active=self._require_active)
        routes += self._hud_routes()
        for route in routes:
            setattr(route, _MARK, _OWNER)
        self.remove_routes()
        self._app.router.routes[:0] = routes

    def _hud_routes(self) -> list[BaseRoute]:
        """The HUD's data, and the file by which the page starts it."""
        from open_webui.utils.auth import get_verified_user

        async def loader(request: Request) -> Response:
            others = [route for route in self._app.router.routes if getattr(route, _MARK, None) != _OWNER]
            return await loader_response(request, others, active=await self._is_active())

        host = HudHost(hud=running_hud, open_chat=own_chat, display=display_for, is_echo=any_is_echo, desk=desk)
        data = build_hud_routes(host, user=get_verified_user, active=self._require_active)
        return [Route(LOADER_PATH, loader, methods=["GET", "HEAD"]), *data]

    def remove_routes(self) -> None:
        """As `LifecycleHost`."""
        self._app.router.routes[:] = [
            route for route in self._app.router.routes if getattr(route, _MARK, None) != _OWNER
        ]

    async def exchange_key_valve(self, exchange: Callable[[str | None], Awaitable[str | None]]) -> None:
        """As `LifecycleHost`, in one transaction with the row locked."""
        from open_webui.internal.db import get_async_db_context
        from open_webui.models.functions import Function
        from open_webui.utils.valves import encrypt_valves
        from sqlalchemy import text, update

        async with get_async_db_context() as session:
            sqlite = session.get_bind().dialect.name == "sqlite"
            if sqlite:
                # Freed bytes are overwritten with zeros. Source: https://sqlite.org/pragma.html#pragma_secure_delete
                await session.execute(text("PRAGMA secure_delete = ON"))
            lock = update(Function).where(Function.id == PIPE_ID).values(is_active=Function.is_active)
            await session.execute(lock)
            function = await session.get(Function, PIPE_ID, populate_existing=True)
            if function is None or (valves := _readable(function.valves)) is None:
                await session.rollback()
                return
            answer = await exchange(valves.get(GEMINI_KEY_VARIABLE))
            if answer is not None:
                function.valves = encrypt_valves({**valves, GEMINI_KEY_VARIABLE: answer})
            await session.commit()
        if sqlite:
            await _truncate_log()

    async def busy(self, chat_id: str) -> bool:
        """Whether an answer of the chat is in work, in any process that shares this one's task list."""
        from open_webui.tasks import has_active_tasks

        return bool(await has_active_tasks(self._app.state.redis, chat_id))

    async def living_chats(self, chat_ids: Sequence[str]) -> set[str]:
        """As `ChatTruth`."""
        from open_webui.models.chats import Chat

        return await _living(Chat.id, chat_ids)

    async def living_users(self, user_ids: Sequence[str]) -> set[str]:
        """As `ChatTruth`."""
        from open_webui.models.users import User

        return await _living(User.id, user_ids)

    async def living_files(self, file_ids: Sequence[str]) -> set[str]:
        """As `ChatTruth`."""
        from open_webui.models.files import File

        return await _living(File.id, file_ids)

    async def _follow(self, present: bool) -> None:
        await lifecycle_of(self._app).show_instance_key(present=present)

    async def _base_url(self) -> str:
        from open_webui.models.functions import Functions

        valves = await Functions.get_function_valves_by_id(PIPE_ID) or {}
        return str(valves.get(_BASE_URL_NAME) or os.environ.get(_BASE_URL_NAME) or DEFAULT_BASE_URL)

    async def _simulated(self) -> bool:
        return is_simulator(await self._base_url(), os.environ)

    async def _require_active(self) -> None:
        """Routes outlive their function in the other workers, and when it is deleted."""
        if not await self._is_active():
            raise HTTPException(404)

    async def _is_active(self) -> bool:
        from open_webui.models.functions import Functions

        function = await Functions.get_function_by_id(self._function_id)
        return function is not None and bool(function.is_active)


def _readable(stored: Any) -> dict[str, Any] | None:
    """Stored valves in clear; None when they are encrypted under another secret and must be left alone."""
    from open_webui.utils.valves import decrypt_valves

    valves: dict[str, Any] = decrypt_valves(stored)
    if stored and not valves and isinstance(stored, str):
        logger.warning("The valves of %s cannot be decrypted by Open WebUI", PIPE_ID)
        return None
    return valves


async def _truncate_log() -> None:
    """Empty SQLite's write-ahead log, which still holds the pages as they were.

    Readers hold it back, so it is tried for a few seconds; Open WebUI's own shutdown empties it too.
    """
    from open_webui.internal.db import get_async_db_context
    from sqlalchemy import text

    for _ in range(_CHECKPOINT_TRIES):
        async with get_async_db_context() as session:
            row = (await session.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))).first()
        if row is None or row[0] == 0:
            return
        await anyio.sleep(_CHECKPOINT_PAUSE_S)
    logger.warning("Open WebUI's write-ahead log is in use and was not emptied; it is tried again at the next start")


async def _living(column: Any, ids: Sequence[str]) -> set[str]:
    from open_webui.internal.db import get_async_db_context
    from sqlalchemy import select

    found: set[str] = set()
    async with get_async_db_context() as session:
        for chunk in _chunks(ids):
            found.update((await session.execute(select(column).where(column.in_(chunk)))).scalars())
    return found


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]
