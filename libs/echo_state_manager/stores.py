"""All chats' stores of one process: opened on demand, kept while they are used, closed when idle."""

import asyncio
import logging
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyio import to_thread

from echo_core.ports import Clock, ShadowStore
from echo_paths import EchoPaths, TemporaryChatError, UnsafeIdError, require_local_file_system
from echo_state_manager._errors import StoreError, StoreUnavailableError
from echo_state_manager._session_file import SessionFile
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.memory import MemoryShadowStore
from echo_state_manager.session import SessionStore

logger = logging.getLogger(__name__)

#: Open files kept per event loop, and for how long without use. Source: our choice; each costs a thread and up to 2 MB
#: of page cache.
MAX_OPEN_STORES: Final = 64
IDLE_S: Final = 300.0

#: Memory for what was read, an event loop; beyond it unused files are closed, those first that were used longest ago.
#: Source: our choice; a chat of 5,000 turns takes about 15 MB.
MAX_HELD_BYTES: Final = 256 * 1024 * 1024

#: SQLite removes its own log files while a folder is being deleted.
_REMOVAL_ATTEMPTS: Final = 5


@dataclass(slots=True, eq=False)
class _Slot:
    opening: "asyncio.Task[SessionStore]"
    users: int = 0
    last_used_s: float = 0.0

    @property
    def held_bytes(self) -> int:
        """Memory that the store keeps; 0 while it is not open."""
        failed = not self.opening.done() or self.opening.cancelled() or self.opening.exception() is not None
        return 0 if failed else self.opening.result().held_bytes

    def is_idle(self) -> bool:
        """Open, or failed to open, and not in use."""
        return self.users == 0 and self.opening.done()

    async def close(self) -> None:
        """Close the file as soon as it is open; a file that could not be opened was reported to those who asked."""
        await asyncio.wait([self.opening])
        if not self.opening.cancelled() and self.opening.exception() is None:
            await self.opening.result().file.close()

    async def close_for_gone_loop(self) -> None:
        """Close from another event loop than the one that opened."""
        if self.opening.done() and not self.opening.cancelled() and self.opening.exception() is None:
            await self.opening.result().file.close_for_gone_loop()


_Slots = OrderedDict[Path, _Slot]


