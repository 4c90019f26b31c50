"""One SQLite file and one connection: who may use it when, and what a job in it may rely on.

A connection belongs to one event loop. Jobs on it run one after the other in the order they were asked for, so none
sees another's unfinished work. Writers on other connections (other loops, threads, processes) are kept apart by SQLite
itself: every job that writes opens with BEGIN IMMEDIATE and waits up to the busy limit.
A job that was asked for is finished even if the caller is cancelled meanwhile: the Stop button must not undo a seal.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import aiosqlite

from echo_core.ports import Clock
from echo_state_manager._batch import Batch
from echo_state_manager._errors import (
    ForeignFileError,
    StoreBusyError,
    StoreClosedError,
    StoreUnavailableError,
    store_error,
)
from echo_state_manager._migrations import Migration, migrate

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: How long a writer waits for another one. A seal takes milliseconds; ten seconds also cover a copy being made.
BUSY_TIMEOUT_MS: Final = 10_000

#: How often and how far apart a file is tried that another process is just making. Source: our choice, 5 s in all.
OPEN_ATTEMPTS: Final = 100
OPEN_RETRY_S: Final = 0.05

#: What one process meets while another switches the same new file to WAL: its rollback journal is gone, or the file
#: locked, between two looks. Source: seen in 3 of 120 openings by three processes at once, SQLite 3.40.1.
MADE_BY_ANOTHER: Final = frozenset({sqlite3.SQLITE_IOERR_DELETE_NOENT, sqlite3.SQLITE_IOERR_RDLOCK})

#: How long the closing of a connection from another event loop may take. Source: our choice.
GONE_LOOP_LIMIT_S: Final = 1.0

#: What a checkpoint leaves of the log file; image signatures let it grow by megabytes. Source: our choice.
JOURNAL_SIZE_LIMIT_BYTES: Final = 8 * 1024 * 1024

#: "ECHO" in ASCII, at byte 68 of the file. Source: https://www.sqlite.org/fileformat.html section 1.3.16
APPLICATION_ID: Final = 0x4543484F


@dataclass(frozen=True, slots=True)
class Transaction:
    """What a job gets: statements inside one transaction, and the time it began.

    Args:
        connection: never commit or roll back through it.
        now_s: epoch seconds, the same for everything that the job writes.
    """

    connection: aiosqlite.Connection
    now_s: int

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and return all its rows as tuples."""
        return list(await self.connection.execute_fetchall(sql, parameters))

    async def execute(self, batch: Batch) -> None:
        """Run the statements of a batch."""
        for sql, rows in batch.statements.items():
            await self.connection.executemany(sql, rows)


Job = Callable[[Transaction], Awaitable[T]]


class Database:
    """An open file. Make one with `open_database`; use it on the event loop that made it."""

    def __init__(self, path: Path, connection: aiosqlite.Connection, clock: Clock) -> None:
        self.path = path
        self.clock = clock
        self._connection = connection
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def write(self, job: Job[T]) -> T:
        """Run a job in a transaction that writes.

        Raises:
            StoreError: as `_errors.store_error` says; nothing of the job was written.
        """
        return await self._queued(self._transact("BEGIN IMMEDIATE", job))

    async def write_at_once(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """`write` without a change of threads for each statement: the whole job runs on the connection's thread."""
        return await self._queued(self._hop(partial(_in_transaction, job)))

    async def execute(self, batches: Sequence[Batch]) -> None:
        """Write batches in one transaction. Raises as `write`."""
        if any(batch.statements for batch in batches):
            await self.write_at_once(partial(write_batches, batches))

    async def read(self, job: Job[T]) -> T:
        """Run a job that reads one consistent state in several statements. Raises as `write`."""
        return await self._queued(self._transact("BEGIN", job))

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one reading statement. Raises as `write`."""
        if self._closed:
            raise StoreClosedError(f"{self.path} is closed")
        # No task of its own as for what writes: a reader that goes away leaves nothing half done.
        return await self._hop(lambda connection: connection.execute(sql, parameters).fetchall())

    async def on_connection(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run something on the connection's thread, between the jobs. Raises as `write`."""
        return await self._queued(self._hop(work))

    async def close(self) -> None:
        """Finish the jobs that were asked for, then close; twice is harmless."""
        if self._closed:
            return
        self._closed = True
        while self._tasks:
            await asyncio.wait(self._tasks)
        async with self._turn:  # readers that waited for it come first
            await self._connection.close()

    async def close_for_gone_loop(self) -> None:
        """Close a connection whose own event loop is gone, from another one."""
        self._closed = True
        stopped = self._connection.stop()
        # The thread is dead if a statement ended after its loop: then there is nothing to wait for.
        if stopped is not None:
            await asyncio.wait([stopped], timeout=GONE_LOOP_LIMIT_S)

    async def _queued(self, work: Coroutine[Any, Any, T]) -> T:
        if self._closed:
            work.close()
            raise StoreClosedError(f"{self.path} is closed")
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_unheard)
            raise

    async def _hop(self, function: Callable[[sqlite3.Connection], T]) -> T:
        async with self._turn:
            try:
                return await on_thread(self._connection, function)
            except sqlite3.Error as error:
                raise store_error(error) from error

    async def _transact(self, begin: str, job: Job[T]) -> T:
        async with self._turn:
            try:
                await self._connection.execute_fetchall(begin)
                try:
                    result = await job(Transaction(self._connection, int(self.clock.now_s())))
                except BaseException:
                    await self._connection.rollback()
                    raise
                await self._commit()
            except sqlite3.Error as error:
                raise store_error(error) from error
            return result

    async def _commit(self) -> None:
        try:
            await self._connection.commit()
        except sqlite3.Error:
            await self._connection.rollback()
            raise


