"""Reads recorded Gemini traffic, whatever way its authors stored it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


@dataclass(frozen=True)
class Hop:
    """One generateContent call: what was asked (None when only the answer was kept) and the chunks of the answer."""

    source: str
    model: str
    request: Json | None
    chunks: list[Json]


def conversations(root: Path) -> Iterator[list[Hop]]:
    """Hops file by file, in recorded order; error bodies and other APIs are left out."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and "interactions" not in path.parts and path.suffix != ".md":
            hops = [hop for hop in _hops(path, path.relative_to(root).as_posix()) if hop.chunks]
            if hops:
                yield hops


def streams(root: Path) -> Iterator[Hop]:
    """Every recorded answer."""
    for hops in conversations(root):
        yield from hops


def sse_chunks(text: str) -> list[Json]:
    """The JSON objects of an SSE body; a raw error tail is left out."""
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]


def _hops(path: Path, name: str) -> Iterator[Hop]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".yaml":
        yield from _cassette(yaml.load(text, Loader=yaml.CSafeLoader), name)
    elif "js-genai" in name:
        yield from _js(json.loads(text), name)
    elif path.suffix == ".responses":
        yield from _cli(text, name)
    elif name.endswith("partial_args_stream.json"):
        for case in json.loads(text)["cases"]:
            yield Hop(f"{name}#{case['name']}", "", None, case["chunks"])
    elif path.suffix in (".txt", ".json") and ("Firebase" in name or "vercel" in name):
        yield Hop(name, "", None, [chunk for chunk in _lines(text) if _is_answer(chunk)])


def _cassette(cassette: Json, name: str) -> Iterator[Hop]:
    for interaction in cassette["interactions"]:
        uri = interaction.get("request", {}).get("uri", "")
        if ":generateContent" not in uri and ":streamGenerateContent" not in uri:
            continue
        response = interaction["response"]
        body = response.get("parsed_body")
        chunks = sse_chunks(response["body"]["string"]) if body is None else [body]
        yield _hop(name, uri, interaction["request"].get("parsed_body"), chunks)


def _js(recording: Json, name: str) -> Iterator[Hop]:
    for interaction in recording["interactions"]:
        url = interaction["request"]["url"]
        if ":generateContent" in url or ":streamGenerateContent" in url:
            segments = interaction["request"]["bodySegments"]
            yield _hop(name, url, segments[0] if segments else None, interaction["response"].get("bodySegments") or [])


def _cli(text: str, name: str) -> Iterator[Hop]:
    for line in text.splitlines():
        entry = json.loads(line) if line.strip() else {}
        if entry.get("method") in ("generateContent", "generateContentStream"):
            answer = entry["response"]
            yield _hop(name, "", None, answer if isinstance(answer, list) else [answer])


def _hop(name: str, uri: str, request: Json | None, chunks: list[Any]) -> Hop:
    model = uri.split("/models/")[-1].split(":")[0] if "/models/" in uri else ""
    return Hop(name, model, request, [chunk for chunk in chunks if _is_answer(chunk)])


def _lines(text: str) -> list[Any]:
    if "data: " in text:
        return sse_chunks(text)
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip().startswith("{")]


def _is_answer(chunk: Any) -> bool:
    return isinstance(chunk, dict) and bool({"candidates", "usageMetadata", "promptFeedback"} & chunk.keys())