class SessionStores:
    """Gives out the store of a chat. One instance serves all event loops and threads of a process.

    Args:
        paths: the data folder.
        clock: time for records and for idleness.
        secret: what is encrypted is encrypted under it; None leaves encrypted files closed.
        max_open: files that stay open per event loop when nobody uses them.
        idle_s: seconds after which an unused file is closed, at the next call.
        max_held_bytes: memory of what was read that is kept per event loop when nobody uses it.
    """

    def __init__(
        self,
        paths: EchoPaths,
        clock: Clock,
        secret: MasterSecret | None = None,
        *,
        max_open: int = MAX_OPEN_STORES,
        idle_s: float = IDLE_S,
        max_held_bytes: int = MAX_HELD_BYTES,
    ) -> None:
        self._paths = paths
        self._secret = secret
        self._clock = clock
        self._max_open = max_open
        self._idle_s = idle_s
        self._max_held_bytes = max_held_bytes
        self._guard = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Slots] = weakref.WeakKeyDictionary()
        self._temporary: dict[tuple[str, str], MemoryShadowStore] = {}
        self._root_is_local = False

    @asynccontextmanager
    async def open(self, user_id: str, chat_id: str, *, encrypted: bool | None = None) -> AsyncIterator[ShadowStore]:
        """The store of one chat, for as long as the context lasts; a temporary chat gets one in memory.

        Args:
            user_id: the chat's owner.
            chat_id: Open WebUI's chat id.
            encrypted: whether what is written from now on is encrypted; None goes on as the file was written last.

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
        async with self.open_file(path, encrypted=encrypted) as file_store:
            yield file_store

    @asynccontextmanager
    async def open_api(self, user_id: str, *, encrypted: bool | None = None) -> AsyncIterator[SessionStore]:
        """The store of a user's API calls without a chat. Raises as `open`."""
        async with self.open_file(self._paths.api_session_db(user_id), encrypted=encrypted) as store:
            yield store

    @asynccontextmanager
    async def open_imported(self, user_id: str) -> AsyncIterator[SessionStore | None]:
        """The store of what was imported for a user, None when nothing was. Raises as `open`."""
        path = self._paths.imported_session_db(user_id)
        if not await to_thread.run_sync(path.is_file):
            yield None
            return
        async with self.open_file(path) as store:
            yield store

    @asynccontextmanager
    async def open_file(self, path: Path, *, encrypted: bool | None = None) -> AsyncIterator[SessionStore]:
        """The store over one file below the data folder. Raises as `open`."""
        slot, store = await self._acquire(path)
        try:
            if encrypted is not None:
                await store.file.switch_encryption(encrypted)
            yield store
        finally:
            await self._release(path, slot)

    async def close_idle(self) -> None:
        """Close this event loop's unused files that are over the number, the time or the memory."""
        slots = self._slots()
        now_s = self._clock.monotonic_s()
        held_bytes = sum(slot.held_bytes for slot in slots.values())
        doomed: list[_Slot] = []
        for path in [path for path, slot in slots.items() if slot.is_idle()]:
            slot = slots[path]
            too_many = len(slots) > self._max_open or held_bytes > self._max_held_bytes
            if too_many or now_s - slot.last_used_s >= self._idle_s:
                held_bytes -= slot.held_bytes
                doomed.append(slots.pop(path))
        for slot in doomed:
            await slot.close()

    async def release_chat(self, user_id: str, chat_id: str) -> None:
        """Let go of a chat whose records are about to be removed; a temporary chat is forgotten.

        Whoever still holds the store gets StoreClosedError from then on. Chats that were never opened, or that cannot
        have a file, are no error.
        """
        try:
            path = self._paths.session_db(user_id, chat_id)
        except TemporaryChatError:
            with self._guard:
                self._temporary.pop((user_id, chat_id), None)
        except UnsafeIdError:
            return
        else:
            slot = self._slots().pop(path, None)
            if slot is not None:
                await slot.close()

    async def purge(self, user_id: str, chat_id: str) -> None:
        """Release a chat and remove its folder with all that is in it, copies that were set aside included.

        Raises:
            UnsafeIdError: an id cannot be a folder name.
            StoreUnavailableError: something could not be deleted.
        """
        await self.release_chat(user_id, chat_id)
        try:
            folder = self._paths.session_db(user_id, chat_id).parent
        except TemporaryChatError:
            return
        await to_thread.run_sync(_remove_folder, folder)

    async def redact(self, user_id: str, marks: Collection[str]) -> list[str]:
        """Remove every artifact that holds one of some marks from what a user's answers were told; in which chats.

        Files that cannot be used are passed over and told in the log: nothing of them is sent either.
        """
        chats = [chat for user, chat in await self.chats_on_disk() if user == user_id]
        changed = []
        for chat_id in chats:
            try:
                if await self.exists(user_id, chat_id):
                    async with self.open_file(self._paths.session_db(user_id, chat_id)) as store:
                        changed += [chat_id] if await store.redact(marks) else []
            except StoreError:
                logger.exception("what is forgotten could not be taken out of chat %s", chat_id)
        return changed

    async def exists(self, user_id: str, chat_id: str) -> bool:
        """Whether a chat has records on disk; False for ids that cannot have any."""
        try:
            path = self._paths.session_db(user_id, chat_id)
        except (TemporaryChatError, UnsafeIdError):
            return False
        return await to_thread.run_sync(path.is_file)

    def temporary_chats(self) -> list[tuple[str, str]]:
        """(user id, chat id) of every chat that is kept in memory only."""
        with self._guard:
            return list(self._temporary)

    async def chats_on_disk(self) -> list[tuple[str, str]]:
        """(user id, chat id) of every chat that has a folder, for reconciling with Open WebUI's table."""
        return await to_thread.run_sync(lambda: list(self._paths.chats_on_disk()))

    async def close(self) -> None:
        """Close everything that this event loop has open, and what loops that are gone left open."""
        slots = self._slots()
        while slots:
            await slots.popitem()[1].close()
        with self._guard:
            gone = [loop for loop in self._loops if loop.is_closed()]
            left = [slot for loop in gone for slot in self._loops.pop(loop).values()]
            self._temporary.clear()
        for slot in left:
            await slot.close_for_gone_loop()

    async def _acquire(self, path: Path) -> tuple[_Slot, SessionStore]:
        slots = self._slots()
        while True:
            slot = slots.get(path)
            is_new = slot is None
            if slot is None:
                slot = slots[path] = _Slot(asyncio.create_task(self._open(path)))
                slot.opening.add_done_callback(_hear)
            slot.users += 1
            try:
                store = await asyncio.shield(slot.opening)
                if is_new or await store.file.is_current():
                    return slot, store
                # Another process replaced or purged the file: whoever still works on the old one finishes alone.
                _drop(slots, path, slot)
            except BaseException:
                if slot.opening.done():
                    _drop(slots, path, slot)
                await self._release(path, slot)
                raise
            await self._release(path, slot)

    async def _release(self, path: Path, slot: _Slot) -> None:
        slots = self._slots()
        slot.users -= 1
        slot.last_used_s = self._clock.monotonic_s()
        if slots.get(path) is slot:
            slots.move_to_end(path)
        elif slot.users == 0:
            await slot.close()
        await self.close_idle()

    def _slots(self) -> _Slots:
        loop = asyncio.get_running_loop()
        with self._guard:
            return self._loops.setdefault(loop, OrderedDict())

    async def _open(self, path: Path) -> SessionStore:
        await to_thread.run_sync(self._make_folder, path.parent)
        return SessionStore(await SessionFile.open(path, self._clock, self._secret))

    def _make_folder(self, folder: Path) -> None:
        if not self._root_is_local:
            require_local_file_system(self._paths.root)
            self._root_is_local = True
        try:
            # Conversations are nobody else's to read on this machine.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailableError(f"{type(error).__name__} {error.errno}") from error


def _drop(slots: _Slots, path: Path, slot: _Slot) -> None:
    if slots.get(path) is slot:
        del slots[path]


def _hear(opening: "asyncio.Task[SessionStore]") -> None:
    """Take note of a failure even if everybody who asked was cancelled meanwhile."""
    if not opening.cancelled() and (error := opening.exception()) is not None:
        logger.info("A state file could not be opened: %s", error)


def _remove_folder(folder: Path) -> None:
    """Delete a folder while others may be deleting in it; blocks on the disk."""
    for _ in range(_REMOVAL_ATTEMPTS):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            if not folder.exists():
                return
        except OSError as error:
            raise StoreUnavailableError(f"{type(error).__name__} {error.errno}") from error
        else:
            return
    raise StoreUnavailableError("a folder that is to be deleted is being written to")
