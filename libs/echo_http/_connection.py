"""The asyncio shell of one HTTP/2 connection: socket callbacks, a watchdog for limits and pings, nothing else."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from echo_core.ports import Clock
from echo_http._h2_core import (
    DataArrived,
    Event,
    H2Core,
    HeadArrived,
    Header,
    PeerBrokeProtocol,
    PingAnswered,
    SendWindowOpened,
    ServerLeaving,
    SettingsArrived,
    StreamAborted,
    StreamFinished,
)
from echo_http._stream import H2Stream
from echo_http.errors import ConnectionLost, RequestNotProcessed, StreamResetByPeer
from echo_http.timeouts import StreamLimits

#: The watchdog never sleeps less than this, so that a deadline in the past cannot spin.
_MIN_SLEEP_S: Final = 0.005
_PING_TOKEN: Final = b"echoping"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Life signs of a connection, seconds.

    Args:
        ping_after_s: silence on a connection with open streams, after which a PING asks whether the way is alive.
        ping_wait_s: how long its answer may take before the connection counts as dead.
        keep_idle_s: how long a connection without streams is kept.
        probe_after_s: silence on an idle connection, after which a PING must be answered before a request is trusted
            to it: routers forget idle connections without telling, and a request lost there could not be sent again.
        probe_wait_s: how long that answer may take.
    """

    ping_after_s: float = 30.0
    ping_wait_s: float = 15.0
    keep_idle_s: float = 120.0
    probe_after_s: float = 10.0
    probe_wait_s: float = 2.0