def write_batches(batches: Sequence[Batch], connection: sqlite3.Connection) -> None:
    """Run the statements of batches, inside the caller's transaction."""
    for batch in batches:
        for sql, rows in batch.statements.items():
            connection.executemany(sql, rows)


def _in_transaction(job: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = job(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return result


def _log_unheard(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("A job whose caller was gone failed", exc_info=error)


async def open_database(
    path: Path,
    migrations: Sequence[Migration],
    clock: Clock,
    on_open: Callable[[sqlite3.Connection], None] | None = None,
) -> Database:
    """Open a file, make it when absent, and bring it to the newest step. Its folder must exist.

    Args:
        path: the file.
        migrations: all steps.
        clock: time for records.
        on_open: runs on the connection's thread before and after the steps; what it raises ends the opening.

    Raises:
        StoreError: as `_errors.store_error` says.
    """
    connection = aiosqlite.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
    # A connection that nobody closed must not keep the process alive: SQLite is safe against that as against a kill.
    connection._thread.daemon = True
    try:
        await connection
    except sqlite3.Error as error:
        raise store_error(error) from error
    try:
        await _prepare_patiently(connection, partial(_prepare, migrations, int(clock.now_s()), on_open))
    except BaseException:
        await connection.close()
        raise
    return Database(path, connection, clock)


async def on_thread(connection: aiosqlite.Connection, function: Callable[[sqlite3.Connection], T]) -> T:
    """Run a function on a connection's thread.

    aiosqlite's public calls take one hop a statement. With ten statements a seal, fifty chats at once spent their time
    on changing threads, not on writing (tests/bench/bench_store.py).
    """
    execute = cast("Callable[..., Awaitable[T]]", connection._execute)
    return await execute(function, connection._conn)


async def _prepare_patiently(connection: aiosqlite.Connection, prepare: Callable[[sqlite3.Connection], None]) -> None:
    """Processes that make the same file get SQLITE_BUSY at once, without SQLite's own waiting, or `MADE_BY_ANOTHER`."""
    for attempts_left in range(OPEN_ATTEMPTS - 1, -1, -1):
        try:
            await on_thread(connection, prepare)
        except sqlite3.Error as error:
            typed = store_error(error)
            passes = isinstance(typed, StoreBusyError) or error.sqlite_errorcode in MADE_BY_ANOTHER
            if attempts_left == 0 or not passes:
                raise typed from error
        else:
            return
        await asyncio.sleep(OPEN_RETRY_S)


def _prepare(
    migrations: Sequence[Migration],
    now_s: int,
    on_open: Callable[[sqlite3.Connection], None] | None,
    connection: sqlite3.Connection,
) -> None:
    if on_open is not None:
        on_open(connection)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]  # first: another process may be making the file
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        if pages:
            raise ForeignFileError("another application's file")
        # Before the switch to WAL, so that the main file itself always says whose it is.
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreUnavailableError(f"journal mode is {mode}, not WAL")
    # In WAL mode NORMAL survives a killed process completely and a power cut without damage.
    # Source: https://www.sqlite.org/pragma.html#pragma_synchronous
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_SIZE_LIMIT_BYTES}").fetchone()
    migrate(connection, migrations, now_s)
    if on_open is not None:
        on_open(connection)
