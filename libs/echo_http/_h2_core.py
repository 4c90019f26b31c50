"""One HTTP/2 connection without IO: bytes in, events out; calls in, bytes out.

Over h2 it adds what many stopped, silent and interrupted streams need:
- the connection's receive window is given back when bytes *arrive*, a stream's own window when its reader *took* them,
  so that a reader who stops or dawdles holds up nobody but itself;
- bytes of streams that were reset are counted back as well;
- GOAWAY lets the streams that the server still serves run to their end, and says which ones it never touched.

Source: RFC 9113 sections 5.2 (flow control), 6.8 (GOAWAY), 8.7 (requests that are safe to send again).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from h2.errors import ErrorCodes

from echo_http._frames import DroppedData, FrameError, FrameSieve, GoAwayFrame

Header = tuple[bytes, bytes]

STREAM_WINDOW_BYTES: Final = 1024 * 1024
CONNECTION_WINDOW_BYTES: Final = 16 * 1024 * 1024
MAX_FRAME_BYTES: Final = 64 * 1024
_DEFAULT_WINDOW_BYTES: Final = 65_535
#: How many streams we open before the server has told its limit; 100 is the least that RFC 9113 6.5.2 recommends.
STREAMS_BEFORE_SETTINGS: Final = 100
_LAST_STREAM_ID: Final = 2**31 - 1


class PeerBrokeProtocol(Exception):
    """The server sent something that ends the connection."""


@dataclass(frozen=True, slots=True)
class HeadArrived:
    """Status and headers of a response (never the 1xx ones)."""

    stream_id: int
    status: int
    headers: list[Header]


@dataclass(slots=True)
class DataArrived:
    """A piece of a body; `flow_bytes` must be given to `H2Core.consumed` once it was read."""

    stream_id: int
    data: bytes
    flow_bytes: int


@dataclass(frozen=True, slots=True)
class StreamFinished:
    """The response is complete."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class StreamAborted:
    """The stream is over without a complete response; `processed` False: the server never looked at it."""

    stream_id: int
    code: int
    processed: bool


