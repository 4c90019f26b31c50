"""ECHO's filters and pipe beside bare httpx with SSE and JSON decoding: time to the first chunk, and cost per chunk.

Open WebUI's real database and ECHO's real stores are in the way, Open WebUI's own work is not; what it spends on
loading the same chat is printed beside.
"""

import asyncio
import json
import runpy
import statistics
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import httpx
from _chats import MIXES, USER_ID, make_chat, message_id
from _harness import ROOT, Report, alternate, cpu_us, json_option, open_webui_tables

TURNS = (10, 100, 1000, 5000)
BUDGET_MS = {10: 10.0, 100: 15.0, 1000: 25.0, 5000: 60.0}
#: A model sends its chunks one by one; a burst shows the pipe's own work alone.
PACED_CHUNKS = 300
BURST_CHUNKS = 2000
WARM_UP_TURNS = 20
VALVES = SimpleNamespace(
    GEMINI_API_KEY="",
    GEMINI_BASE_URL="",
    MODEL_SELECTION="FLASH",
    ECHO_MAX_CONTEXT_SIZE=1_048_576,
    MAX_TOOL_ROUNDS=50,
    TOOL_TIMEOUT_S=300,
    SAFETY_THRESHOLD="default",
    KEEP_API_HISTORY=True,
    ENCRYPT_RECORDS=False,
    REMINDER_TURNS=20,
    REMINDER_FILL=30,
)


def sse(text: str, finish: str | None = None) -> dict[str, str]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    chunk = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}}
    return {"text": f"data: {json.dumps(chunk)}\r\n\r\n"}


def script(control: httpx.Client, chunks: int, delay_ms: float = 0) -> None:
    control.post("/__sim__/reset")
    texts: list[dict[str, Any]] = [*(sse("word " * 4) for _ in range(chunks - 1)), sse("end.", "STOP")]
    for text in texts if delay_ms else ():
        text["delay_ms"] = delay_ms
    entry = {
        "match": {"method": "streamGenerateContent"},
        "headers": {"content-type": "text/event-stream"},
        "chunks": texts,
        "times": 10_000,
    }
    control.post("/__sim__/script", json=[entry]).raise_for_status()


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat that waits for an answer to its last question."""

    id: str
    messages: list[dict[str, Any]]

    @property
    def question(self) -> str:
        return message_id(self.id, len(self.messages) - 1)


def pipe_call(chat: Chat, answer: str) -> Any:
    from echo_runtime import PipeCall

    metadata = {
        "chat_id": chat.id,
        "message_id": answer,
        "user_message_id": chat.question,
        "session_id": "bench",
        "model": {"id": "echo_orchestrator"},
    }
    body = {"stream": True, "model": "echo_orchestrator", "messages": chat.messages}
    return PipeCall(body=body, user={"id": USER_ID}, metadata=metadata, valves=VALVES, tools={})


def installed_filters() -> list[Any]:
    """ECHO's filters as Open WebUI would run them: those with an inlet, by priority."""
    files = (ROOT / "filters").glob("*.py")
    filters = [runpy.run_path(str(path))["Filter"]() for path in files]
    return sorted((f for f in filters if hasattr(f, "inlet")), key=lambda f: f.valves.priority)


async def filtered(call: Any, filters: list[Any]) -> Any:
    """The call after the inlets, which leave what they found in its metadata."""
    for each in filters:
        given = {"body": call.body, "__user__": call.user, "__metadata__": call.metadata}
        await each.inlet(**given, __model__={"id": "echo_orchestrator"})
    return call


class Bench:
    """Both ways to a first chunk over the same request bytes."""

    def __init__(self, control: httpx.Client, bare: httpx.AsyncClient) -> None:
        self._control = control
        self._bare = bare
        self._answers = 0
        self._filters = installed_filters()

    async def pipe_ms(self, chat: Chat) -> float:
        from echo_runtime import respond

        self._answers += 1
        began = time.perf_counter()
        response = await respond(await filtered(pipe_call(chat, f"a{self._answers}"), self._filters))
        stream: AsyncIterator[bytes] = response.body_iterator
        first = 0.0
        async for data in stream:
            if not first and b"output_text.delta" in data:
                first = time.perf_counter() - began
        return first * 1000

    async def bare_ms(self, body: bytes, path: str) -> float:
        began = time.perf_counter()
        first = 0.0
        headers = {"content-type": "application/json", "x-goog-api-key": "bench"}
        rest = b""
        async with self._bare.stream("POST", path, content=body, headers=headers) as response:
            async for data in response.aiter_bytes():
                *events, rest = (rest + data).split(b"\r\n\r\n")
                for event in events:
                    json.loads(event.removeprefix(b"data: "))
                    first = first or time.perf_counter() - began
        return first * 1000

    def last_request(self) -> tuple[bytes, str]:
        arrived = self._control.get("/__sim__/requests").json()
        request = next(request for request in reversed(arrived) if "GenerateContent" in request["path"])
        return request["body"].encode(), request["path"]


