"""The HTTP/2 core talking to an h2 server through memory."""

import h2.config
import h2.connection
import h2.settings
import pytest

from echo_http._frames import FrameError, FrameSieve
from echo_http._h2_core import (
    CONNECTION_WINDOW_BYTES,
    DataArrived,
    H2Core,
    ServerLeaving,
    StreamAborted,
    StreamFinished,
)

HEADERS = [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"x"), (b":path", b"/")]


def frame(kind: int, stream_id: int, payload: bytes, flags: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream_id.to_bytes(4, "big") + payload


class Pair:
    """A core and an h2 server that talk through memory."""

    def __init__(self, **settings: int) -> None:
        self.core = H2Core()
        self.core.start()
        self.server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        codes = h2.settings.SettingCodes
        self.server.local_settings = h2.settings.Settings(
            client=False, initial_values={codes[name.upper()]: value for name, value in settings.items()}
        )
        self.server.initiate_connection()
        self.events: list[object] = []
        self.exchange()

    def exchange(self) -> None:
        while True:
            out, back = self.core.data_to_send(), self.server.data_to_send()
            if not out and not back:
                return
            self.server.receive_data(out)
            self.events += self.core.receive(back)

    def request(self) -> int:
        stream_id = self.core.open(HEADERS, end=True)
        self.exchange()
        self.server.send_headers(stream_id, [(":status", "200")])
        return stream_id

    def send(self, stream_id: int, size_bytes: int) -> None:
        while size_bytes:
            part = min(
                size_bytes, self.server.max_outbound_frame_size, self.server.local_flow_control_window(stream_id)
            )
            assert part > 0, "the window is gone"
            self.server.send_data(stream_id, b"x" * part)
            size_bytes -= part


def test_bytes_of_cancelled_streams_never_use_up_the_connection() -> None:
    pair = Pair()
    for _ in range(60):
        stream_id = pair.request()
        pair.exchange()
        pair.core.cancel(stream_id)  # the server does not know yet and sends on
        pair.send(stream_id, 1_000_000)
        pair.exchange()
    assert pair.server.outbound_flow_control_window > CONNECTION_WINDOW_BYTES * 3 // 4


def test_unread_bytes_stop_their_own_stream_only() -> None:
    pair = Pair()
    for _ in range(40):
        stream_id = pair.request()
        pair.send(stream_id, pair.server.local_flow_control_window(stream_id))
        pair.exchange()
    stream_id = pair.request()
    pair.send(stream_id, 500_000)
    pair.exchange()
    assert sum(len(event.data) for event in pair.events if isinstance(event, DataArrived)) == 40 * 2**20 + 500_000


def test_goaway_tells_which_streams_never_ran_and_serves_the_others() -> None:
    pair = Pair()
    first, second = pair.request(), pair.core.open(HEADERS, end=True)
    assert pair.core.receive(frame(7, 0, first.to_bytes(4, "big") + bytes(4) + b"bye")) == [
        ServerLeaving(0, "bye"),
        StreamAborted(second, 0, processed=False),
    ]
    pair.server.send_data(first, b"tail", end_stream=True)
    pair.exchange()
    assert pair.events[-1] == StreamFinished(first)
    assert pair.core.free_slots == 0
    assert pair.core.live_count == 0


def test_the_servers_limit_of_streams_is_kept() -> None:
    pair = Pair(max_concurrent_streams=2)
    first = pair.request()
    pair.request()
    assert pair.core.free_slots == 0
    pair.core.cancel(first)
    assert pair.core.free_slots == 1


def test_a_closed_connection_takes_no_stream() -> None:
    core = H2Core()
    core.start()
    core.close()
    with pytest.raises(ValueError, match="cannot be sent"):
        core.open([*HEADERS, (b"x-key", b"value")], end=True)


@pytest.mark.parametrize("payload", [b"1234567", b"x" * 70_000])
def test_an_absurd_goaway_is_refused(payload: bytes) -> None:
    with pytest.raises(FrameError):
        FrameSieve(set()).push(frame(7, 0, payload))
