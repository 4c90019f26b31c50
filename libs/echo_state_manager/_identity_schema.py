"""Tables of identity.db, as numbered steps that only go forward."""

import sqlite3
from typing import Final

import aiosqlite

from echo_constants import Bilingual, StateError

_STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE vault_meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        """CREATE TABLE secrets (
            owner_id TEXT NOT NULL, name TEXT NOT NULL, sealed BLOB NOT NULL, updated_at_s INTEGER NOT NULL,
            PRIMARY KEY (owner_id, name)) WITHOUT ROWID""",
        """CREATE TABLE user_settings (
            user_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, updated_at_s INTEGER NOT NULL,
            PRIMARY KEY (user_id, key)) WITHOUT ROWID""",
        """CREATE TABLE chat_index (
            chat_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, parent_chat_id TEXT, purged_at_s INTEGER)
            WITHOUT ROWID""",
        "CREATE INDEX idx_chat_index_owner ON chat_index (owner_id)",
    ),
)


class IdentityTooNewError(StateError):
    """identity.db was written by a newer ECHO."""

    code = "identity_too_new"
    audience = "admin"
    message = Bilingual(
        en="identity.db was written by a newer version of ECHO. Nothing was changed.",
        fr="identity.db a été écrit par une version plus récente d'ECHO. Rien n'a été modifié.",
    )
    remedy = Bilingual(
        en="Install that version again, or restore the backup of ECHO's data folder.",
        fr="Réinstallez cette version, ou restaurez la sauvegarde du dossier de données d'ECHO.",
    )


async def schema_version(connection: aiosqlite.Connection) -> int:
    """Number of steps that the file has seen.

    Raises:
        IdentityTooNewError: more than this version knows.
    """
    async with connection.execute("PRAGMA user_version") as cursor:
        row = await cursor.fetchone()
    version = int(row[0]) if row else 0
    if version > len(_STEPS):
        raise IdentityTooNewError(f"schema {version}, this version knows {len(_STEPS)}")
    return version


async def migrate(connection: aiosqlite.Connection) -> None:
    """Bring the file to the newest schema; each step is one transaction together with its number.

    The number is read again under the write lock, because another process may have taken the step meanwhile.

    Raises:
        IdentityTooNewError: as `schema_version`.
    """
    while await schema_version(connection) < len(_STEPS):
        await connection.execute("BEGIN IMMEDIATE")
        try:
            version = await schema_version(connection)
            if version < len(_STEPS):
                for statement in _STEPS[version]:
                    await connection.execute(statement)
                await connection.execute(f"PRAGMA user_version = {version + 1}")
            await connection.execute("COMMIT")
        except (sqlite3.Error, StateError):
            await connection.execute("ROLLBACK")
            raise
