"""What EchoGeminiClient and its transport cost, beside httpx that reads and decodes the same bytes.

    python -m tests.bench.bench_client [--json FILE]

"Bare" is httpx 0.28 over HTTP/2 with our SSE decoder and json.loads, which every client has to do. "Burst" has
the simulator write as fast as it can, so that pieces arrive together; "paced" writes one event after the other, so that
each wakes the reader. Processor time is this process's only; the simulator runs in another one.
"""

import asyncio
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "libs"), str(Path(__file__).resolve().parents[2])]

import httpx  # noqa: E402
import psutil  # noqa: E402
from tests.bench._harness import Report, alternate, cpu_us, json_option, simulator  # noqa: E402

from echo_core.ports import GenerateRequest  # noqa: E402
from echo_gemini_client import AiStudioApi, EchoGeminiClient  # noqa: E402
from echo_http import EchoTransport, ProxySettings, SseDecoder, TransportSettings  # noqa: E402

MODEL = "gemini-3-flash-preview"
BODY = b'{"contents":[{"role":"user","parts":[{"text":"x"}]}]}'
PATH = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"


def event(text: str, **candidate: Any) -> str:
    chunk = {
        "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **candidate}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": MODEL,
        "responseId": "bench",
    }
    return f"data: {json.dumps(chunk)}\r\n\r\n"


def script(chunks: int, *, delay_ms: float = 0) -> dict[str, Any]:
    pieces = [{"text": event("some words of an answer "), "delay_ms": delay_ms}] * (chunks - 1)
    return {"chunks": [*pieces, {"text": event("end", finishReason="STOP")}], "times": -1}


class Ours:
    def __init__(self, url: str) -> None:
        async def key() -> str:
            return "bench-key-0123456789"

        self.transport = EchoTransport(settings=TransportSettings(proxies=ProxySettings()))
        self.client = EchoGeminiClient(AiStudioApi(url), key, self.transport)

    async def read(self, *, on_chunk: Any = None) -> int:
        count = 0
        async with self.client.stream_generate(GenerateRequest(model=MODEL, body_json=BODY)) as chunks:
            async for _ in chunks:
                count += 1
                if on_chunk is not None:
                    on_chunk(count)
        return count

    async def first_ms(self) -> float:
        begin_s = time.perf_counter()
        async with self.client.stream_generate(GenerateRequest(model=MODEL, body_json=BODY)) as chunks:
            await anext(chunks)
            took_ms = (time.perf_counter() - begin_s) * 1000
            async for _ in chunks:
                pass
        return took_ms

    async def aclose(self) -> None:
        await self.transport.aclose()


class Bare:
    def __init__(self, url: str) -> None:
        self.client = httpx.AsyncClient(base_url=url, http1=False, http2=True, timeout=60, trust_env=False)

    async def read(self, *, on_chunk: Any = None) -> int:
        count = 0
        async with self.client.stream("POST", PATH, content=BODY) as response:
            decoder = SseDecoder()
            async for piece in response.aiter_bytes():
                for data in decoder.feed(piece):
                    json.loads(data)
                    count += 1
        return count

    async def first_ms(self) -> float:
        begin_s = time.perf_counter()
        took_ms = 0.0
        async with self.client.stream("POST", PATH, content=BODY) as response:
            decoder = SseDecoder()
            async for piece in response.aiter_bytes():
                for data in decoder.feed(piece):
                    json.loads(data)
                    took_ms = took_ms or (time.perf_counter() - begin_s) * 1000
        return took_ms

    async def aclose(self) -> None:
        await self.client.aclose()


async def cpu_per_chunk(reader: Ours | Bare, chunks: int, streams: int = 1) -> float:
    gc.collect()
    begin = cpu_us()
    counts = await asyncio.gather(*(reader.read() for _ in range(streams)))
    assert counts == [chunks] * streams
    return (cpu_us() - begin) / (chunks * streams)


async def wall_ms(reader: Ours | Bare, streams: int) -> float:
    begin_s = time.perf_counter()
    await asyncio.gather(*(reader.read() for _ in range(streams)))
    return (time.perf_counter() - begin_s) * 1000


async def memory(ours: Ours, report: Report) -> None:
    """Resident memory while 10,000 chunks pass: what grows after the first thousand."""
    process, seen = psutil.Process(), {}

    def note(count: int) -> None:
        if count in (1_000, 10_000):
            seen[count] = process.memory_info().rss / 2**20

    await ours.read(on_chunk=note)
    report.figure("memory: growth from chunk 1,000 to 10,000", "MiB", seen[10_000] - seen[1_000], at_most=4)


async def measure(sim: httpx.Client, report: Report) -> None:
    def play(chunks: int, **options: float) -> None:
        sim.post("/__sim__/reset").raise_for_status()
        sim.post("/__sim__/script", json=[script(chunks, **options)]).raise_for_status()

    ours, bare = Ours(str(sim.base_url)), Bare(str(sim.base_url))
    play(3)
    figures = await alternate(ours.first_ms, bare.first_ms, 100)
    report.over("time to first chunk, warm connection", "ms", *figures, at_most=10)
    play(5_000)
    figures = await alternate(lambda: cpu_per_chunk(ours, 5_000), lambda: cpu_per_chunk(bare, 5_000), 5)
    report.ratio("CPU per chunk, burst", "us", *figures, at_most=1.5)
    play(500, delay_ms=1)
    figures = await alternate(lambda: cpu_per_chunk(ours, 500), lambda: cpu_per_chunk(bare, 500), 5)
    report.ratio("CPU per chunk, paced", "us", *figures, at_most=1.5)
    play(100, delay_ms=1)
    figures = await alternate(lambda: cpu_per_chunk(ours, 100, 20), lambda: cpu_per_chunk(bare, 100, 20), 5)
    report.ratio("CPU per chunk, 20 paced streams at once", "us", *figures, at_most=1.5)
    play(50)
    figures = await alternate(lambda: wall_ms(ours, 150), lambda: wall_ms(bare, 150), 3)
    report.ratio("150 streams of 50 chunks, wall", "ms", *figures)
    play(10_000)
    await memory(ours, report)
    await ours.aclose()
    await bare.aclose()


def main() -> int:
    json_file = json_option(__doc__ or "")
    report = Report("EchoGeminiClient beside bare httpx")
    with simulator() as sim:
        asyncio.run(measure(sim, report))
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main())