@dataclass(frozen=True, slots=True)
class SendWindowOpened:
    """More of a request body may be sent; stream id 0 means all streams."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class SettingsArrived:
    """The server speaks HTTP/2, and its limits are known."""


@dataclass(frozen=True, slots=True)
class PingAnswered:
    """The other side is alive."""


@dataclass(frozen=True, slots=True)
class ServerLeaving:
    """GOAWAY: no new streams on this connection. Source: RFC 9113 6.8."""

    code: int
    reason: str


Event = (
    HeadArrived
    | DataArrived
    | StreamFinished
    | StreamAborted
    | SendWindowOpened
    | SettingsArrived
    | PingAnswered
    | ServerLeaving
)


@dataclass(slots=True)
class _Live:
    """One open stream: what is done in each direction, and read bytes not yet given back."""

    sent_all: bool = False
    received_all: bool = False
    unreturned_bytes: int = 0


class H2Core:
    """The client side of one connection. Every call may leave bytes in `data_to_send`."""

    def __init__(self) -> None:
        config = h2.config.H2Configuration(
            client_side=True, header_encoding=None, validate_inbound_headers=False, validate_outbound_headers=False
        )
        self._h2 = h2.connection.H2Connection(config=config)
        self._live: dict[int, _Live] = {}
        self._sieve = FrameSieve(self._live)
        self._unreturned_bytes = 0  # received on live streams, not yet in a WINDOW_UPDATE
        self._dropped_bytes = 0  # the same for streams that are gone; h2 never saw these
        self._raw = bytearray()  # frames that we write ourselves
        self._settings_seen = False
        self.leaving = False

    def start(self) -> None:
        """Queue the client preface, our settings and the large connection window."""
        codes = h2.settings.SettingCodes
        self._h2.local_settings = h2.settings.Settings(
            client=True,
            initial_values={
                codes.ENABLE_PUSH: 0,
                codes.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES,
                codes.MAX_FRAME_SIZE: MAX_FRAME_BYTES,
                codes.MAX_HEADER_LIST_SIZE: 64 * 1024,
            },
        )
        del self._h2.local_settings[codes.ENABLE_CONNECT_PROTOCOL]
        self._h2.max_inbound_frame_size = MAX_FRAME_BYTES
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(CONNECTION_WINDOW_BYTES - _DEFAULT_WINDOW_BYTES)

    # --- what the caller does

    @property
    def live_count(self) -> int:
        """Streams that count against the server's limit."""
        return len(self._live)

    @property
    def free_slots(self) -> int:
        """How many more streams may be opened now."""
        if self.leaving or self._h2.highest_outbound_stream_id >= _LAST_STREAM_ID - 2:
            return 0
        return max(0, self.max_streams - len(self._live))

    @property
    def max_streams(self) -> int:
        """The server's limit of parallel streams, or our guess before it has told."""
        if not self._settings_seen:
            return STREAMS_BEFORE_SETTINGS
        return int(self._h2.remote_settings.max_concurrent_streams)

    def open(self, headers: Sequence[Header], *, end: bool) -> int:
        """Queue a request's headers; `end` when it has no body. Returns the stream id.

        Raises:
            ValueError: h2 refuses the headers; the text never repeats their values.
        """
        stream_id = self._h2.get_next_available_stream_id()
        try:
            self._h2.send_headers(stream_id, headers, end_stream=end)
        except h2.exceptions.ProtocolError as error:
            raise ValueError(f"the request cannot be sent ({type(error).__name__})") from None
        self._live[stream_id] = _Live(sent_all=end)
        self._sieve.opened(stream_id)
        return stream_id

    def send_body(self, stream_id: int, data: memoryview, *, last: bool) -> int:
        """Queue as much of a body as the server's windows allow. Returns the number of bytes taken."""
        live = self._live.get(stream_id)
        if live is None or live.sent_all:
            return len(data)
        taken = 0
        while True:
            room = min(self._h2.local_flow_control_window(stream_id), self._h2.max_outbound_frame_size)
            part = data[taken : taken + max(0, room)]
            ends = last and taken + len(part) == len(data)
            if not part and not ends:
                return taken
            self._h2.send_data(stream_id, bytes(part), end_stream=ends)
            taken += len(part)
            if ends:
                live.sent_all = True
                self._forget_if_done(stream_id, live)
                return taken

    def sent_all(self, stream_id: int) -> bool:
        """Whether the request is complete (or the stream over)."""
        live = self._live.get(stream_id)
        return live is None or live.sent_all

    def consumed(self, stream_id: int, flow_bytes: int) -> bool:
        """The reader took this many bytes; returns whether the stream's window was opened again on the wire."""
        live = self._live.get(stream_id)
        if live is None or live.received_all:
            return False
        live.unreturned_bytes += flow_bytes
        if live.unreturned_bytes < STREAM_WINDOW_BYTES // 4:
            return False
        self._h2.increment_flow_control_window(live.unreturned_bytes, stream_id)
        live.unreturned_bytes = 0
        return True

    def cancel(self, stream_id: int) -> None:
        """Queue RST_STREAM(CANCEL), unless the stream is over already."""
        if self._live.pop(stream_id, None) is not None:
            self._h2.reset_stream(stream_id, ErrorCodes.CANCEL)

    def ping(self, token: bytes) -> None:
        """Queue a PING with 8 bytes of our choice."""
        self._h2.ping(token)

    def close(self) -> None:
        """Queue a GOAWAY: we are done."""
        self.leaving = True
        self._h2.close_connection()

    def data_to_send(self) -> bytes:
        """Take what must go to the server now."""
        if self._raw:
            out = self._h2.data_to_send() + bytes(self._raw)
            self._raw.clear()
            return out
        return self._h2.data_to_send()

    # --- what the server does

    def receive(self, data: bytes) -> list[Event]:
        """Take received bytes, return what they mean.

        Raises:
            PeerBrokeProtocol: the connection cannot go on; `data_to_send` holds the farewell.
        """
        events: list[Event] = []
        try:
            for piece in self._sieve.push(data):
                if isinstance(piece, DroppedData):
                    self._return_dropped(piece.size_bytes)
                elif isinstance(piece, GoAwayFrame):
                    self._take_goaway(piece, events)
                else:
                    for event in self._h2.receive_data(piece):
                        self._take(event, events)
        except (h2.exceptions.ProtocolError, FrameError) as error:
            self.leaving = True
            raise PeerBrokeProtocol(f"{type(error).__name__}: {error}"[:300]) from error
        return events

    def _take(self, event: h2.events.Event, events: list[Event]) -> None:
        if isinstance(event, h2.events.DataReceived):
            self._take_data(event, events)
        elif isinstance(event, h2.events.StreamEnded):
            live = self._live.get(event.stream_id)
            if live is not None:
                live.received_all = True
                self._forget_if_done(event.stream_id, live)
                events.append(StreamFinished(event.stream_id))
        elif isinstance(event, h2.events.ResponseReceived):
            events.append(_head_of(event))
        elif isinstance(event, h2.events.StreamReset):
            self._take_reset(event, events)
        elif isinstance(event, h2.events.WindowUpdated):
            events.append(SendWindowOpened(event.stream_id or 0))
        elif isinstance(event, h2.events.RemoteSettingsChanged):
            self._settings_seen = True
            events.extend((SettingsArrived(), SendWindowOpened(0)))
        elif isinstance(event, h2.events.PingAckReceived):
            events.append(PingAnswered())

    def _take_data(self, event: h2.events.DataReceived, events: list[Event]) -> None:
        flow_bytes = event.flow_controlled_length or 0
        self._unreturned_bytes += flow_bytes
        if self._unreturned_bytes >= CONNECTION_WINDOW_BYTES // 8:
            self._h2.increment_flow_control_window(self._unreturned_bytes)
            self._unreturned_bytes = 0
        if event.data:
            events.append(DataArrived(event.stream_id, event.data, flow_bytes))
        elif flow_bytes:
            self.consumed(event.stream_id, flow_bytes)

    def _take_reset(self, event: h2.events.StreamReset, events: list[Event]) -> None:
        if self._live.pop(event.stream_id, None) is None:
            return
        code = int(event.error_code or 0)
        events.append(StreamAborted(event.stream_id, code, processed=code != ErrorCodes.REFUSED_STREAM))

    def _take_goaway(self, frame: GoAwayFrame, events: list[Event]) -> None:
        self.leaving = True
        events.append(ServerLeaving(frame.code, frame.reason[:200].decode("utf-8", "replace")))
        for stream_id in [known for known in self._live if known > frame.last_stream_id]:
            del self._live[stream_id]
            events.append(StreamAborted(stream_id, frame.code, processed=False))

    def _return_dropped(self, size_bytes: int) -> None:
        """Give back window that h2 does not know was used; a WINDOW_UPDATE frame is 13 bytes (RFC 9113 6.9)."""
        self._dropped_bytes += size_bytes
        if self._dropped_bytes >= CONNECTION_WINDOW_BYTES // 16:
            self._raw += b"\x00\x00\x04\x08\x00\x00\x00\x00\x00" + self._dropped_bytes.to_bytes(4, "big")
            self._dropped_bytes = 0

    def _forget_if_done(self, stream_id: int, live: _Live) -> None:
        if live.sent_all and live.received_all:
            self._live.pop(stream_id, None)


def _head_of(event: h2.events.ResponseReceived) -> HeadArrived:
    status = 0
    headers: list[Header] = []
    for name, value in event.headers or ():
        if name == b":status":
            status = int(value) if value.isdigit() else 0
        elif not name.startswith(b":"):
            headers.append((bytes(name), bytes(value)))
    return HeadArrived(event.stream_id, status, headers)
