"""Removing what ECHO keeps of chats and users that are gone."""

import logging
import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

import anyio

from echo_state_manager.identity import IdentityStore

logger = logging.getLogger(__name__)

#: Ids that may name a folder; ECHO's own folders (`_api`) begin with an underscore and never match.
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_DOOMED: Final = ".purged-"


class PurgePort(Protocol):
    """Somebody who holds something of a chat in memory or in an open file."""

    async def release_chat(self, user_id: str, chat_id: str) -> None:
        """Close and forget it; its folder is removed next. Called for chats that were never opened, too."""
        ...


class ChatTruth(Protocol):
    """What Open WebUI's own tables say."""

    async def living_chats(self, chat_ids: Sequence[str]) -> set[str]:
        """Those of the chats that still exist."""
        ...

    async def living_users(self, user_ids: Sequence[str]) -> set[str]:
        """Those of the users that still exist."""
        ...


class Purger:
    """Removes the records of deleted chats and users.

    Args:
        data_dir: ECHO's data folder; chats lie in `users/{uid}/chats/{cid}`.
        identity: keeps the chat index.
        truth: says which chats and users exist.
        ports: are told before a folder goes.
    """

    def __init__(
        self, data_dir: Path, identity: IdentityStore, truth: ChatTruth, ports: Iterable[PurgePort] = ()
    ) -> None:
        self._users_dir = data_dir / "users"
        self._identity = identity
        self._truth = truth
        self._ports = list(ports)

    def register(self, port: PurgePort) -> None:
        """Tell `port` of every later purge."""
        self._ports.append(port)

    async def purge_chat(self, chat_id: str, owner_id: str = "") -> None:
        """Remove one chat's records; without an owner, wherever they lie."""
        if not _SAFE_ID.fullmatch(chat_id):
            return
        owners = (
            [owner_id]
            if _SAFE_ID.fullmatch(owner_id)
            else await anyio.to_thread.run_sync(_owners_of, self._users_dir, chat_id)
        )
        for owner in owners:
            await self._purge(owner, chat_id)

    async def purge_user(self, user_id: str) -> None:
        """Remove everything of a user: chats, files, skills, keys, settings."""
        if not _SAFE_ID.fullmatch(user_id):
            return
        for owner, chat_id in await anyio.to_thread.run_sync(_chat_folders, self._users_dir):
            if owner == user_id:
                await self._release(owner, chat_id)
        await anyio.to_thread.run_sync(_remove, self._users_dir / user_id)
        await self._identity.forget_user(user_id)
        logger.info("Purged a deleted user")

    async def reconcile(self) -> int:
        """Purge what Open WebUI no longer has; returns the number of chats and users that were purged.

        When not one owner of a folder exists in Open WebUI, its database is another one than before and nothing
        is touched.
        """
        await anyio.to_thread.run_sync(_sweep, self._users_dir)
        folders = await anyio.to_thread.run_sync(_chat_folders, self._users_dir)
        owners = await anyio.to_thread.run_sync(_user_folders, self._users_dir)
        if not owners:
            return 0
        living = await self._truth.living_users(owners)
        if not living:
            logger.warning(
                "Open WebUI knows none of the %d users that ECHO has folders of: nothing purged", len(owners)
            )
            return 0
        gone_users = [owner for owner in owners if owner not in living]
        for owner in gone_users:
            await self.purge_user(owner)
        chats = [(owner, chat_id) for owner, chat_id in folders if owner in living]
        existing = await self._truth.living_chats([chat_id for _, chat_id in chats])
        gone = [(owner, chat_id) for owner, chat_id in chats if chat_id not in existing]
        for owner, chat_id in gone:
            await self._purge(owner, chat_id)
        return len(gone_users) + len(gone)

    async def _purge(self, owner_id: str, chat_id: str) -> None:
        await self._release(owner_id, chat_id)
        await anyio.to_thread.run_sync(_remove, self._users_dir / owner_id / "chats" / chat_id)
        await self._identity.mark_purged(owner_id, [chat_id])
        logger.info("Purged a deleted chat")

    async def _release(self, owner_id: str, chat_id: str) -> None:
        for port in self._ports:
            await port.release_chat(owner_id, chat_id)


def _user_folders(users_dir: Path) -> list[str]:
    if not users_dir.is_dir():
        return []
    return [entry.name for entry in users_dir.iterdir() if _SAFE_ID.fullmatch(entry.name) and entry.is_dir()]


def _chat_folders(users_dir: Path) -> list[tuple[str, str]]:
    """(owner, chat id) of every chat folder; ECHO's own folders are left out."""
    return [
        (owner, entry.name)
        for owner in _user_folders(users_dir)
        for entry in _entries(users_dir / owner / "chats")
        if _SAFE_ID.fullmatch(entry.name)
    ]


def _owners_of(users_dir: Path, chat_id: str) -> list[str]:
    return [owner for owner, known in _chat_folders(users_dir) if known == chat_id]


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _remove(folder: Path) -> None:
    """Remove a folder that other processes may remove or write to at the same time.

    It is renamed first: from then on nobody finds it under its name, and a removal that was cut off is finished by
    the next `_sweep`.
    """
    doomed = folder.with_name(f"{_DOOMED}{uuid4().hex}")
    with suppress(FileNotFoundError):
        folder.rename(doomed)
        _erase(doomed)


def _sweep(users_dir: Path) -> None:
    """Finish removals that were cut off."""
    parents = [users_dir, *(users_dir / owner / "chats" for owner in _user_folders(users_dir))]
    for parent in parents:
        for entry in _entries(parent):
            if entry.name.startswith(_DOOMED):
                _erase(entry)


def _erase(doomed: Path) -> None:
    if doomed.is_symlink():
        doomed.unlink()
    else:
        shutil.rmtree(doomed, ignore_errors=True)
