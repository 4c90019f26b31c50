"""All chats' stores of one process: opened on demand, kept while they are used, closed when idle."""

import asyncio
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from anyio import to_thread

from echo_core.ports import Clock, ShadowStore
from echo_paths import EchoPaths, TemporaryChatError, UnsafeIdError, require_local_file_system
from echo_state_manager._database import open_database
from echo_state_manager._migrations import SESSION_MIGRATIONS
from echo_state_manager.memory import MemoryShadowStore
from echo_state_manager.session import SessionStore

#: Open files kept per event loop, and for how long without use. Source: our choice; each costs a thread and up to 2 MB
#: of page cache.
MAX_OPEN_STORES: Final = 64
IDLE_S: Final = 300.0


@dataclass(slots=True)
class _Slot:
    opening: "asyncio.Task[SessionStore]"
    users: int = 0
    last_used_s: float = 0.0


@dataclass(slots=True)
class _Loop:
    """What one event loop has open, least recently used first."""

    slots: "OrderedDict[Path, _Slot]" = field(default_factory=OrderedDict)


class SessionStores:
    """Gives out the store of a chat. One instance serves all event loops and threads of a process.

    Args:
        paths: the data folder.
        clock: time for records and for idleness.
        max_open: files that stay open per event loop when nobody uses them.
        idle_s: seconds after which an unused file is closed, at the next call.
    """

    def __init__(
        self, paths: EchoPaths, clock: Clock, *, max_open: int = MAX_OPEN_STORES, idle_s: float = IDLE_S
    ) -> None:
        self._paths = paths
        self._clock = clock
        self._max_open = max_open
        self._idle_s = idle_s
        self._guard = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = weakref.WeakKeyDictionary()
        self._temporary: dict[tuple[str, str], MemoryShadowStore] = {}
        self._root_is_local = False

    @asynccontextmanager
    async def open(self, user_id: str, chat_id: str) -> AsyncIterator[ShadowStore]:
        """The store of one chat, for as long as the context lasts; a temporary chat gets one in memory.

        Args:
            user_id: the chat's owner.
            chat_id: Open WebUI's chat id.

        Raises:
            UnsafeIdError: an id cannot be a folder name.
            NetworkFileSystemError: the data folder is on a network file system.
            StoreError: the file cannot be used.
        """
        try:
            path = self._paths.session_db(user_id, chat_id)
        except TemporaryChatError:
            with self._guard:
                store = self._temporary.setdefault((user_id, chat_id), MemoryShadowStore())
            yield store
            return
        async with self.open_file(path) as file_store:
            yield file_store

    @asynccontextmanager
    async def open_api(self, user_id: str) -> AsyncIterator[SessionStore]:
        """The store of a user's API calls without a chat. Raises as `open`."""
        async with self.open_file(self._paths.api_session_db(user_id)) as store:
            yield store

    @asynccontextmanager
    async def open_file(self, path: Path) -> AsyncIterator[SessionStore]:
        """The store over one file below the data folder. Raises as `open`."""
        slots = self._slots()
        slot = slots.get(path)
        if slot is None:
            slot = slots[path] = _Slot(asyncio.create_task(self._open(path)))
        slot.users += 1
        try:
            store = await asyncio.shield(slot.opening)
            slots.move_to_end(path)
            yield store
        finally:
            slot.users -= 1
            slot.last_used_s = self._clock.monotonic_s()
            if slot.opening.done() and slot.opening.exception() is not None and slots.get(path) is slot:
                del slots[path]
            await self.close_idle()

    async def close_idle(self) -> None:
        """Close this event loop's unused files that are over the number or the time."""
        slots = self._slots()
        now_s = self._clock.monotonic_s()
        unused = [path for path, slot in slots.items() if slot.users == 0 and slot.opening.done()]
        surplus = max(0, len(slots) - self._max_open)
        doomed = [
            path
            for place, path in enumerate(unused)
            if place < surplus or now_s - slots[path].last_used_s >= self._idle_s
        ]
        for path in doomed:
            slot = slots.pop(path, None)
            if slot is not None:
                await slot.opening.result().close()

    async def purge(self, user_id: str, chat_id: str) -> None:
        """Forget a chat: its file, its log files and its folder, or its memory. Unknown chats are no error."""
        try:
            path = self._paths.session_db(user_id, chat_id)
        except TemporaryChatError:
            with self._guard:
                self._temporary.pop((user_id, chat_id), None)
            return
        slot = self._slots().pop(path, None)
        if slot is not None:
            await (await slot.opening).close()
        await to_thread.run_sync(lambda: shutil.rmtree(path.parent, ignore_errors=True))

    async def exists(self, user_id: str, chat_id: str) -> bool:
        """Whether a chat has records on disk; False for ids that cannot have any."""
        try:
            path = self._paths.session_db(user_id, chat_id)
        except (TemporaryChatError, UnsafeIdError):
            return False
        return await to_thread.run_sync(path.is_file)

    async def chats_on_disk(self) -> list[tuple[str, str]]:
        """(user id, chat id) of every chat that has a folder, for reconciling with Open WebUI's table."""
        return await to_thread.run_sync(lambda: list(self._paths.chats_on_disk()))

    async def close(self) -> None:
        """Close everything that this event loop has open."""
        slots = self._slots()
        while slots:
            _, slot = slots.popitem()
            await (await slot.opening).close()

    def _slots(self) -> "OrderedDict[Path, _Slot]":
        loop = asyncio.get_running_loop()
        with self._guard:
            return self._loops.setdefault(loop, _Loop()).slots

    async def _open(self, path: Path) -> SessionStore:
        await to_thread.run_sync(self._make_folder, path.parent)
        return SessionStore(await open_database(path, SESSION_MIGRATIONS, self._clock))

    def _make_folder(self, folder: Path) -> None:
        if not self._root_is_local:
            require_local_file_system(self._paths.root)
            self._root_is_local = True
        folder.mkdir(parents=True, exist_ok=True)
