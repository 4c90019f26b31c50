"""Coverage-guided fuzzing of everything that reads bytes from outside: `python fuzz_streams.py [libFuzzer options]`."""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "libs"))

with atheris.instrument_imports(include=["echo_http", "echo_gemini_client"]):
    from echo_gemini_client._chunks import ChunkDecoder, UnreadableStream
    from echo_http import Failure, SseDecoder, classify_error
    from echo_http._h2_core import H2Core, PeerBrokeProtocol

HEADERS = [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"x"), (b":path", b"/")]


def pieces_of(data: bytes, provider: atheris.FuzzedDataProvider) -> list[bytes]:
    pieces = []
    while data:
        size = provider.ConsumeIntInRange(1, len(data))
        pieces.append(data[:size])
        data = data[size:]
    return pieces


def decode(pieces: list[bytes]) -> list[object]:
    decoder = SseDecoder()
    events: list[object] = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.finish()


def check(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    body = provider.ConsumeBytes(provider.ConsumeIntInRange(0, len(data)))
    pieces = pieces_of(body, provider)
    assert decode(pieces) == decode([body]), "the cut changed the events"
    chunks = ChunkDecoder(lambda chunk: chunk)
    try:
        items = [item for piece in pieces for item in chunks.feed(piece)] + chunks.finish()
        assert all(isinstance(item, dict | Failure) for item in items)
    except UnreadableStream:
        pass
    assert isinstance(classify_error(429, body), Failure)
    core = H2Core()
    core.start()
    core.open(HEADERS, end=True)
    try:
        for piece in pieces:
            core.receive(piece)
    except PeerBrokeProtocol:
        pass


if __name__ == "__main__":
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
