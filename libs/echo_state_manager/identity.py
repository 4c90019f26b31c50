"""identity.db: encrypted secrets, user settings and the index of chats, shared by every process of the instance."""

# ruff: noqa: S608 - the pieces that are put together are constants of this file

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiosqlite
from anyio import to_thread

from echo_core.ports import Clock
from echo_paths import require_local_file_system
from echo_state_manager._database import BUSY_TIMEOUT_MS, Transaction, open_database
from echo_state_manager._errors import store_error
from echo_state_manager._identity_schema import IDENTITY_MIGRATIONS, IdentityDatabase, in_own_words
from echo_state_manager.crypto import SALT_BYTES, MasterSecret, SecretBox, SecretDamagedError, SecretKeyMismatchError

#: Owner of the secrets that an administrator gives for everybody.
INSTANCE_OWNER: Final = ""
_CHECK_NAME: Final = "vault_check"
_CHECK_TEXT: Final = "echo"
#: Events wait among a user's settings, under keys between these two.
_EVENTS: Final = ("event:", "event;")
_EVENT_ROWS: Final = "user_id = ? AND key >= ? AND key < ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChat:
    """One chat that ECHO keeps records of.

    Args:
        parent_chat_id: the chat it was cloned or forked from, None when unknown.
        purged_at_s: epoch seconds at which its records were removed, None while they live.
    """

    chat_id: str
    owner_id: str
    parent_chat_id: str | None
    purged_at_s: int | None


