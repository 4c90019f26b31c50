"""Gemini's answers for client tests: chunks, errors, and a script for `H2Server`."""

import json
from typing import Any

from echo_constants import EchoError
from http_servers import ServerStream

KEY = "test-key-0123456789"


class Waits(list[tuple[float, str]]):
    """Collects what `on_wait` is told."""

    async def __call__(self, wait_s: float, error: EchoError) -> None:
        self.append((round(wait_s, 3), error.code))


def chunk(text: str, **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, **candidate}]}


LAST = chunk("!", finishReason="STOP")


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"


def google_error(code: int, message: str, status: str = "UNAVAILABLE", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, **more}}


OVERLOADED = google_error(503, "The model is overloaded. Please try again later.")


class Script:
    """Answers requests one after the other; each step is (status, pieces) or a handler."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)

    async def __call__(self, stream: ServerStream) -> None:
        await stream.complete.wait()
        step = self.steps.pop(0)
        if callable(step):
            await step(stream)
            return
        status, *pieces = step
        stream.head(status)
        for piece in pieces:
            await stream.data(piece if isinstance(piece, bytes) else json.dumps(piece).encode())
        stream.end()
