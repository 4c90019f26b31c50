"""The connections to one origin on one event loop."""

import asyncio
import copy
import math
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import httpx

from echo_http._connection import H2Connection

#: Streams that one new connection is expected to carry, while its limit is not known yet.
_EXPECTED_STREAMS: Final = 100


class NotHttp2(Exception):
    """The server answered, but does not speak HTTP/2."""


Connect = Callable[[Callable[[H2Connection], None]], Awaitable[H2Connection]]


class OriginPool:
    """Hands out connections with a free slot, opens more when all are full, lets requests wait in order.

    Args:
        connect: opens a connection; gets the callback for changes.
        max_connections: how many may be open at once.
    """

    def __init__(self, connect: Connect, *, max_connections: int) -> None:
        self._connect = connect
        self._max_connections = max_connections
        self._connections: list[H2Connection] = []
        self._dialing: set[asyncio.Task[None]] = set()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False

    async def acquire(self, limit_s: float | None) -> H2Connection:
        """A connection with a free slot; open the stream before the next await.

        Raises:
            NotHttp2: the server does not speak HTTP/2.
            httpx.ConnectError, httpx.ProxyError: it cannot be reached.
            httpx.ConnectTimeout: no connection in time.
            httpx.PoolTimeout: connections there are, but no free slot in time.
        """
        try:
            async with asyncio.timeout(limit_s):
                return await self._acquire()
        except TimeoutError as error:
            if self._connections:
                raise httpx.PoolTimeout(f"no free stream within {limit_s} s") from error
            raise httpx.ConnectTimeout(f"no connection within {limit_s} s") from error

    async def aclose(self, reason: str) -> None:
        """Close all connections; what still waits fails."""
        self._closed = True
        tasks = list(self._dialing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self._connections):
            connection.shut(reason)
        self._fail_waiters(httpx.ConnectError("the transport is closed"))

    async def _acquire(self) -> H2Connection:
        turn = False
        while True:
            if self._closed:
                raise httpx.ConnectError("the transport is closed")
            free = self._free() if turn or not self._waiters else None
            if free is not None and free.doubtful:
                turn = True
                await self._confirm(free)
                continue
            if free is not None:
                self._wake()
                return free
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.appendleft(waiter) if turn else self._waiters.append(waiter)
            self._dial_if_needed()
            try:
                await waiter
            except BaseException:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                else:
                    self._wake()  # our turn goes to the next
                raise
            turn = True

    async def _confirm(self, connection: H2Connection) -> None:
        try:
            await connection.confirm()
        except BaseException:
            self._wake()  # our turn goes to the next
            raise

    def _free(self) -> H2Connection | None:
        return next((connection for connection in self._connections if connection.free_slots > 0), None)

    def _wake(self) -> None:
        """Give the next in line a try, if there is something to take."""
        while self._waiters and self._free() is not None:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _dial_if_needed(self) -> None:
        self._connections = [connection for connection in self._connections if connection.usable]
        open_count = len(self._connections) + len(self._dialing)
        free = sum(connection.free_slots for connection in self._connections)
        wanted = math.ceil((len(self._waiters) - free) / _EXPECTED_STREAMS)
        while len(self._dialing) < wanted and open_count < self._max_connections:
            task = asyncio.get_running_loop().create_task(self._dial(), name="echo-http-dial")
            self._dialing.add(task)
            task.add_done_callback(self._dialed)
            open_count += 1

    async def _dial(self) -> None:
        connection = await self._connect(self._changed)
        if self._closed:
            connection.shut("the transport is closed")
            return
        self._connections.append(connection)
        self._wake()

    def _dialed(self, task: asyncio.Task[None]) -> None:
        self._dialing.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._connections:
            self._fail_waiters(error)

    def _changed(self, connection: H2Connection) -> None:
        if not connection.usable and connection in self._connections:
            self._connections.remove(connection)
        self._wake()
        if self._waiters:
            self._dial_if_needed()

    def _fail_waiters(self, error: BaseException) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(_own_copy(error))


def _own_copy(error: BaseException) -> BaseException:
    """Each waiter raises an exception of its own: tracebacks grow on the object that is raised."""
    own = copy.copy(error)
    own.__cause__ = error.__cause__
    return own.with_traceback(None)