class H2Connection(asyncio.Protocol):
    """One connection to one origin, living on one event loop.

    Args:
        clock: for all limits.
        settings: pings and idle life.
        on_change: called when a slot came free or the connection can take no more streams.
    """

    def __init__(self, clock: Clock, settings: ConnectionSettings, on_change: Callable[["H2Connection"], None]) -> None:
        self._clock = clock
        self._settings = settings
        self._on_change = on_change
        self._core = H2Core()
        self._streams: dict[int, H2Stream] = {}
        self._transport: asyncio.Transport | None = None
        self._watchdog: asyncio.Task[None] | None = None
        self._watch_until_s = 0.0
        self._heard_s = 0.0
        self._ping_sent_s: float | None = None
        self._probe: asyncio.Future[None] | None = None
        self._idle_since_s = 0.0
        self._can_write = asyncio.Event()
        self._can_write.set()
        self.greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.greeted.add_done_callback(_retrieve)
        self._early = b""
        self.speaks_http2 = False
        self.closed = False
        self.close_reason = ""

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open (after TLS). Speak first: the server's greeting may already wait to be answered."""
        # create_connection gives a stream transport; uvloop's, under which Open WebUI runs, is no asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)
        self._heard_s = self._idle_since_s = self._clock.monotonic_s()
        self.speaks_http2 = transport.get_extra_info("ssl_object") is None or self.selected_alpn == "h2"
        if not self.speaks_http2:
            return
        self._core.start()
        self._flush()
        self._watch(self._heard_s + self._settings.keep_idle_s)
        if self._early:
            early, self._early = self._early, b""
            self.data_received(early)

    def data_received(self, data: bytes) -> None:
        """Bytes from the server."""
        if not self.speaks_http2:
            self._early += data  # behind a proxy TLS may deliver before we are told that it is up
            return
        now_s = self._clock.monotonic_s()
        self._heard_s = now_s
        try:
            events = self._core.receive(data)
        except PeerBrokeProtocol as error:
            self._close(f"protocol error: {error}")
            return
        for event in events:
            self._take(event, now_s)
        self._flush()
        self._close_if_left()

    def eof_received(self) -> bool:
        """The server closed its side; ours goes too."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self._close(f"connection lost: {exc}" if exc else "the server closed the connection", cause=exc)

    def pause_writing(self) -> None:
        """The socket's buffer is full."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """The socket takes more."""
        self._can_write.set()

    # --- what the pool asks

    @property
    def free_slots(self) -> int:
        """How many streams may be opened now."""
        return self._core.free_slots if self.usable else 0

    @property
    def usable(self) -> bool:
        """Whether it may ever take another stream."""
        return (
            not self.closed
            and not self._core.leaving
            and self._transport is not None
            and not self._transport.is_closing()
        )

    @property
    def selected_alpn(self) -> str | None:
        """What TLS agreed on, None without TLS or ALPN."""
        tls = self._transport.get_extra_info("ssl_object") if self._transport else None
        protocol: str | None = tls.selected_alpn_protocol() if tls else None
        return protocol

    @property
    def doubtful(self) -> bool:
        """Idle for so long that it may be dead without our knowing; `confirm` finds out."""
        silence_s = self._clock.monotonic_s() - self._heard_s
        return not self.closed and not self._streams and silence_s >= self._settings.probe_after_s

    async def confirm(self) -> None:
        """Ask a doubtful connection for a sign of life; it is closed when none comes in time."""
        if self._probe is None:
            self._probe = asyncio.get_running_loop().create_future()
            self._core.ping(_PING_TOKEN)
            self._flush()
        try:
            async with asyncio.timeout(self._settings.probe_wait_s):
                await asyncio.shield(self._probe)
        except TimeoutError:
            self._close("no sign of life", dead=True)

    def open(self, headers: Sequence[Header], limits: StreamLimits, *, has_body: bool) -> H2Stream:
        """Open a stream; the caller has just seen a free slot.

        Raises:
            ValueError: the headers cannot be sent.
        """
        now_s = self._clock.monotonic_s()
        stream_id = self._core.open(headers, end=not has_body)
        if not self._streams:
            self._heard_s = now_s  # a connection that was idle has not been silent
        stream = self._streams[stream_id] = H2Stream(self, stream_id, limits)
        stream.enter("sending" if has_body else "waiting", now_s)
        self._flush()
        self._watch(min(stream.deadline_s, self._ping_due_s()))
        return stream

    def shut(self, reason: str) -> None:
        """Say goodbye and close; streams that are still open fail."""
        if self.closed:
            return
        if self.speaks_http2:
            self._core.close()
        self._close(reason)

    # --- what a stream asks

    def send_body(self, stream: H2Stream, data: memoryview, *, last: bool) -> int:
        """Send what the windows allow; returns the number of bytes taken."""
        taken = self._core.send_body(stream.id, data, last=last)
        if taken:
            stream.enter("sending", self._clock.monotonic_s())
        self._flush()
        return taken

    def sent_all(self, stream: H2Stream) -> bool:
        """Whether the request is complete on the wire's side."""
        return self._core.sent_all(stream.id)

    async def writable(self) -> None:
        """Wait while the socket's buffer is full."""
        await self._can_write.wait()

    def waiting(self, stream: H2Stream) -> None:
        """The request is sent; the first byte of the answer is due."""
        if stream.phase == "sending":
            stream.enter("waiting", self._clock.monotonic_s())
            self._watch(stream.deadline_s)

    def consumed(self, stream: H2Stream, flow_bytes: int) -> None:
        """The reader took bytes."""
        if not stream.ended:
            stream.enter("receiving", self._clock.monotonic_s())
        if self._core.consumed(stream.id, flow_bytes):
            self._flush()

    def release(self, stream: H2Stream) -> None:
        """The caller is done with a stream, complete or not."""
        if self._streams.pop(stream.id, None) is None or self.closed:
            return
        self._core.cancel(stream.id)
        self._flush()
        self._freed()
        self._close_if_left()

    # --- inside

    def _take(self, event: Event, now_s: float) -> None:
        match event:
            case DataArrived():
                if (stream := self._streams.get(event.stream_id)) is not None:
                    stream.take_data(event.data, event.flow_bytes, now_s)
            case HeadArrived():
                if (stream := self._streams.get(event.stream_id)) is not None:
                    stream.take_head(event.status, event.headers)
            case StreamFinished():
                self._end(event.stream_id, None)
            case StreamAborted():
                self._end(event.stream_id, _abort_error(event))
            case SendWindowOpened():
                self._wake_senders(event.stream_id)
            case PingAnswered():
                self._ping_sent_s = None
                self._settle_probe()
            case _:
                self._take_connection_event(event)

    def _take_connection_event(self, event: SettingsArrived | ServerLeaving) -> None:
        if isinstance(event, ServerLeaving):
            self.close_reason = f"GOAWAY {event.code} {event.reason}".strip()
        elif not self.greeted.done():
            self.greeted.set_result(None)
        self._on_change(self)

    def _wake_senders(self, stream_id: int) -> None:
        for stream in self._streams.values():
            if stream_id in (0, stream.id):
                stream.wake()

    def _settle_probe(self) -> None:
        if self._probe is not None:
            if not self._probe.done():
                self._probe.set_result(None)
            self._probe = None

    def _end(self, stream_id: int, error: Exception | None) -> None:
        stream = self._streams.pop(stream_id, None)
        if stream is None:
            return
        if error is None:
            stream.finish()
            self._core.cancel(stream_id)  # a request that is still being sent need not go on
        else:
            stream.fail(error)
        self._freed()

    def _freed(self) -> None:
        if not self._streams:
            self._idle_since_s = self._clock.monotonic_s()
        self._on_change(self)

    def _flush(self) -> None:
        out = self._core.data_to_send()
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(out)

    def _close_if_left(self) -> None:
        if self._core.leaving and not self._streams and not self.closed:
            self._close(self.close_reason or "the server is leaving")

    def _close(self, reason: str, *, cause: Exception | None = None, dead: bool = False) -> None:
        if self.closed:
            return
        self.closed = True
        self.close_reason = self.close_reason or reason
        self._flush()
        if self._transport is not None:
            self._transport.abort() if dead else self._transport.close()
        if not self.greeted.done():
            self.greeted.set_exception(ConnectionLost(reason))
        self._settle_probe()
        self._can_write.set()
        for stream in list(self._streams.values()):
            error = ConnectionLost(self.close_reason)
            error.__cause__ = cause
            stream.fail(error)
        self._streams.clear()
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._on_change(self)

    # --- the watchdog: one task a connection, asleep until the next deadline

    def _ping_due_s(self) -> float:
        if self._ping_sent_s is not None:
            return self._ping_sent_s + self._settings.ping_wait_s
        return self._heard_s + self._settings.ping_after_s

    def _watch(self, until_s: float) -> None:
        """Make sure that the watchdog wakes at `until_s` or earlier."""
        if self.closed or (self._watchdog is not None and self._watch_until_s <= until_s):
            return
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._watch_until_s = until_s
        self._watchdog = asyncio.get_running_loop().create_task(self._watch_loop(), name="echo-http-watchdog")

    async def _watch_loop(self) -> None:
        while not self.closed:
            await self._clock.sleep(max(_MIN_SLEEP_S, self._watch_until_s - self._clock.monotonic_s()))
            self._watch_until_s = self._enforce(self._clock.monotonic_s())

    def _enforce(self, now_s: float) -> float:
        """End what is overdue; returns when to look again."""
        next_s = math.inf
        for stream in list(self._streams.values()):
            if stream.deadline_s <= now_s and stream.unread:
                stream.enter("receiving", now_s)  # the reader is slow, not the server
            if stream.deadline_s <= now_s:
                error = stream.timeout_error()
                self._streams.pop(stream.id, None)
                self._core.cancel(stream.id)
                stream.fail(error)
                self._freed()
            else:
                next_s = min(next_s, stream.deadline_s)
        next_s = min(next_s, self._enforce_life(now_s))
        self._flush()
        self._close_if_left()
        return next_s

    def _enforce_life(self, now_s: float) -> float:
        if not self._streams:
            self._ping_sent_s = None
            expiry_s = self._idle_since_s + self._settings.keep_idle_s
            if now_s >= expiry_s:
                self.shut("idle")
            return expiry_s
        if self._ping_sent_s is not None and self._heard_s > self._ping_sent_s:
            self._ping_sent_s = None  # other frames are a sign of life too
        due_s = self._ping_due_s()
        if now_s < due_s:
            return due_s
        if self._ping_sent_s is not None:
            silence_s = self._settings.ping_after_s + self._settings.ping_wait_s
            self._close(f"no sign of life for {silence_s:g} s", dead=True)
            return math.inf
        self._ping_sent_s = now_s
        self._core.ping(_PING_TOKEN)
        return self._ping_due_s()


def _abort_error(event: StreamAborted) -> Exception:
    if not event.processed:
        return RequestNotProcessed(f"the server did not process the request (HTTP/2 code {event.code})")
    return StreamResetByPeer(f"the server reset the stream (HTTP/2 code {event.code})", code=event.code)


def _retrieve(future: asyncio.Future[None]) -> None:
    """Mark the exception as seen: nobody may be waiting for the greeting."""
    if not future.cancelled():
        future.exception()
