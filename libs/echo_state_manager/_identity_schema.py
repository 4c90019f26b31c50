"""Tables of identity.db, as numbered steps that only go forward, and what is wrong with a file that is not ours."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from echo_constants import Bilingual, StateError
from echo_state_manager._database import Database, Job
from echo_state_manager._errors import (
    FutureFileError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    UnusableFileError,
)
from echo_state_manager._migrations import Migration

T = TypeVar("T")

IDENTITY_MIGRATIONS: Final = (
    Migration(
        "m001_identity",
        (
            "CREATE TABLE vault_meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
            """CREATE TABLE secrets (
                owner_id TEXT NOT NULL, name TEXT NOT NULL, sealed BLOB NOT NULL, updated_at INTEGER NOT NULL,
                PRIMARY KEY (owner_id, name)) WITHOUT ROWID""",
            """CREATE TABLE user_settings (
                user_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, updated_at INTEGER NOT NULL,
                PRIMARY KEY (user_id, key)) WITHOUT ROWID""",
            """CREATE TABLE chat_index (
                chat_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, parent_chat_id TEXT, purged_at INTEGER)
                WITHOUT ROWID""",
            "CREATE INDEX idx_chat_index_owner ON chat_index (owner_id)",
        ),
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


class IdentityUnusableError(StateError):
    """identity.db is damaged, or another program's file lies in its place."""

    code = "identity_unusable"
    audience = "admin"
    message = Bilingual(
        en="identity.db, where ECHO keeps API keys, is damaged or not ECHO's. Nothing was changed.",
        fr="identity.db, où ECHO conserve les clés API, est abîmé ou n'est pas à ECHO. Rien n'a été modifié.",
    )
    remedy = Bilingual(
        en="Restore it from the backup of ECHO's data folder, or move it away, restart and enter the keys again.",
        fr="Restaurez-le depuis la sauvegarde du dossier de données d'ECHO, ou écartez-le, redémarrez et saisissez "
        "les clés de nouveau.",
    )


class IdentityBusyError(StateError):
    """Another process kept identity.db locked for longer than the busy limit."""

    code = "identity_busy"
    retryable = True
    message = Bilingual(
        en="identity.db, where ECHO keeps accounts and keys, is in use elsewhere.",
        fr="identity.db, où ECHO conserve les comptes et les clés, est utilisé ailleurs.",
    )
    remedy = Bilingual(en="Try again in a moment.", fr="Réessayez dans un instant.")


class IdentityFailedError(StateError):
    """SQLite could not do what was asked of identity.db."""

    code = "identity_failed"
    message = Bilingual(
        en="ECHO could not use identity.db, where it keeps accounts and keys.",
        fr="ECHO n'a pas pu utiliser identity.db, où il conserve les comptes et les clés.",
    )


@contextmanager
def in_own_words() -> Iterator[None]:
    """Errors of the file told as what they are here: no records of a chat, but accounts and keys.

    Raises:
        StateError: IdentityTooNewError, IdentityUnusableError, IdentityBusyError, IdentityFailedError; a full disk and
            a folder that cannot be used are told as everywhere.
    """
    try:
        yield
    except FutureFileError as error:
        raise IdentityTooNewError(error.detail) from error
    except UnusableFileError as error:
        raise IdentityUnusableError(error.detail) from error
    except StoreBusyError as error:
        raise IdentityBusyError(error.detail) from error
    except (StoreFullError, StoreUnavailableError):
        raise
    except StoreError as error:
        raise IdentityFailedError(error.detail) from error


class IdentityDatabase:
    """The open identity.db: a `Database` that speaks of accounts and keys when it fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """As `Database.rows`, raises as `in_own_words`."""
        with in_own_words():
            return await self._database.rows(sql, parameters)

    async def write(self, job: Job[T]) -> T:
        """As `Database.write`, raises as `in_own_words`."""
        with in_own_words():
            return await self._database.write(job)

    async def close(self) -> None:
        """As `Database.close`."""
        await self._database.close()
