"""One request on an HTTP/2 connection, as its caller sees it."""

import asyncio
import math
from typing import TYPE_CHECKING, Final, Literal

import httpx

from echo_http._h2_core import Header
from echo_http.errors import FirstByteTimeout, IdleTimeout
from echo_http.timeouts import StreamLimits

if TYPE_CHECKING:
    from echo_http._connection import H2Connection

#: How much of a request body is framed before other tasks get their turn: about 1 ms of work.
_TURN_BYTES: Final = 256 * 1024

Phase = Literal["sending", "waiting", "receiving"]


class H2Stream:
    """State of one open stream; `_connection.H2Connection` feeds it, one task reads it."""

    __slots__ = (
        "_chunks",
        "_connection",
        "_error",
        "_flow_bytes",
        "_moved",
        "deadline_s",
        "ended",
        "headers",
        "id",
        "limits",
        "phase",
        "status",
    )

    def __init__(self, connection: "H2Connection", stream_id: int, limits: StreamLimits) -> None:
        self._connection = connection
        self.id = stream_id
        self.limits = limits
        self.phase: Phase = "sending"
        self.deadline_s = math.inf
        self.status = 0
        self.headers: list[Header] = []
        self.ended = False
        self._error: Exception | None = None
        self._chunks: list[bytes] = []
        self._flow_bytes = 0
        self._moved: asyncio.Future[None] | None = None

    # --- fed by the connection

    def enter(self, phase: Phase, now_s: float) -> None:
        """Go to a phase, or note that something moved within it."""
        self.phase = phase
        limit_s = self.limits.first_byte_s if phase == "waiting" else self.limits.idle_s
        self.deadline_s = math.inf if limit_s is None else now_s + limit_s

    @property
    def unread(self) -> bool:
        """Whether pieces wait for the reader."""
        return bool(self._chunks)

    def take_head(self, status: int, headers: list[Header]) -> None:
        """The response has begun; without a status it is none."""
        if not status:
            self.fail(httpx.RemoteProtocolError("the server sent an answer without a status"))
            return
        self.status = status
        self.headers = headers
        self.wake()

    def take_data(self, data: bytes, flow_bytes: int, now_s: float) -> None:
        """A piece of the body arrived."""
        self._chunks.append(data)
        self._flow_bytes += flow_bytes
        self.enter("receiving", now_s)
        self.wake()

    def finish(self) -> None:
        """The response is complete."""
        self.ended = True
        self.deadline_s = math.inf
        self.wake()

    def fail(self, error: Exception) -> None:
        """The stream is over; what had arrived before stays readable."""
        if not self.ended and self._error is None:
            self._error = error
            self.deadline_s = math.inf
            self.wake()

    def timeout_error(self) -> Exception:
        """The error for a deadline that has passed in the current phase."""
        if self.phase == "waiting":
            return FirstByteTimeout(f"no answer began in {self.limits.first_byte_s} s")
        return IdleTimeout(f"nothing moved for {self.limits.idle_s} s while {self.phase}")

    def wake(self) -> None:
        """Let the reading task look again."""
        if self._moved is not None and not self._moved.done():
            self._moved.set_result(None)

    # --- used by the caller

    async def send_body(self, body: httpx.AsyncByteStream) -> None:
        """Send a request body as fast as the server's windows allow; stops early if the response is over."""
        pending = b""
        async for part in body:
            if pending:
                await self._send_part(pending, last=False)
            pending = part
        await self._send_part(pending, last=True)
        self._connection.waiting(self)

    async def head(self) -> tuple[int, list[Header]]:
        """Wait for status and headers.

        Raises:
            httpx.TransportError: the stream failed first.
        """
        while not self.status:
            if self._error is not None:
                raise self._error
            if self.ended:
                raise httpx.RemoteProtocolError("the server ended the stream without an answer")
            await self._wait()
        return self.status, self.headers

    async def read(self) -> bytes:
        """Everything that has arrived since the last call; waits for something, b"" at the end.

        Raises:
            httpx.TransportError: the stream failed, after all that had arrived was read.
        """
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self.ended:
                return b""
            await self._wait()
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._connection.consumed(self, self._flow_bytes)
        self._flow_bytes = 0
        return data

    def abort(self) -> None:
        """Stop: the server gets RST_STREAM(CANCEL) unless the response is complete. Safe to call at any time."""
        self._chunks.clear()
        self._connection.release(self)

    async def _send_part(self, part: bytes, *, last: bool) -> None:
        view = memoryview(part)
        while not self.ended:
            if self._error is not None:
                raise self._error
            turn = view[:_TURN_BYTES]
            taken = self._connection.send_body(self, turn, last=last and len(turn) == len(view))
            view = view[taken:]
            if not view and (not last or self._connection.sent_all(self)):
                return
            if taken:
                await self._connection.writable()
                await asyncio.sleep(0)
            else:
                await self._wait()

    async def _wait(self) -> None:
        self._moved = asyncio.get_running_loop().create_future()
        try:
            await self._moved
        finally:
            self._moved = None
