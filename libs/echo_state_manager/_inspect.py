"""Looking at a session.db without writing to it, whatever state it is in."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

import aiosqlite
from anyio import to_thread

from echo_state_manager._cipher import FileCrypt
from echo_state_manager._database import Transaction, on_thread
from echo_state_manager._errors import store_error
from echo_state_manager._files import look, read_only, require_usable, snapshot
from echo_state_manager._migrations import SESSION_MIGRATIONS, migrate, steps_done
from echo_state_manager._verify import VerifyReport, verify_records
from echo_state_manager.crypto import MasterSecret

#: How long a reader waits for somebody who holds a file exclusively. Source: our choice.
_BUSY_S: Final = 10.0


@asynccontextmanager
async def readable(path: Path, now_s: int, secret: MasterSecret | None) -> AsyncIterator[Transaction]:
    """One consistent state of a file. It is never written to: an older schema is brought up to date in memory.

    Args:
        path: a session.db, also one that was set aside, or that a running Open WebUI writes to.
        now_s: epoch seconds.
        secret: what the file is encrypted under, if it is.

    Raises:
        UnusableFileError: the file is damaged, foreign, of a newer version or encrypted under another secret.
        StoreError: it could not be read for a reason outside of it.
    """
    found = await to_thread.run_sync(look, path, len(SESSION_MIGRATIONS))
    await require_usable(path, found, SESSION_MIGRATIONS)
    if await to_thread.run_sync(_steps, path) == len(SESSION_MIGRATIONS):
        async with snapshot(path, now_s, secret) as tx:
            yield tx
        return
    connection = aiosqlite.connect(":memory:", isolation_level=None)
    connection._thread.daemon = True
    try:
        async with connection:
            await on_thread(connection, partial(_copy_and_migrate, path, now_s, FileCrypt(secret)))
            yield Transaction(connection, now_s)
    except sqlite3.Error as error:
        raise store_error(error) from error


async def verify_file(path: Path, now_s: int, secret: MasterSecret | None = None) -> VerifyReport:
    """Derive every hash of a file again, as `verify`, without opening it for writing. Raises as `readable`."""
    async with readable(path, now_s, secret) as tx:
        return await verify_records(tx)


def copy_file(source: Path, target: Path) -> None:
    """Copy one consistent moment of a database that others may be writing to; blocks on the disk.

    Raises:
        StoreError: it cannot be read, or the copy cannot be written.
    """
    target.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(read_only(source), uri=True, timeout=_BUSY_S)) as old,
            closing(sqlite3.connect(target, isolation_level=None)) as new,
        ):
            new.execute("PRAGMA journal_mode = OFF")
            old.backup(new)
    except sqlite3.Error as error:
        target.unlink(missing_ok=True)
        raise store_error(error) from error


def _steps(path: Path) -> int:
    try:
        with closing(sqlite3.connect(read_only(path), uri=True, timeout=_BUSY_S)) as connection:
            return steps_done(connection)
    except sqlite3.Error as error:
        raise store_error(error) from error


def _copy_and_migrate(path: Path, now_s: int, crypt: FileCrypt, copy: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(read_only(path), uri=True, timeout=_BUSY_S)) as source:
        source.backup(copy)
    migrate(copy, SESSION_MIGRATIONS, now_s)
    crypt.attach(copy)
