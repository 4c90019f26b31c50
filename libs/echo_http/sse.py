"""Server-sent events, decoded on bytes and without IO.

Gemini frames each chunk as `data: ` + one line of JSON + CRLF CRLF, and ends a failed stream with a plain JSON object
that is no event at all. Lines end at CR LF, LF or CR only: str.splitlines (and so httpx's iter_lines) would also split
at U+2028, U+2029 and U+0085, which occur inside answers.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html (parsing);
for Gemini's form recorded streams.
"""

from dataclasses import dataclass
from typing import Final

_BOM: Final = b"\xef\xbb\xbf"
_WHITE: Final = b" \t"

#: Nothing that Gemini sends comes near; 2.9 MB is the largest recorded event (an image's signature).
MAX_EVENT_BYTES: Final = 64 * 1024 * 1024


class SseTooLarge(ValueError):
    """One event grew over the limit: the peer does not speak the protocol."""


@dataclass(frozen=True, slots=True)
class RawBody:
    """Lines that are no events: a JSON error object or a JSON array, as they came (line ends become LF)."""

    data: bytes


class SseDecoder:
    """Feed pieces of any size, get the data of each complete event; the same events however the stream is cut."""

    __slots__ = (
        "_data",
        "_data_bytes",
        "_parts",
        "_parts_bytes",
        "_raw",
        "_raw_bytes",
        "_skip_lf",
        "_started",
        "max_event_bytes",
    )

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.max_event_bytes = max_event_bytes
        self._parts: list[bytes] = []  # pieces of the unfinished line
        self._parts_bytes = 0
        self._data: list[bytes] = []  # data lines of the unfinished event
        self._data_bytes = 0
        self._raw: list[bytes] = []  # lines that are no event
        self._raw_bytes = 0
        self._skip_lf = False  # the last piece ended in CR, whose LF may still come
        self._started = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Take the next piece; return the data of each event that it completes, in order.

        Raises:
            SseTooLarge: one event or line is larger than `max_event_bytes`.
        """
        if (
            not self._parts
            and not self._data
            and not self._skip_lf
            and self._started
            and piece.startswith(b"data: ")
            and piece.endswith(b"\r\n\r\n")
            and piece.count(b"\n") == 2
            and piece.count(b"\r") == 2
        ):
            return [piece[6:-4]]
        return self._feed_any(piece)

    def finish(self) -> list[bytes | RawBody]:
        """The stream has ended: what is left, an event without its blank line and the body that was no event."""
        events: list[bytes | RawBody] = []
        if self._parts:
            events.extend(self._feed_any(b"\n"))
        if self._data:
            events.append(b"\n".join(self._data))
            self._data = []
            self._data_bytes = 0
        if self._raw:
            events.append(RawBody(b"\n".join(self._raw)))
            self._raw = []
            self._raw_bytes = 0
        return events

    def _feed_any(self, piece: bytes) -> list[bytes]:
        if self._skip_lf and piece:
            self._skip_lf = False
            if piece[0] == 0x0A:
                piece = piece[1:]
        if not piece:
            return []
        if b"\n" not in piece and b"\r" not in piece:
            self._keep(piece)
            return []
        if self._parts:
            self._parts.append(piece)
            piece = b"".join(self._parts)
            self._parts = []
            self._parts_bytes = 0
        self._skip_lf = piece.endswith(b"\r")
        lines = piece.splitlines()
        if not piece.endswith((b"\n", b"\r")):
            self._keep(lines.pop())
        return self._take_lines(lines)

    def _keep(self, piece: bytes) -> None:
        self._parts.append(piece)
        self._parts_bytes += len(piece)
        if self._parts_bytes > self.max_event_bytes:
            raise SseTooLarge(f"a line is longer than {self.max_event_bytes} bytes")

    def _take_lines(self, lines: list[bytes]) -> list[bytes]:
        if not self._started and lines:
            self._started = True
            lines[0] = lines[0].removeprefix(_BOM)
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                start = 6 if line[5:6] == b" " else 5
                self._data.append(line[start:])
                self._data_bytes += len(line)
                if self._data_bytes > self.max_event_bytes:
                    raise SseTooLarge(f"an event is larger than {self.max_event_bytes} bytes")
            elif line:
                self._take_other(line)
            elif self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
                self._data_bytes = 0
        return events

    def _take_other(self, line: bytes) -> None:
        """Keep lines of a plain JSON body; other fields (`event:`, `id:`, comments) mean nothing to us."""
        if not self._raw and line.lstrip(_WHITE)[:1] not in (b"{", b"["):
            return
        self._raw.append(line)
        self._raw_bytes += len(line)
        if self._raw_bytes > self.max_event_bytes:
            raise SseTooLarge(f"a body is larger than {self.max_event_bytes} bytes")
