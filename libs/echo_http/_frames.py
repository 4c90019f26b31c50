"""Looks at frame headers on their way to h2, and keeps back two kinds that h2 handles in ways we cannot use.

- GOAWAY: h2 closes its connection state at once, so streams that the server still finishes would be lost
  (RFC 9113 6.8 lets them end).
- DATA of a stream that we have reset: h2 answers each such frame with one more RST_STREAM, up to a window full of them,
  which servers count as abuse. We drop the bytes and give the connection's window back ourselves.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

_HEADER_BYTES: Final = 9
_DATA: Final = 0x0
_GOAWAY: Final = 0x7
_PASS: Final = 0
_DROP: Final = 1
_HOLD: Final = 2
#: A GOAWAY is 8 bytes and a reason; more than this is an attack on our memory.
_MAX_GOAWAY_BYTES: Final = 64 * 1024


class FrameError(ValueError):
    """A frame that no honest peer sends."""


@dataclass(frozen=True, slots=True)
class GoAwayFrame:
    """The server's last processed stream id, its HTTP/2 error code and its reason text."""

    last_stream_id: int
    code: int
    reason: bytes


@dataclass(frozen=True, slots=True)
class DroppedData:
    """Flow-controlled bytes of a stream that nobody reads any more."""

    size_bytes: int


Piece = bytes | memoryview | GoAwayFrame | DroppedData


class FrameSieve:
    """Splits a received byte stream into runs for h2 and the frames kept back, in order.

    Args:
        live: ids of the streams that still take data.
    """

    __slots__ = ("_carry", "_goaway", "_highest", "_left_bytes", "_live", "_mode")

    def __init__(self, live: Container[int]) -> None:
        self._live = live
        self._highest = 0
        self._carry = b""  # an incomplete frame header
        self._left_bytes = 0  # rest of the current frame's payload
        self._mode = _PASS  # what to do with that rest
        self._goaway = bytearray()

    def opened(self, stream_id: int) -> None:
        """Note a stream id of ours; data of ids that we never opened goes to h2, which refuses it."""
        self._highest = stream_id

    def push(self, data: bytes) -> list[Piece]:
        """Split the next received bytes.

        Raises:
            FrameError: an absurd GOAWAY.
        """
        if self._carry:
            data = self._carry + data
        pieces: list[Piece] = []
        size = len(data)
        start = position = 0
        if self._left_bytes:
            position = min(self._left_bytes, size)
            self._left_bytes -= position
            if self._mode != _PASS:
                start = position
                if self._mode == _HOLD:
                    self._hold(data[:position], pieces)
        while size - position >= _HEADER_BYTES:
            body = position + _HEADER_BYTES
            length = data[position] << 16 | data[position + 1] << 8 | data[position + 2]
            end = min(body + length, size)
            mode = self._mode_of(data, position)
            self._mode = mode
            self._left_bytes = body + length - end
            if mode != _PASS:
                if position > start:
                    pieces.append(memoryview(data)[start:position])
                start = end
                if mode == _DROP:
                    pieces.append(DroppedData(length))
                else:
                    self._hold(data[body:end], pieces)
            position = end
        if position > start:
            pieces.append(data if start == 0 and position == size else memoryview(data)[start:position])
        self._carry = data[position:]
        return pieces

    def _mode_of(self, data: bytes, position: int) -> int:
        kind = data[position + 3]
        if kind == _DATA:
            stream_id = int.from_bytes(data[position + 5 : position + 9], "big") & 0x7FFFFFFF
            return _PASS if stream_id in self._live or not 0 < stream_id <= self._highest else _DROP
        return _HOLD if kind == _GOAWAY else _PASS

    def _hold(self, part: bytes, pieces: list[Piece]) -> None:
        self._goaway += part
        if len(self._goaway) + self._left_bytes > _MAX_GOAWAY_BYTES:
            raise FrameError("a GOAWAY frame is too large")
        if self._left_bytes:
            return
        payload = bytes(self._goaway)
        self._goaway.clear()
        if len(payload) < 8:
            raise FrameError("a GOAWAY frame is too short")
        last_stream_id = int.from_bytes(payload[:4], "big") & 0x7FFFFFFF
        pieces.append(GoAwayFrame(last_stream_id, int.from_bytes(payload[4:8], "big"), payload[8:]))
