"""Reads recorded Gemini traffic: request and answer pairs, and raw streams. Nothing is copied into the project."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from echo_workers.gemini_sim.core.frames import sse_event

API_HOST = "generativelanguage.googleapis.com"


@dataclass(frozen=True)
class Exchange:
    """One recorded request and how it was answered.

    Args:
        body: the JSON body, or text or bytes as recorded.
        answer: the parsed JSON answer, None when it was no JSON.
        stream: the raw bytes of a streamed answer.
    """

    source: str
    index: int
    host: str
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    status: int
    answer: Any = None
    stream: bytes | None = None
    query: str = ""

    @property
    def name(self) -> str:
        return f"{self.source}#{self.index}"


@dataclass
class Corpus:
    """Everything below the recordings folder that a test needs."""

    root: Path
    exchanges: list[Exchange] = field(default_factory=list)

    def load(self) -> "Corpus":
        self.exchanges = [*self._cassettes(), *self._sdk_recordings()]
        return self

    def _cassettes(self) -> Iterator[Exchange]:
        folder = self.root / "pydantic__pydantic-ai"
        for path in sorted(folder.rglob("*.yaml")):
            rows = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader).get("interactions", [])
            for index, row in enumerate(rows):
                if "request" not in row:
                    yield Exchange(str(path.relative_to(folder)), index, "websocket", "WS", "", {}, None, 0)
                    continue
                request, response = row["request"], row["response"]
                url = urlsplit(request["uri"])
                recorded = response.get("body", {})
                text = recorded.get("string", "") if isinstance(recorded, dict) else ""
                yield Exchange(
                    source=str(path.relative_to(folder)),
                    index=index,
                    host=url.netloc,
                    method=request["method"].upper(),
                    path=url.path,
                    headers={name.lower(): values[0] for name, values in request["headers"].items()},
                    body=request.get("parsed_body", request.get("body")),
                    status=response["status"]["code"],
                    answer=response.get("parsed_body"),
                    stream=text.encode() if "streamGenerateContent" in url.path else None,
                    query=url.query,
                )

    def _sdk_recordings(self) -> Iterator[Exchange]:
        folder = self.root / "googleapis__js-genai"
        for path in sorted(folder.rglob("*.json")):
            for index, row in enumerate(json.loads(path.read_text(encoding="utf-8"))["interactions"]):
                request, response = row["request"], row["response"]
                url = urlsplit(request["url"])
                segments = response.get("bodySegments", [])
                streamed = "streamGenerateContent" in url.path
                yield Exchange(
                    source=path.name,
                    index=index,
                    host=request["serverAddress"],
                    method=request["method"],
                    path=url.path,
                    headers={name.lower(): value for name, value in request["headers"].items()},
                    body=request["bodySegments"][0],
                    status=response["statusCode"],
                    answer=segments[0] if segments else None,
                    stream=b"".join(map(sse_event, segments)) if streamed else None,
                    query=url.query,
                )

    def streams(self) -> Iterator[tuple[str, bytes]]:
        """Every recorded stream as the bytes that went over the wire, or would have.

        Recordings that kept only the parsed events are framed again as the service frames them.
        """
        yield from ((row.name, row.stream) for row in self.exchanges if row.stream)
        for path in sorted((self.root / "FirebaseExtended__vertexai-sdk-test-data").rglob("streaming-*.txt")):
            yield path.name, path.read_bytes()
        for path in sorted((self.root / "vercel__ai").rglob("*.chunks.txt")):
            lines = path.read_bytes().splitlines()
            yield path.name, b"".join(b"data: " + line + b"\r\n\r\n" for line in lines if line)
        for path in sorted((self.root / "google-gemini__gemini-cli").rglob("*.responses")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
                row = json.loads(line) if line.strip() else {}
                if row.get("method") == "generateContentStream":
                    yield f"{path.name}#{number}", b"".join(map(sse_event, row["response"]))
        for row in self.exchanges:  # the largest signatures, each in one event
            if row.source.startswith("TRIMMED") and isinstance(row.answer, dict):
                yield row.name, sse_event(row.answer)
