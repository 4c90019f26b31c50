"""The file as a whole: whose it is, whether it can be used, and how it is set aside when it cannot."""

import fcntl
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiosqlite
from anyio import to_thread

from echo_core.ports import Clock
from echo_state_manager._cipher import FileCrypt
from echo_state_manager._database import (
    APPLICATION_ID,
    BUSY_TIMEOUT_MS,
    MADE_BY_ANOTHER,
    Database,
    Transaction,
    on_thread,
    open_database,
)
from echo_state_manager._errors import (
    ForeignFileError,
    FutureFileError,
    StoreError,
    StoreUnavailableError,
    UnusableFileError,
    store_error,
)
from echo_state_manager._migrations import Migration, check_steps, steps_done
from echo_state_manager.crypto import MasterSecret

logger = logging.getLogger(__name__)

#: The log files first: a fresh main file must never meet the old one's log.
_SUFFIXES: Final = ("-wal", "-shm", "")

#: What a reader meets before a new file is in WAL mode. Source: https://www.sqlite.org/rescode.html
UNFINISHED: Final = MADE_BY_ANOTHER | {sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_CANTOPEN}

#: How often a file may prove unusable while it is opened; one is set aside each time. Source: our choice.
_ATTEMPTS: Final = 3

#: (device, inode); None for a file that is not there.
Identity = tuple[int, int] | None


async def open_usable(
    path: Path, migrations: Sequence[Migration], clock: Clock, crypt: FileCrypt
) -> tuple[Database, Identity, list[UnusableFileError]]:
    """Open a file; one that cannot be used is set aside first and a fresh one made.

    Args:
        path: the file.
        migrations: all steps of its schema.
        clock: time for records.
        crypt: opens what is encrypted.

    Returns:
        the open database, which file it is, and why others were set aside.

    Raises:
        StoreError: the file could not be opened for a reason that lies outside of it.
    """
    notices: list[UnusableFileError] = []
    for _ in range(_ATTEMPTS):
        found = await to_thread.run_sync(look, path, len(migrations))
        try:
            await require_usable(path, found, migrations)
            database = await open_database(path, migrations, clock, crypt.attach)
        except UnusableFileError as error:
            if await to_thread.run_sync(set_aside, path, found.identity, error.reason, clock.now_s()):
                notices.append(error)
            continue
        opened = await to_thread.run_sync(identity_of, path)
        if found.identity in (None, opened):
            return database, opened, notices
        await database.close()
    raise StoreUnavailableError(f"{path} is replaced again and again")


@asynccontextmanager
async def snapshot(path: Path, now_s: int, secret: MasterSecret | None) -> AsyncIterator[Transaction]:
    """One consistent state of a file on a connection of its own, so that nobody waits for the reader.

    Args:
        path: the file, with our newest schema.
        now_s: epoch seconds.
        secret: opens what is encrypted.

    Raises:
        StoreError: as `_errors.store_error` says.
    """
    connection = aiosqlite.connect(read_only(path), uri=True, isolation_level=None)
    connection._thread.daemon = True
    try:
        async with connection:
            await on_thread(connection, FileCrypt(secret).attach)
            await connection.execute_fetchall("BEGIN")
            yield Transaction(connection, now_s)
    except sqlite3.Error as error:
        raise store_error(error) from error


def read_only(path: Path) -> str:
    return f"file:{quote(str(path))}?mode=ro"


def identity_of(path: Path) -> Identity:
    """Which file a path names now; blocks on the disk."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def set_aside(path: Path, identity: Identity, reason: str, now_s: float) -> Path | None:
    """Rename a file and its logs to `session.db.<reason>-<UTC time>`; blocks on the disk.

    Args:
        path: the file.
        identity: which file was found unusable; another process may have replaced it meanwhile.
        reason: goes into the new name.
        now_s: epoch seconds.

    Returns:
        the new path of the main file, None when that file is not at `path` any more.
    """
    with _folder_lock(path.parent):
        if identity is None or identity_of(path) != identity:
            return None
        target = free_name(path, reason, now_s)
        log = path.with_name(path.name + "-wal")
        nothing_logged = not log.exists() or log.stat().st_size == 0
        for suffix in _SUFFIXES:
            source = path.with_name(path.name + suffix)
            if suffix and nothing_logged:  # made by who only looked
                source.unlink(missing_ok=True)
            elif source.exists():
                source.rename(target.with_name(target.name + suffix))
    logger.error("A %s state file was set aside as %s", reason, target.name)
    return target


def free_name(path: Path, reason: str, now_s: float) -> Path:
    """A name beside a file that says why and when it was put there, and that is not taken; blocks on the disk."""
    label = f"{reason}-{datetime.fromtimestamp(now_s, UTC):%Y%m%dT%H%M%SZ}"
    target = path.with_name(f"{path.name}.{label}")
    count = 1
    while target.exists():
        count += 1
        target = path.with_name(f"{path.name}.{label}-{count}")
    return target


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Only one process or thread sets files of a folder aside at a time."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Found:
    """What lies at a path before it is opened.

    Args:
        fault: why it cannot be used, as far as its header tells.
        log_bytes: size of its write-ahead log.
    """

    identity: Identity
    fault: StoreError | None = None
    log_bytes: int = 0


async def require_usable(path: Path, found: Found, migrations: Sequence[Migration]) -> None:
    """Refuse a file that is not ours or too new before SQLite can write to it.

    Raises:
        StoreError: why it cannot be used.
    """
    if found.fault is not None:
        raise found.fault
    if found.log_bytes == 0:
        return
    # The newest steps may still be in the log only; a read-only connection leaves both files as they are.
    connection = aiosqlite.connect(read_only(path), uri=True)
    connection._thread.daemon = True
    try:
        async with connection:
            await on_thread(connection, partial(_check_steps_if_any, migrations))
    except sqlite3.Error as error:
        raise store_error(error) from error


def _check_steps_if_any(migrations: Sequence[Migration], connection: sqlite3.Connection) -> None:
    if steps_done(connection):
        check_steps(connection, migrations)


def look(path: Path, known_steps: int) -> Found:
    """Read whose file it is; blocks on the disk.

    SQLite reads it, because nothing else may open and close a file that this process has open: POSIX would drop the
    locks of the other connections, and the last to close takes away a log that they still write.
    Source: https://www.sqlite.org/howtocorrupt.html section 2.2.
    """
    identity = identity_of(path)
    if identity is None:
        return Found(None)
    try:
        log_bytes = os.stat(path.with_name(path.name + "-wal")).st_size
    except FileNotFoundError:
        log_bytes = 0
    except OSError as error:
        return Found(identity, StoreUnavailableError(f"{type(error).__name__} {error.errno}"))
    try:
        with closing(sqlite3.connect(read_only(path), uri=True, timeout=BUSY_TIMEOUT_MS / 1000)) as connection:
            pages, application, steps = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "application_id", "user_version")
            )
    except sqlite3.Error as error:
        # Somebody makes it at this moment, or died while making it: whoever opens it to write will see.
        unfinished = error.sqlite_errorcode in UNFINISHED
        return Found(identity, None if unfinished else store_error(error), log_bytes)
    return Found(identity, _fault(application, steps, known_steps) if pages else None, log_bytes)


def _fault(application: int, steps: int, known_steps: int) -> UnusableFileError | None:
    if application != APPLICATION_ID:
        return ForeignFileError("another application's file")
    if steps > known_steps:
        return FutureFileError(f"the file has {steps} steps, we know {known_steps}")
    return None
