"""session.db while it is in use: found damaged in the middle of the work, it is replaced and the work goes on."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from anyio import to_thread

from echo_core.ports import Clock
from echo_state_manager._batch import Batch
from echo_state_manager._cipher import FileCrypt
from echo_state_manager._database import Database, Job
from echo_state_manager._errors import UnusableFileError
from echo_state_manager._files import Identity, identity_of, open_usable, set_aside
from echo_state_manager._migrations import SESSION_MIGRATIONS
from echo_state_manager.crypto import MasterSecret

T = TypeVar("T")


class SessionFile:
    """The open file of one chat. Make one with `SessionFile.open`; every method may raise StoreError.

    Args:
        path: where it is.
        database: open on it.
        identity: which file that is.
        notices: why earlier ones were set aside.
        secret: what values are encrypted under.
        crypt: the database's.
    """

    def __init__(
        self,
        path: Path,
        database: Database,
        identity: Identity,
        notices: Sequence[UnusableFileError],
        secret: MasterSecret | None,
        crypt: FileCrypt,
    ) -> None:
        self.path = path
        self.secret = secret
        self._crypt = crypt
        #: Grows whenever a fresh file took the place of another, so that caches know.
        self.generation = 0
        self._database = database
        self._identity = identity
        self._notices = list(notices)
        self._replacing = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path, clock: Clock, secret: MasterSecret | None) -> "SessionFile":
        """Open or make a file; its folder must exist."""
        crypt = FileCrypt(secret)
        return cls(path, *await open_usable(path, SESSION_MIGRATIONS, clock, crypt), secret, crypt)

    @property
    def now_s(self) -> int:
        """The time that is written into records, epoch seconds."""
        return int(self._database.clock.now_s())

    def take_notices(self) -> tuple[UnusableFileError, ...]:
        """Why files were set aside; each is given once."""
        notices, self._notices = tuple(self._notices), []
        return notices

    async def switch_encryption(self, on: bool) -> None:
        """Encrypt what is written from now on, or no longer; what is there stays as it is, readable."""
        if on != self._crypt.encrypts:
            await self._with_database(lambda database: database.on_connection(partial(self._crypt.switch, on)))

    async def execute(self, *batches: Batch) -> None:
        """Write batches in one transaction."""
        await self._with_database(lambda database: database.execute(batches))

    async def write(self, job: Job[T]) -> T:
        """Run a job in a transaction that writes."""
        return await self._with_database(lambda database: database.write(job))

    async def write_at_once(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """`write` for a job that runs on the connection's thread as a whole."""
        return await self._with_database(lambda database: database.write_at_once(job))

    async def read(self, job: Job[T]) -> T:
        """Run a job that reads one consistent state in several statements."""
        return await self._with_database(lambda database: database.read(job))

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one reading statement."""
        return await self._with_database(lambda database: database.rows(sql, parameters))

    async def is_current(self) -> bool:
        """Whether the path still names the file that is open here; another process may have replaced or purged it."""
        return await to_thread.run_sync(identity_of, self.path) == self._identity

    async def close(self) -> None:
        """Finish what was asked for and close; twice is harmless."""
        await self._database.close()

    async def close_for_gone_loop(self) -> None:
        """Close from another event loop than the one that opened."""
        await self._database.close_for_gone_loop()

    async def _with_database(self, call: Callable[[Database], Awaitable[T]]) -> T:
        async with self._replacing:
            database = self._database
        try:
            return await call(database)
        except UnusableFileError as error:
            await self._replace(database, error)
            return await call(self._database)

    async def _replace(self, unusable: Database, error: UnusableFileError) -> None:
        async with self._replacing:
            if self._database is not unusable:
                return
            await unusable.close()
            if await to_thread.run_sync(set_aside, self.path, self._identity, error.reason, unusable.clock.now_s()):
                self._notices.append(error)
            encrypts = self._crypt.encrypts
            self._crypt = FileCrypt(self.secret)
            self._database, self._identity, more = await open_usable(
                self.path, SESSION_MIGRATIONS, unusable.clock, self._crypt
            )
            if encrypts:
                await self._database.on_connection(partial(self._crypt.switch, True))
            self._notices += more
            self.generation += 1
