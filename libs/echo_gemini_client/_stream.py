"""The open stream of one answer."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import httpx

from echo_constants import EchoError
from echo_gemini_client import errors
from echo_gemini_client._chunks import Chunk, ChunkDecoder, UnreadableStream
from echo_gemini_client._failures import error_from_failure, error_from_transport
from echo_http import Failure, SseTooLarge


class ChunkStream:
    """Decoded chunks as they arrive; `prime` fetches the first one.

    Args:
        response: status 200, body unread.
        unwrap: takes a chunk out of its envelope.
        model: for error texts.
        secrets: credentials of this request, masked in errors.
    """

    def __init__(
        self, response: httpx.Response, unwrap: Callable[[Chunk], Chunk], *, model: str, secrets: Iterable[str]
    ) -> None:
        self._response = response
        self._model = model
        self._secrets = tuple(secrets)
        self._decoder = ChunkDecoder(unwrap)
        self._items: deque[Chunk | Failure] = deque()
        self._pieces = _pieces_of(response)
        self._received = False
        self._over = False

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self

    async def __anext__(self) -> dict[str, Any]:
        if not self._items:
            await self._fetch()
        if not self._items:
            raise StopAsyncIteration
        item = self._items.popleft()
        if isinstance(item, Failure):
            self._over = True
            self._items.clear()
            raise error_from_failure(item, model=self._model, secrets=self._secrets)
        self._received = True
        return item

    async def prime(self) -> None:
        """Wait for the first chunk; it stays to be read.

        Raises:
            EchoError: the stream failed or ended before it.
        """
        first = await anext(self, None)
        if first is not None:
            self._items.appendleft(first)

    async def aclose(self) -> None:
        """Stop the generation."""
        self._over = True
        await self._response.aclose()

    async def _fetch(self) -> None:
        """Read until at least one item is there, or the stream is over."""
        try:
            while not self._items and not self._over:
                piece = await anext(self._pieces, None)
                if piece is not None:
                    self._items.extend(self._decoder.feed(piece))
                else:
                    self._over = True
                    self._items.extend(self._decoder.finish())
                    self._check_end()
        except httpx.HTTPError as error:
            self._over = True
            raise error_from_transport(error, received=self._received, secrets=self._secrets) from error
        except (UnreadableStream, SseTooLarge) as error:
            self._over = True
            raise self._broken(str(error)) from error

    def _check_end(self) -> None:
        """A stream that says nothing about why it ended was cut on its way."""
        if not self._items and not self._decoder.finished:
            raise self._broken("the stream ended without a finish reason")

    def _broken(self, detail: str) -> EchoError:
        return errors.StreamBroken(detail, received=self._received)


def _pieces_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body's pieces; decoding is skipped where there is nothing to decode."""
    if response.headers.get("content-encoding", "identity") == "identity":
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - narrows for mypy
        return aiter(response.stream)
    return response.aiter_bytes()
