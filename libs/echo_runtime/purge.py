"""Removing what ECHO keeps of chats and users that are gone."""

import logging
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from anyio import to_thread

from echo_paths import EchoPaths, TemporaryChatError, UnsafeIdError
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore

logger = logging.getLogger(__name__)

#: Folders on their way out; no id begins with a dot, so nobody takes them for a chat or a user.
_DOOMED: Final = ".purged-"


class PurgePort(Protocol):
    """Somebody who holds something of a chat: open files, memory, vectors."""

    async def purge(self, user_id: str, chat_id: str) -> None:
        """Let go of it and remove it; a chat that was never seen is no error. The chat's folder is removed next."""
        ...


class UserPurgePort(Protocol):
    """Somebody who holds something of a user that lies outside the user's folder."""

    async def purge_user(self, user_id: str) -> None:
        """Remove it; a user who was never seen is no error."""
        ...


class ChatTruth(Protocol):
    """What Open WebUI's own tables say."""

    async def living_chats(self, chat_ids: Sequence[str]) -> set[str]:
        """Those of the chats that still exist."""
        ...

    async def living_users(self, user_ids: Sequence[str]) -> set[str]:
        """Those of the users that still exist."""
        ...

    async def living_files(self, file_ids: Sequence[str]) -> set[str]:
        """Those of the uploads that still exist."""
        ...


class DocumentPurgePort(Protocol):
    """Somebody who holds something that was read out of a file."""

    async def purge_document(self, user_id: str, sha256: str) -> None:
        """Remove it; a file that was never seen is no error."""
        ...


class KeptFiles(Protocol):
    """Who keeps files for chats."""

    async def forget_upload(self, file_id: str) -> list[tuple[str, str]]:
        """Remove what only this upload was; (user id, digest) of each file that went."""
        ...

    async def upload_ids(self) -> set[str]:
        """The uploads that kept files were."""
        ...

    async def chats(self) -> list[tuple[str, str]]:
        """(user id, chat id) of every chat that files are kept for."""
        ...


class Purger:
    """Removes the records of deleted chats and users.

    Args:
        paths: ECHO's data folder.
        identity: keeps the chat index.
        truth: says which chats and users exist.
        ports: are asked before a folder goes.
        user_ports: are asked before a user's folder goes.
        files: names more chats that something is kept for, and keeps files.
        document_ports: are told of files that went.
    """

    def __init__(
        self,
        paths: EchoPaths,
        identity: IdentityStore,
        truth: ChatTruth,
        ports: Iterable[PurgePort] = (),
        user_ports: Iterable[UserPurgePort] = (),
        files: KeptFiles | None = None,
        document_ports: Iterable[DocumentPurgePort] = (),
    ) -> None:
        self._paths = paths
        self._identity = identity
        self._truth = truth
        self._ports = tuple(ports)
        self._user_ports = tuple(user_ports)
        self._files = files
        self._document_ports = tuple(document_ports)

    async def purge_file(self, file_id: str) -> None:
        """Remove the copies of an upload, in everybody's vault, and what was read out of them."""
        gone = await self._files.forget_upload(file_id) if self._files and file_id else []
        for owner, sha256 in gone:
            for port in self._document_ports:
                await port.purge_document(owner, sha256)
        if gone:
            logger.info("Purged a deleted upload")

    async def purge_chat(self, chat_id: str, owner_id: str = "") -> None:
        """Remove one chat's records; without an owner, wherever they lie."""
        owners = [owner_id] if owner_id else [owner for owner, known in await self._chats() if known == chat_id]
        for owner in owners:
            await self._purge(owner, chat_id)

    async def purge_user(self, user_id: str) -> None:
        """Remove everything of a user: chats, files, skills, keys, settings."""
        if user_id == INSTANCE_OWNER:
            return
        for owner, chat_id in await self._chats():
            if owner == user_id:
                await self._tell_ports(owner, chat_id)
        for port in self._user_ports:
            await port.purge_user(user_id)
        with suppress(UnsafeIdError):
            await to_thread.run_sync(_remove, self._paths.user_dir(user_id))
        await self._identity.forget_user(user_id)
        logger.info("Purged a deleted user")

    async def reconcile(self) -> int:
        """Purge what Open WebUI no longer has; returns the number of chats, users and uploads that were purged.

        When not one owner of a folder exists in Open WebUI, its database is another one than before and nothing
        is touched.
        """
        await to_thread.run_sync(_sweep, self._paths)
        # Folders first: a chat is in Open WebUI's table before ECHO gives it a folder.
        chats = [(owner, chat_id) for owner, chat_id in await self._chats() if ":" not in chat_id]
        owners = await to_thread.run_sync(lambda: list(self._paths.users_on_disk()))
        living = await self._truth.living_users(owners)
        if owners and not living:
            logger.warning("Open WebUI knows none of the %d users that ECHO has data of: nothing purged", len(owners))
            return 0
        gone_users = [owner for owner in owners if owner not in living]
        for owner in gone_users:
            await self.purge_user(owner)
        existing = await self._truth.living_chats([chat_id for _, chat_id in chats])
        gone = [(owner, chat_id) for owner, chat_id in chats if owner in living and chat_id not in existing]
        for owner, chat_id in gone:
            await self._purge(owner, chat_id)
        uploads = await self._files.upload_ids() if self._files else set()
        gone_uploads = uploads - await self._truth.living_files(sorted(uploads))
        for file_id in gone_uploads:
            await self.purge_file(file_id)
        return len(gone_users) + len(gone) + len(gone_uploads)

    async def _purge(self, owner_id: str, chat_id: str) -> None:
        try:
            folder = self._paths.chat_dir(owner_id, chat_id)
        except (UnsafeIdError, TemporaryChatError):
            # Such a chat never had a folder.
            return
        await self._tell_ports(owner_id, chat_id)
        await to_thread.run_sync(_remove, folder)
        await self._identity.mark_purged(owner_id, [chat_id])
        logger.info("Purged a deleted chat")

    async def _tell_ports(self, owner_id: str, chat_id: str) -> None:
        for port in self._ports:
            await port.purge(owner_id, chat_id)

    async def _chats(self) -> list[tuple[str, str]]:
        known = await to_thread.run_sync(lambda: list(self._paths.chats_on_disk()))
        return list(dict.fromkeys([*known, *(await self._files.chats() if self._files else ())]))


def _remove(folder: Path) -> None:
    """Remove a folder that other processes may remove or write to at the same time.

    It is renamed first: from then on nobody finds it under its name, and a removal that was cut off is finished by
    the next `_sweep`.
    """
    doomed = folder.with_name(f"{_DOOMED}{uuid4().hex}")
    with suppress(FileNotFoundError):
        folder.rename(doomed)
        _erase(doomed)


def _sweep(paths: EchoPaths) -> None:
    """Finish removals that were cut off."""
    users = paths.root / "users"
    for parent in (users, *(paths.user_dir(user_id) / "chats" for user_id in paths.users_on_disk())):
        for entry in parent.glob(f"{_DOOMED}*"):
            _erase(entry)


def _erase(doomed: Path) -> None:
    if doomed.is_symlink():
        doomed.unlink()
    else:
        shutil.rmtree(doomed, ignore_errors=True)
