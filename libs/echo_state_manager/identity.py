"""identity.db: encrypted secrets, user settings and the index of chats, shared by every process of the instance."""

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiosqlite
import anyio

from echo_state_manager._identity_schema import migrate, schema_version
from echo_state_manager.crypto import (
    SALT_BYTES,
    MasterSecret,
    SecretBox,
    SecretDamagedError,
    SecretKeyMismatchError,
)

#: Owner of the secrets that an administrator gives for everybody.
INSTANCE_OWNER: Final = ""
#: How long one process waits for another's write. Source: our limit, far above the few ms that a write takes.
BUSY_TIMEOUT_MS: Final = 5_000
#: SQLite's clock, so that all processes on the file agree; epoch seconds.
_NOW: Final = "CAST(strftime('%s', 'now') AS INTEGER)"
_CHECK_NAME: Final = "vault_check"
_CHECK_TEXT: Final = "echo"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChat:
    """One chat that ECHO keeps records of.

    Args:
        purged_at_s: epoch seconds at which its records were removed, None while they live.
    """

    chat_id: str
    owner_id: str
    parent_chat_id: str | None
    purged_at_s: int | None


class IdentityStore:
    """The instance's identity.db. One connection an operation: safe for many tasks, threads and processes.

    Args:
        path: the file; its folder is made when absent.
        secret: what the secrets are encrypted under.
    """

    def __init__(self, path: Path, secret: MasterSecret) -> None:
        self._path = path
        self._secret = secret
        self._box: SecretBox | None = None
        self._opening = anyio.Lock()

    async def open(self) -> None:
        """Create or migrate the file and check the secret; every other method does this first.

        Raises:
            SecretKeyMismatchError: the file belongs to another secret; it is left as it is.
            IdentityTooNewError: the file is from a newer version; it is left as it is.
        """
        await self._ready()

    async def put_secret(self, owner_id: str, name: str, value: str) -> None:
        """Store or replace a secret. `owner_id` is a user id or `INSTANCE_OWNER`. Raises as `open`."""
        box = await self._ready()
        sql = (
            f"INSERT INTO secrets VALUES (?, ?, ?, {_NOW}) ON CONFLICT (owner_id, name)"  # noqa: S608
            " DO UPDATE SET sealed = excluded.sealed, updated_at_s = excluded.updated_at_s"
        )
        await self._write(sql, (owner_id, name, box.seal(owner_id, name, value)))

    async def get_secret(self, owner_id: str, name: str) -> str | None:
        """A secret in clear, None when absent.

        Raises:
            SecretDamagedError: the row was changed outside ECHO.
            StateError: as `open`.
        """
        found = await self.find_secret(name, (owner_id,))
        return None if found is None else found[1]

    async def find_secret(self, name: str, owner_ids: Sequence[str]) -> tuple[str, str] | None:
        """The secret of the first owner that has one, as (owner, value). Raises as `get_secret`."""
        box = await self._ready()
        marks = ", ".join("?" * len(owner_ids))
        sql = f"SELECT owner_id, sealed FROM secrets WHERE name = ? AND owner_id IN ({marks})"  # noqa: S608
        sealed = dict(await self._read(sql, (name, *owner_ids)))
        for owner_id in owner_ids:
            if owner_id in sealed:
                return owner_id, box.open(owner_id, name, sealed[owner_id])
        return None

    async def delete_secret(self, owner_id: str, name: str) -> bool:
        """Remove a secret; True when there was one. Raises as `open`."""
        await self._ready()
        return await self._write("DELETE FROM secrets WHERE owner_id = ? AND name = ?", (owner_id, name)) > 0

    async def secret_names(self, owner_id: str) -> Mapping[str, int]:
        """Names of an owner's secrets with the epoch second of their last change; never values. Raises as `open`."""
        await self._ready()
        rows = await self._read("SELECT name, updated_at_s FROM secrets WHERE owner_id = ? ORDER BY name", (owner_id,))
        return dict(rows)

    async def get_setting(self, user_id: str, key: str) -> str | None:
        """A user's setting, None when absent. Raises as `open`."""
        await self._ready()
        rows = await self._read("SELECT value FROM user_settings WHERE user_id = ? AND key = ?", (user_id, key))
        return str(rows[0][0]) if rows else None

    async def save_setting(self, user_id: str, key: str, value: str) -> None:
        """Store or replace a user's setting. Raises as `open`."""
        await self._ready()
        sql = (
            f"INSERT INTO user_settings VALUES (?, ?, ?, {_NOW}) ON CONFLICT (user_id, key)"  # noqa: S608
            " DO UPDATE SET value = excluded.value, updated_at_s = excluded.updated_at_s"
        )
        await self._write(sql, (user_id, key, value))

    async def index_chat(self, chat_id: str, owner_id: str, parent_chat_id: str | None = None) -> None:
        """Note a chat; what is known already stays, a parent that was unknown is added. Raises as `open`."""
        await self._ready()
        sql = (
            "INSERT INTO chat_index VALUES (?, ?, ?, NULL) ON CONFLICT (chat_id) DO UPDATE"
            " SET parent_chat_id = COALESCE(chat_index.parent_chat_id, excluded.parent_chat_id)"
        )
        await self._write(sql, (chat_id, owner_id, parent_chat_id))

    async def get_chat(self, chat_id: str) -> IndexedChat | None:
        """What the index knows of a chat. Raises as `open`."""
        await self._ready()
        sql = "SELECT owner_id, parent_chat_id, purged_at_s FROM chat_index WHERE chat_id = ?"
        for owner_id, parent, purged in await self._read(sql, (chat_id,)):
            return IndexedChat(chat_id=chat_id, owner_id=owner_id, parent_chat_id=parent, purged_at_s=purged)
        return None

    async def mark_purged(self, owner_id: str, chat_ids: Iterable[str]) -> None:
        """Note that the records of chats are gone, also of chats the index had not seen. Raises as `open`."""
        await self._ready()
        sql = (
            f"INSERT INTO chat_index VALUES (?, ?, NULL, {_NOW}) ON CONFLICT (chat_id)"  # noqa: S608
            " DO UPDATE SET purged_at_s = excluded.purged_at_s"
        )
        async with self._connection() as connection:
            await connection.execute("BEGIN IMMEDIATE")
            await connection.executemany(sql, [(chat_id, owner_id) for chat_id in chat_ids])
            await connection.execute("COMMIT")

    async def forget_user(self, user_id: str) -> None:
        """Remove a user's secrets, settings and index rows in one transaction. Raises as `open`.

        An empty id is refused, because it is the instance's own.
        """
        if user_id == INSTANCE_OWNER:
            raise ValueError("the instance is not a user")
        await self._ready()
        async with self._connection() as connection:
            await connection.execute("BEGIN IMMEDIATE")
            await connection.execute("DELETE FROM secrets WHERE owner_id = ?", (user_id,))
            await connection.execute("DELETE FROM user_settings WHERE user_id = ?", (user_id,))
            await connection.execute("DELETE FROM chat_index WHERE owner_id = ?", (user_id,))
            await connection.execute("COMMIT")

    async def _ready(self) -> SecretBox:
        if self._box is None:
            async with self._opening:
                if self._box is None:
                    self._box = await self._open()
        return self._box

    async def _open(self) -> SecretBox:
        await anyio.to_thread.run_sync(_make_private, self._path)
        async with self._connection() as connection:
            # The secret is checked before anything is written, so that a foreign file stays as it is.
            if await schema_version(connection) > 0 and (box := await self._vault(connection)) is not None:
                await migrate(connection)
                return box
            await connection.execute("PRAGMA journal_mode = WAL")
            await migrate(connection)
            await self._make_vault(connection)
            box = await self._vault(connection)
        if box is None:
            raise SecretKeyMismatchError("identity.db lost its vault while it was opened")
        return box

    async def _vault(self, connection: aiosqlite.Connection) -> SecretBox | None:
        rows = await connection.execute_fetchall("SELECT key, value FROM vault_meta WHERE key IN ('salt', 'check')")
        meta = {str(row[0]): bytes(row[1]) for row in rows}
        if "salt" not in meta:
            return None
        box = SecretBox(self._secret, meta["salt"])
        try:
            box.open(INSTANCE_OWNER, _CHECK_NAME, meta.get("check", b""))
        except SecretDamagedError:
            raise SecretKeyMismatchError(f"identity.db does not open with {self._secret.variable}") from None
        return box

    async def _make_vault(self, connection: aiosqlite.Connection) -> None:
        salt = os.urandom(SALT_BYTES)
        check = SecretBox(self._secret, salt).seal(INSTANCE_OWNER, _CHECK_NAME, _CHECK_TEXT)
        await connection.execute("BEGIN IMMEDIATE")
        sql = "INSERT INTO vault_meta SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM vault_meta WHERE key = ?)"
        await connection.executemany(sql, [("salt", salt, "salt"), ("check", check, "check")])
        await connection.execute("COMMIT")

    async def _read(self, sql: str, parameters: Sequence[object]) -> list[Any]:
        async with self._connection() as connection:
            return list(await connection.execute_fetchall(sql, parameters))

    async def _write(self, sql: str, parameters: Sequence[object]) -> int:
        async with self._connection() as connection, connection.execute(sql, parameters) as cursor:
            return cursor.rowcount

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[aiosqlite.Connection]:
        # A connection that stayed open would keep aiosqlite's thread, and with it the process, alive.
        async with aiosqlite.connect(self._path, isolation_level=None) as connection:
            await connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            await connection.execute("PRAGMA secure_delete = ON")
            yield connection


def _make_private(path: Path) -> None:
    """Folder and file readable by their owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)


__all__ = ["BUSY_TIMEOUT_MS", "INSTANCE_OWNER", "IdentityStore", "IndexedChat"]
