"""Twins of the engine's ports for tests: a backend that plays chunks, tools that answer as told."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from echo_constants import EchoError
from echo_core.ports import GenerateRequest, OnWait, StreamEnd, ToolOutcome, ToolRequest


class FakeClock:
    """Time that moves only when told."""

    def __init__(self, now_s: float = 1_800_000_000.0) -> None:
        self.at_s = now_s

    def now_s(self) -> float:
        return self.at_s

    def monotonic_s(self) -> float:
        return self.at_s

    async def sleep(self, delay_s: float) -> None:
        self.at_s += delay_s


class ScriptedBackend:
    """Plays one list of chunks a request; an exception in a list is raised at its place.

    Before the first stream it waits as told.
    """

    name = "ai_studio"

    def __init__(
        self, *streams: Sequence[dict[str, Any] | BaseException], waits: Sequence[tuple[float, EchoError]] = ()
    ) -> None:
        self.waits = list(waits)
        self.streams = list(streams)
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.closed = 0

    @asynccontextmanager
    async def stream_generate(
        self, request: GenerateRequest, *, on_wait: OnWait | None = None
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        self.bodies.append(request.body_json)
        self.requests.append(json.loads(request.body_json))
        stream = self.streams.pop(0)
        while self.waits and on_wait is not None:
            await on_wait(*self.waits.pop(0))

        async def chunks() -> AsyncIterator[dict[str, Any]]:
            for item in stream:
                if isinstance(item, BaseException):
                    raise item
                yield item

        try:
            yield chunks()
        finally:
            self.closed += 1

    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        self.requests.append(json.loads(request.body_json))
        [chunk] = self.streams.pop(0)
        if isinstance(chunk, BaseException):
            raise chunk
        return chunk

    async def count_tokens(self, request: GenerateRequest) -> int:
        return len(request.body_json) // 4

    async def list_models(self) -> list[dict[str, Any]]:
        return []


class ScriptedTools:
    """Answers each call by a function of its request, in reverse order, as parallel tools may."""

    def __init__(self, answer: Callable[[ToolRequest], str]) -> None:
        self._answer = answer
        self.requests: list[ToolRequest] = []

    async def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome]:
        self.requests.extend(requests)
        for request in reversed(requests):
            text = self._answer(request)
            yield ToolOutcome(card_id=request.card_id, response={"output": text}, text=text)


class ListJournal:
    """Keeps what it is given, and when it was asked to write."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    async def chunk(self, chunk: Mapping[str, Any]) -> None:
        self.records.append(chunk)

    async def content(self, content_json: bytes) -> None:
        self.records.append(json.loads(content_json))

    async def stream_over(self, how: StreamEnd) -> None:
        self.records.append({"stream": how})

    async def flush(self) -> None:
        self.records.append("flush")


class ListMedia:
    """Keeps images in a list."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str]] = []

    async def keep(self, mime_type: str, data_base64: str) -> str:
        self.kept.append((mime_type, data_base64))
        return f"/files/{len(self.kept)}"


def chunk(*parts: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None) -> dict[str, Any]:
    """One GenerateContentResponse."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **({"usageMetadata": usage} if usage else {})}


def call(name: str, call_id: str | None = None, signature: str | None = None, **args: Any) -> dict[str, Any]:
    """A functionCall part."""
    body: dict[str, Any] = {"name": name, "args": args} | ({"id": call_id} if call_id else {})
    return {"functionCall": body} | ({"thoughtSignature": signature} if signature else {})
