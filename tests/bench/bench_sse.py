"""What the SSE decoder costs, beside the least that any decoder must do: split the bytes at blank lines.

python -m tests.bench.bench_sse [--json FILE]
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "libs"), str(Path(__file__).resolve().parents[2])]

from tests.bench._harness import Report, alternate, cpu_us, json_option  # noqa: E402

from echo_http import SseDecoder  # noqa: E402

EVENT = b'data: {"candidates": [{"content": {"parts": [{"text": "' + b"words " * 40 + b'"}]}}]}\r\n\r\n'
LARGE = b"data: " + b"A" * 3_000_000 + b"\r\n\r\n"


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def decode(pieces: list[bytes]) -> int:
    decoder = SseDecoder()
    return sum(len(decoder.feed(piece)) for piece in pieces) + len(decoder.finish())


def split(pieces: list[bytes]) -> int:
    """Knows that lines end in CR LF, that every event is one line, and keeps all in memory."""
    rest, count = b"", 0
    for piece in pieces:
        *events, rest = (rest + piece).split(b"\r\n\r\n")
        count += len([event[6:] for event in events])
    return count


async def compare(what: str, pieces: list[bytes], events: int, report: Report, at_most: float | None = None) -> None:
    def timed(work: Callable[[list[bytes]], int]) -> Callable[[], object]:
        async def once() -> float:
            begin = cpu_us()
            assert work(pieces) == events
            return (cpu_us() - begin) / events

        return once

    ours, bare = await alternate(timed(decode), timed(split), 5)  # type: ignore[arg-type]
    report.ratio(what, "us", ours, bare, at_most=at_most)


async def measure(report: Report) -> None:
    stream = EVENT * 20_000
    await compare("one event a piece", [EVENT] * 20_000, 20_000, report, at_most=3)
    await compare("pieces of 64 KiB", cut(stream, 65_536), 20_000, report)
    await compare("pieces of 100 bytes", cut(stream, 100), 20_000, report)
    await compare("one event of 3 MB in pieces of 16 KiB", cut(LARGE, 16_384), 1, report, at_most=1)


def main() -> int:
    json_file = json_option(__doc__ or "")
    report = Report(f"SseDecoder beside a bare split, per event of {len(EVENT)} bytes")
    asyncio.run(measure(report))
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main())
