"""From response bytes to decoded chunks, in all shapes that a stream takes. Pure.

An error in the middle of a stream comes as a plain JSON object after the events, as `data: {"error": …}`, or as an
element of an array; the status was 200 long before. Source: reports of users, recorded.
"""

import json
from collections.abc import Callable
from typing import Any

from echo_http import Failure, RawBody, SseDecoder, classify_payload, error_of

Chunk = dict[str, Any]


class UnreadableStream(ValueError):
    """An event is no JSON object. The text never repeats its content."""


class ChunkDecoder:
    """Bytes in, chunks and failures out, in order.

    Args:
        unwrap: takes a chunk out of its envelope.
    """

    __slots__ = ("_sse", "_unwrap", "finished")

    def __init__(self, unwrap: Callable[[Chunk], Chunk]) -> None:
        self._sse = SseDecoder()
        self._unwrap = unwrap
        self.finished = False  # a finish reason or a block reason was seen

    def feed(self, piece: bytes) -> list[Chunk | Failure]:
        """Take the next bytes.

        Raises:
            UnreadableStream: an event is no JSON object.
            SseTooLarge: an event has no end.
        """
        items: list[Chunk | Failure] = []
        for data in self._sse.feed(piece):
            self._decode(data, items)
        return items

    def finish(self) -> list[Chunk | Failure]:
        """The stream ended; what was left. Raises as `feed`."""
        items: list[Chunk | Failure] = []
        for event in self._sse.finish():
            if isinstance(event, RawBody):
                self._decode(event.data, items)
            else:
                self._decode(event, items)
        return items

    def _decode(self, data: bytes, items: list[Chunk | Failure]) -> None:
        if not data or data == b"[DONE]":
            return
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise UnreadableStream(f"an event of {len(data)} bytes is not JSON") from None
        for chunk in value if isinstance(value, list) else [value]:
            error = error_of(chunk)
            if error is not None:
                items.append(classify_payload(error, http_status=200))
                continue
            if not isinstance(chunk, dict):
                raise UnreadableStream("an event is not a JSON object")
            items.append(self._note(self._unwrap(chunk)))

    def _note(self, chunk: Chunk) -> Chunk:
        if not self.finished:
            candidates = chunk.get("candidates")
            if isinstance(candidates, list):
                self.finished = any(isinstance(item, dict) and item.get("finishReason") for item in candidates)
            elif chunk.get("promptFeedback"):
                self.finished = True
        return chunk
