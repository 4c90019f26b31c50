"""prompts.db: the prompts that an administrator put in the place of shipped ones, every version of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from echo_core.ports import Clock
from echo_paths import require_local_file_system
from echo_state_manager._database import Database, Transaction, open_database
from echo_state_manager._migrations import Migration

_MIGRATIONS: Final = (
    Migration(
        "m001_prompts",
        (
            """CREATE TABLE prompt_versions (
                name TEXT NOT NULL, locale TEXT NOT NULL, version INTEGER NOT NULL, text TEXT,
                based_on INTEGER NOT NULL, author TEXT NOT NULL, created_at INTEGER NOT NULL,
                PRIMARY KEY (name, locale, version)) WITHOUT ROWID""",
        ),
    ),
)
_COLUMNS: Final = "name, locale, version, text, based_on, author, created_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVersion:
    """One version of one prompt; the highest of each holds.

    Args:
        name: as in `echo_prompts`.
        locale: likewise.
        version: from 1 on.
        text: None = the shipped text holds again.
        based_on: version of the shipped text at that time.
        author: who did it.
        created_at_s: epoch seconds.
    """

    name: str
    locale: str
    version: int
    text: str | None
    based_on: int
    author: str
    created_at_s: int


class PromptStore:
    """The instance's prompts.db; belongs to one event loop. Nothing is made before something is kept.

    Every method may raise a StoreError.

    Args:
        path: the file.
        clock: time of changes.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._database: Database | None = None
        self._opening = asyncio.Lock()

    async def current(self) -> list[PromptVersion]:
        """The version of each prompt that holds, of those that were ever changed."""
        # SQLite takes the other columns from the row of the maximum. Source: https://sqlite.org/lang_select.html 2.5
        return await self._read(
            "SELECT name, locale, MAX(version), text, based_on, author, created_at FROM prompt_versions "
            "GROUP BY name, locale"
        )

    async def history(self, name: str, locale: str) -> list[PromptVersion]:
        """All versions of one prompt, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM prompt_versions WHERE name = ? AND locale = ? ORDER BY version"  # noqa: S608
        return await self._read(sql, (name, locale))

    async def put(self, name: str, locale: str, text: str | None, *, based_on: int, author: str) -> PromptVersion:
        """Keep a new version, which holds from now on; arguments as in `PromptVersion`."""
        database = await self._open(make=True)
        assert database is not None  # noqa: S101 (`make`)

        async def job(transaction: Transaction) -> PromptVersion:
            rows = await transaction.rows(
                f"INSERT INTO prompt_versions SELECT ?1, ?2, COALESCE(MAX(version), 0) + 1, ?3, ?4, ?5, ?6 "  # noqa: S608
                f"FROM prompt_versions WHERE name = ?1 AND locale = ?2 RETURNING {_COLUMNS}",
                (name, locale, text, based_on, author, transaction.now_s),
            )
            return _version(rows[0])

        return await database.write(job)

    async def close(self) -> None:
        """Close the file; the next use opens it again."""
        async with self._opening:
            database, self._database = self._database, None
            if database is not None:
                await database.close()

    async def _read(self, sql: str, parameters: Sequence[Any] = ()) -> list[PromptVersion]:
        database = await self._open(make=False)
        return [] if database is None else [_version(row) for row in await database.rows(sql, parameters)]

    async def _open(self, *, make: bool) -> Database | None:
        if self._database is not None:
            return self._database
        async with self._opening:
            if self._database is None and (make or await to_thread.run_sync(self._path.exists)):
                await to_thread.run_sync(make_private, self._path)
                self._database = await open_database(self._path, _MIGRATIONS, self._clock)
            return self._database


def make_private(path: Path) -> None:
    """Folder and file readable by their owner only."""
    require_local_file_system(path)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)


def _version(row: Sequence[Any]) -> PromptVersion:
    name, locale, version, text, based_on, author, created_at = row
    return PromptVersion(
        name=str(name),
        locale=str(locale),
        version=int(version),
        text=None if text is None else str(text),
        based_on=int(based_on),
        author=str(author),
        created_at_s=int(created_at),
    )
