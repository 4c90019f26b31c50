"""A bare HTTP/2 server over h2 whose handlers decide about every frame."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self, cast

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
from h2.errors import ErrorCodes

Handler = Callable[["ServerStream"], Awaitable[None]]


@dataclass
class ServerStream:
    """One request as the server sees it."""

    connection: "_ServerConnection"
    id: int
    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    reset_code: int | None = None
    window: asyncio.Event = field(default_factory=asyncio.Event)
    stalled: bool = False  # waits for the client's window

    def head(self, status: int = 200, headers: dict[str, str] | None = None, *, end: bool = False) -> None:
        fields = [(":status", str(status)), *(headers or {"content-type": "text/event-stream"}).items()]
        self.connection.h2.send_headers(self.id, fields, end_stream=end)
        self.connection.flush()

    async def data(self, data: bytes) -> None:
        """Send as the client's window allows; stops when the client resets."""
        conn = self.connection.h2
        while data and self.reset_code is None:
            room = min(conn.local_flow_control_window(self.id), conn.max_outbound_frame_size)
            if room <= 0:
                self.window.clear()
                self.stalled = True
                await self.window.wait()
                self.stalled = False
                continue
            part, data = data[:room], data[room:]
            conn.send_data(self.id, part)
            self.connection.flush()
            await self.connection.drain()

    def end(self) -> None:
        if self.reset_code is None:
            self.connection.h2.end_stream(self.id)
            self.connection.flush()

    def reset(self, code: int = ErrorCodes.INTERNAL_ERROR) -> None:
        self.connection.h2.reset_stream(self.id, code)
        self.connection.flush()

    def goaway(self, last_stream_id: int, code: int = 0, reason: bytes = b"") -> None:
        """Written by hand: h2's own GOAWAY would end the server side of the connection too."""
        payload = last_stream_id.to_bytes(4, "big") + code.to_bytes(4, "big") + reason
        header = len(payload).to_bytes(3, "big") + b"\x07\x00\x00\x00\x00\x00"
        self.connection.write(header + payload)

    def drop_connection(self) -> None:
        self.connection.abort()


class _ServerConnection(asyncio.Protocol):
    def __init__(self, server: "H2Server") -> None:
        self.server = server
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config=config)
        self.streams: dict[int, ServerStream] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.transport: asyncio.Transport | None = None
        self.lost = False
        self.deaf = False  # set during a test: bytes are no longer read, so pings stay unanswered
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no asyncio.Transport
        self.server.connections.append(self)
        if self.server.silent:
            return
        codes = h2.settings.SettingCodes
        self.h2.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                codes.MAX_CONCURRENT_STREAMS: self.server.max_streams,
                codes.INITIAL_WINDOW_SIZE: self.server.window_bytes,
            },
        )
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self.server.silent or self.deaf:
            return
        for event in self.h2.receive_data(data):
            self._take(event)
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._writable.set()
        for task in self.tasks:
            task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def drain(self) -> None:
        await self._writable.wait()

    def flush(self) -> None:
        self.write(self.h2.data_to_send())

    def write(self, data: bytes) -> None:
        if data and self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def _take(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived():
                stream = ServerStream(self, event.stream_id, dict(event.headers or []))
                self.streams[stream.id] = stream
                self.server.requests.append(stream)
                task = asyncio.get_running_loop().create_task(self._handle(stream))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            case h2.events.DataReceived():
                self.streams[event.stream_id].body += event.data or b""
                if self.server.reads_bodies:
                    self.h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
            case h2.events.StreamEnded():
                self.streams[event.stream_id].complete.set()
            case h2.events.StreamReset():
                stream = self.streams[event.stream_id]
                stream.reset_code = int(event.error_code or 0)
                stream.window.set()
                self.server.resets.append((stream.id, stream.reset_code))
            case h2.events.WindowUpdated():
                for stream in self.streams.values():
                    stream.window.set()
            case h2.events.PingReceived():
                self.server.pings += 1

    async def _handle(self, stream: ServerStream) -> None:
        try:
            await self.server.handler(stream)
        except (h2.exceptions.StreamClosedError, h2.exceptions.ProtocolError):
            if stream.reset_code is None and not self.lost:
                raise


class H2Server:
    """An origin on 127.0.0.1; use as an async context manager.

    Args:
        handler: serves each request.
        max_streams: SETTINGS_MAX_CONCURRENT_STREAMS.
        window_bytes: SETTINGS_INITIAL_WINDOW_SIZE, for request bodies.
        silent: accept connections and never say a word.
        tls: context, None = h2c.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        max_streams: int = 100,
        window_bytes: int = 65_535,
        silent: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.handler = handler
        self.max_streams = max_streams
        self.window_bytes = window_bytes
        self.silent = silent
        self.reads_bodies = True
        self.tls = tls
        self.connections: list[_ServerConnection] = []
        self.requests: list[ServerStream] = []
        self.resets: list[tuple[int, int]] = []
        self.pings = 0
        self.port = 0
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _ServerConnection(self), "127.0.0.1", 0, ssl=self.tls
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = [task for connection in self.connections for task in connection.tasks]
        for connection in self.connections:
            connection.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
