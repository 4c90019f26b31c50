"""However a stream is cut, the events are the same; and no bytes whatever upset the decoder."""

import json
import re
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from echo_gemini_client._chunks import ChunkDecoder, UnreadableStream
from echo_http import Failure, RawBody, SseDecoder

Event = bytes | RawBody

LINES = st.lists(
    st.sampled_from(
        [
            b"data: a",
            b"data:b",
            b"data",
            b"data: {",
            b"",
            b"",
            b": c",
            b"event: x",
            b"{",
            b"[1,",
            b"  }",
            "data: é\u2028".encode(),
        ]
    )
)
ENDINGS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@st.composite
def framed(draw: st.DrawFn) -> bytes:
    return b"".join(line + draw(ENDINGS) for line in draw(LINES)) + draw(st.sampled_from([b"", b"data: rest", b"{"]))


def decode(pieces: list[bytes]) -> list[Event]:
    decoder = SseDecoder()
    events: list[Event] = []
    for piece in pieces:
        events += decoder.feed(piece)
    return events + decoder.finish()


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in at)})
    return [data[start:end] for start, end in pairwise(places)]


def reference(data: bytes) -> list[bytes]:
    """The standard's algorithm on the whole text, for events only."""
    events, current = [], []
    *lines, _ = re.split(rb"\r\n|\n|\r", data)
    for line in lines:
        if line.startswith(b"data:"):
            current.append(line[5:].removeprefix(b" "))
        elif not line and current:
            events.append(b"\n".join(current))
            current = []
    return events


@given(framed(), st.lists(st.integers(0, 2_000)))
def test_any_cut_gives_the_same_events(data: bytes, at: list[int]) -> None:
    assert decode(cut(data, at)) == decode([data])


@given(framed(), st.lists(st.integers(0, 2_000)))
def test_events_are_those_of_the_standard(data: bytes, at: list[int]) -> None:
    decoder = SseDecoder()
    events = [event for piece in cut(data, at) for event in decoder.feed(piece)]
    assert events == reference(data)


@given(st.lists(st.binary(max_size=200)))
def test_random_bytes_never_upset_the_decoders(pieces: list[bytes]) -> None:
    events = decode(pieces)
    assert sum(len(event.data if isinstance(event, RawBody) else event) for event in events) <= sum(map(len, pieces))
    decoder = ChunkDecoder(lambda chunk: chunk)
    items: list[object] = []
    with suppress(UnreadableStream):
        for piece in pieces:
            items += decoder.feed(piece)
        items += decoder.finish()
    assert all(isinstance(item, dict | Failure) for item in items)


def recorded_streams(recordings: Path) -> list[tuple[str, bytes]]:
    """Streams as they were recorded, whole."""
    streams = [(path.name, path.read_bytes()) for path in sorted(recordings.glob("Firebase*/**/streaming-*.txt"))]
    for path in sorted(recordings.glob("pydantic__pydantic-ai/**/*.yaml")):
        text = path.read_text()
        if "text/event-stream" not in text:
            continue
        for interaction in yaml.load(text, Loader=yaml.CSafeLoader)["interactions"]:
            body = interaction["response"].get("body", {}).get("string")
            if isinstance(body, str) and body.startswith("data:"):
                streams.append((path.name, body.encode()))
    return streams


@pytest.mark.recordings
def test_recorded_streams_survive_any_cut(recordings: Path) -> None:
    streams = recorded_streams(recordings)
    assert len(streams) > 30
    whole = {index: decode([data]) for index, (_, data) in enumerate(streams)}

    @settings(max_examples=200)
    @given(st.integers(0, len(streams) - 1), st.lists(st.integers(0, 10_000_000), max_size=60))
    def check(index: int, at: list[int]) -> None:
        assert decode(cut(streams[index][1], at)) == whole[index]

    check()
    for index, (name, data) in enumerate(streams):
        events = [event for event in whole[index] if isinstance(event, bytes)]
        assert len(events) == len(re.findall(rb"(?m)^data:", data)), name
        for event in events:
            json.loads(event)


@pytest.mark.recordings
def test_recorded_streams_survive_single_bytes(recordings: Path) -> None:
    for name, data in recorded_streams(recordings):
        if len(data) < 20_000:
            assert decode([data[index : index + 1] for index in range(len(data))]) == decode([data]), name