class IdentityStore:
    """The instance's identity.db, opened at first use; belongs to one event loop.

    Every method may raise a StateError: SecretKeyMismatchError, IdentityTooNewError and IdentityUnusableError leave
    the file as it is; `in_own_words` names those that say what else is in the way. A network file system raises
    NetworkFileSystemError.

    Args:
        path: the file; its folder is made when absent.
        secret: what the secrets are encrypted under.
        clock: time of changes.
    """

    def __init__(self, path: Path, secret: MasterSecret, clock: Clock) -> None:
        self._path = path
        self._secret = secret
        self._clock = clock
        self._opened: tuple[IdentityDatabase, SecretBox] | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Create or migrate the file and check the secret; every other method does this first."""
        await self._ready()

    async def check_secret(self) -> None:
        """Only look whether the secret is the one that the file was encrypted under; nothing is written.

        Raises:
            SecretKeyMismatchError: it is another one. A file without a vault, and no file, belong to everybody.
        """
        if not await to_thread.run_sync(self._path.exists):
            return
        try:
            async with aiosqlite.connect(self._path, timeout=BUSY_TIMEOUT_MS / 1000) as connection:
                known = await connection.execute_fetchall("SELECT 1 FROM sqlite_master WHERE name = 'vault_meta'")
                if list(known):
                    rows = await connection.execute_fetchall("SELECT key, value FROM vault_meta")
                    meta = {str(key): bytes(value) for key, value in rows}
                    if meta:  # empty for the moment between another process's tables and its salt
                        self._box_of(meta)
        except sqlite3.Error as error:
            with in_own_words():
                raise store_error(error) from error

    async def close(self) -> None:
        """Close the file; the next use opens it again."""
        async with self._opening:
            opened, self._opened = self._opened, None
            if opened is not None:
                await opened[0].close()

    async def put_secret(self, owner_id: str, name: str, value: str) -> None:
        """Store or replace a secret. `owner_id` is a user id or `INSTANCE_OWNER`."""
        database, box = await self._ready()
        sealed = box.seal(owner_id, name, value)

        async def job(transaction: Transaction) -> None:
            await transaction.rows(
                "INSERT INTO secrets VALUES (?, ?, ?, ?) ON CONFLICT (owner_id, name)"
                " DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
                (owner_id, name, sealed, transaction.now_s),
            )

        await database.write(job)

    async def get_secret(self, owner_id: str, name: str) -> str | None:
        """A secret in clear, None when absent.

        Raises:
            SecretDamagedError: the row was changed outside ECHO.
        """
        found = await self.find_secret(name, (owner_id,))
        return None if found is None else found[1]

    async def find_secret(self, name: str, owner_ids: Sequence[str]) -> tuple[str, str] | None:
        """The secret of the first owner that has one, as (owner, value). Raises as `get_secret`."""
        database, box = await self._ready()
        marks = ", ".join("?" * len(owner_ids))
        sql = f"SELECT owner_id, sealed FROM secrets WHERE name = ? AND owner_id IN ({marks})"
        sealed = dict(await database.rows(sql, (name, *owner_ids)))
        for owner_id in owner_ids:
            if owner_id in sealed:
                return owner_id, box.open(owner_id, name, sealed[owner_id])
        return None

    async def delete_secret(self, owner_id: str, name: str) -> bool:
        """Remove a secret; True when there was one."""
        sql = "DELETE FROM secrets WHERE owner_id = ? AND name = ? RETURNING 1"
        return bool(await self._write(sql, (owner_id, name)))

    async def secret_names(self, owner_id: str) -> Mapping[str, int]:
        """Names of an owner's secrets with the epoch second of their last change; never values."""
        database, _ = await self._ready()
        sql = "SELECT name, updated_at FROM secrets WHERE owner_id = ? ORDER BY name"
        return dict(await database.rows(sql, (owner_id,)))

    async def get_setting(self, user_id: str, key: str) -> str | None:
        """A user's setting, None when absent."""
        database, _ = await self._ready()
        sql = "SELECT value FROM user_settings WHERE user_id = ? AND key = ?"
        rows = await database.rows(sql, (user_id, key))
        return str(rows[0][0]) if rows else None

    async def save_setting(self, user_id: str, key: str, value: str) -> None:
        """Store or replace a user's setting."""
        database, _ = await self._ready()

        async def job(transaction: Transaction) -> None:
            await transaction.rows(
                "INSERT INTO user_settings VALUES (?, ?, ?, ?) ON CONFLICT (user_id, key)"
                " DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
                (user_id, key, value, transaction.now_s),
            )

        await database.write(job)

    async def revise_setting(self, user_id: str, key: str, revise: Callable[[str | None], str]) -> None:
        """Replace a user's setting by what `revise` makes of it (None = absent); no other process comes between."""
        database, _ = await self._ready()

        async def job(transaction: Transaction) -> None:
            sql = "SELECT value FROM user_settings WHERE user_id = ? AND key = ?"
            rows = await transaction.rows(sql, (user_id, key))
            await transaction.rows(
                "INSERT INTO user_settings VALUES (?, ?, ?, ?) ON CONFLICT (user_id, key)"
                " DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
                (user_id, key, revise(str(rows[0][0]) if rows else None), transaction.now_s),
            )

        await database.write(job)

    async def push_event(self, user_id: str, event_id: str, value: str, forget_before_s: float) -> None:
        """Let an event wait for a user's chats, once; those from before a time are forgotten."""
        database, _ = await self._ready()

        async def job(transaction: Transaction) -> None:
            old = (user_id, *_EVENTS, int(forget_before_s))
            await transaction.rows(f"DELETE FROM user_settings WHERE {_EVENT_ROWS} AND updated_at < ?", old)
            row = (user_id, _EVENTS[0] + event_id, value, transaction.now_s)
            await transaction.rows("INSERT OR IGNORE INTO user_settings VALUES (?, ?, ?, ?)", row)

        await database.write(job)

    async def events_since(self, user_id: str, since_s: float) -> Mapping[str, str]:
        """A user's waiting events by id, oldest first."""
        database, _ = await self._ready()
        sql = f"SELECT key, value FROM user_settings WHERE {_EVENT_ROWS} AND updated_at >= ? ORDER BY updated_at, key"
        rows = await database.rows(sql, (user_id, *_EVENTS, int(since_s)))
        return {str(key).removeprefix(_EVENTS[0]): str(value) for key, value in rows}

    async def index_chat(self, chat_id: str, owner_id: str, parent_chat_id: str | None = None) -> None:
        """Note a chat; what is known already stays, a parent that was unknown is added."""
        sql = (
            "INSERT INTO chat_index VALUES (?, ?, ?, NULL) ON CONFLICT (chat_id) DO UPDATE"
            " SET parent_chat_id = COALESCE(chat_index.parent_chat_id, excluded.parent_chat_id)"
        )
        await self._write(sql, (chat_id, owner_id, parent_chat_id))

    async def get_chat(self, chat_id: str) -> IndexedChat | None:
        """What the index knows of a chat."""
        database, _ = await self._ready()
        sql = "SELECT owner_id, parent_chat_id, purged_at FROM chat_index WHERE chat_id = ?"
        for owner_id, parent, purged in await database.rows(sql, (chat_id,)):
            return IndexedChat(chat_id=chat_id, owner_id=owner_id, parent_chat_id=parent, purged_at_s=purged)
        return None

    async def mark_purged(self, owner_id: str, chat_ids: Iterable[str]) -> None:
        """Note that the records of chats are gone, also of chats the index had not seen."""
        database, _ = await self._ready()
        sql = (
            "INSERT INTO chat_index VALUES (?, ?, NULL, ?) ON CONFLICT (chat_id)"
            " DO UPDATE SET purged_at = excluded.purged_at"
        )

        async def job(transaction: Transaction) -> None:
            for chat_id in chat_ids:
                await transaction.rows(sql, (chat_id, owner_id, transaction.now_s))

        await database.write(job)

    async def forget_user(self, user_id: str) -> None:
        """Remove a user's secrets, settings and index rows in one transaction.

        Raises:
            ValueError: the id is empty, which is the instance's own.
        """
        if user_id == INSTANCE_OWNER:
            raise ValueError("the instance is not a user")
        database, _ = await self._ready()

        async def job(transaction: Transaction) -> None:
            await transaction.rows("DELETE FROM secrets WHERE owner_id = ?", (user_id,))
            await transaction.rows("DELETE FROM user_settings WHERE user_id = ?", (user_id,))
            await transaction.rows("DELETE FROM chat_index WHERE owner_id = ?", (user_id,))

        await database.write(job)

    async def _write(self, sql: str, parameters: Sequence[object]) -> list[Any]:
        database, _ = await self._ready()
        return await database.write(lambda transaction: transaction.rows(sql, parameters))

    async def _ready(self) -> tuple[IdentityDatabase, SecretBox]:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._open()
            return self._opened

    async def _open(self) -> tuple[IdentityDatabase, SecretBox]:
        await to_thread.run_sync(_make_private, self._path)
        # Before anything is written, so that a file of another secret stays as it is.
        await self.check_secret()
        with in_own_words():
            database = IdentityDatabase(await open_database(self._path, IDENTITY_MIGRATIONS, self._clock))
        try:
            return database, await database.write(self._vault)
        except BaseException:
            await database.close()
            raise

    async def _vault(self, transaction: Transaction) -> SecretBox:
        """The box of this file; the first process that comes here makes its salt."""
        rows = await transaction.rows("SELECT key, value FROM vault_meta")
        if not rows:
            salt = os.urandom(SALT_BYTES)
            check = SecretBox(self._secret, salt).seal(INSTANCE_OWNER, _CHECK_NAME, _CHECK_TEXT)
            rows = [("salt", salt), ("check", check)]
            for row in rows:
                await transaction.rows("INSERT INTO vault_meta VALUES (?, ?)", row)
        return self._box_of(dict(rows))

    def _box_of(self, meta: Mapping[str, bytes]) -> SecretBox:
        box = SecretBox(self._secret, meta.get("salt", b""))
        try:
            box.open(INSTANCE_OWNER, _CHECK_NAME, meta.get("check", b""))
        except SecretDamagedError:
            raise SecretKeyMismatchError(f"identity.db does not open with {self._secret.variable}") from None
        return box


def _make_private(path: Path) -> None:
    """Folder and file readable by their owner only."""
    require_local_file_system(path)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)


__all__ = ["INSTANCE_OWNER", "IdentityStore", "IndexedChat"]