async def load_ms(chat: Chat) -> float:
    """What Open WebUI itself spends on the same chain before it calls any pipe."""
    from open_webui.models.chats import Chats
    from open_webui.utils.misc import get_message_list

    began = time.perf_counter()
    get_message_list(await Chats.get_messages_map_by_chat_id(chat.id), chat.question)
    return (time.perf_counter() - began) * 1000


async def rebuild_ms(chat: Chat, *, cold: bool = False) -> tuple[float, float]:
    """(wall clock, processor time of all threads) of making the request out of the records; cold after a restart."""
    from echo_runtime.composition import services
    from echo_runtime.loading import orchestrator

    sessions = services().sessions
    if cold:
        await sessions.release_chat(USER_ID, chat.id)
    pipe = await orchestrator()
    async with sessions.open(USER_ID, chat.id) as store:
        began, began_us = time.perf_counter(), cpu_us()
        await pipe.prepare_context(pipe_call(chat, "rebuilt"), store, "ai_studio:bench")
        return (time.perf_counter() - began) * 1000, (cpu_us() - began_us) / 1000


async def first_chunks(bench: Bench, report: Report, mix: str) -> None:
    over: dict[int, float] = {}
    for turns in TURNS:
        chat = Chat(*await make_chat(mix, turns))
        first_ever_ms = await bench.pipe_ms(chat)
        await bench.pipe_ms(chat)
        body, path = bench.last_request()

        async def ours(chat: Chat = chat) -> float:
            return await bench.pipe_ms(chat)

        async def bare(body: bytes = body, path: str = path) -> float:
            return await bench.bare_ms(body, path)

        pipe_ms, bare_ms = await alternate(ours, bare, 9 if turns <= 1000 else 7)
        over[turns] = pipe_ms - bare_ms
        report.over(f"{mix}, {turns} turns: first chunk", "ms", pipe_ms, bare_ms, at_most=BUDGET_MS[turns])
        again = [await rebuild_ms(chat) for _ in range(5)]
        cold = [await rebuild_ms(chat, cold=True) for _ in range(3)]
        for what, figures in (("rebuilt from memory", again), ("read first after a restart", cold)):
            report.figure(f"  {what}", "ms", statistics.median(wall for wall, _ in figures))
            report.figure(f"  {what}, processor", "ms", statistics.median(cpu for _, cpu in figures))
        report.figure("  all recovered and sealed (first ever)", "ms", first_ever_ms)
        report.figure("  request", "kB", len(body) / 1000)
        report.figure("  Open WebUI's own loading of the chat", "ms", await load_ms(chat))
    for fewer, more in pairwise(TURNS):
        growth_us = (over[more] - over[fewer]) / (more - fewer) * 1000
        report.figure(f"{mix}: growth a turn, {fewer} to {more}", "us", growth_us)


async def per_chunk(
    bench: Bench, report: Report, chat: Chat, what: str, chunks: int, *, at_most: float | None = None
) -> None:
    await bench.pipe_ms(chat)
    body, path = bench.last_request()

    async def ours() -> float:
        began = cpu_us()
        await bench.pipe_ms(chat)
        return (cpu_us() - began) / chunks

    async def bare() -> float:
        began = cpu_us()
        await bench.bare_ms(body, path)
        return (cpu_us() - began) / chunks

    pipe_us, bare_us = await alternate(ours, bare, 5)
    report.ratio(f"processor time a chunk, {what}", "us", pipe_us, bare_us, at_most=at_most)


async def run(control: httpx.Client, report: Report) -> None:
    async with httpx.AsyncClient(base_url=control.base_url, http1=False, http2=True, timeout=60) as bare:
        bench = Bench(control, bare)
        script(control, 5)
        # What a process does once (imports, prepared statements, connections) belongs to no chat's figure.
        warm = Chat(*await make_chat("text", 3))
        for _ in range(WARM_UP_TURNS):
            await bench.pipe_ms(warm)
        for mix in MIXES:
            await first_chunks(bench, report, mix)
        chat = Chat(*await make_chat("text", 11))
        script(control, PACED_CHUNKS, delay_ms=3)
        await per_chunk(bench, report, chat, "arriving one by one", PACED_CHUNKS, at_most=1.5)
        script(control, BURST_CHUNKS)
        await per_chunk(bench, report, chat, "arriving all at once", BURST_CHUNKS)


def main() -> int:
    json_file = json_option(__doc__ or "")
    report = Report("The whole pipe beside bare httpx")
    with open_webui_tables() as control:
        asyncio.run(run(control, report))
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main())
