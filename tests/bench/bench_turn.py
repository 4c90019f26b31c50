"""The turn engine with its client beside a hand-written httpx loop that does the same work on the same bytes.

Both send the history, decode the stream, run the tool, add call and response, and ask again until there are words.
Records and Open WebUI are not in the way; `bench_pipe` has those.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import httpx
from _harness import Report, alternate, cpu_us, json_option, simulator

from echo_core.engine import TurnEngine, TurnPlan, TurnRecord
from echo_core.ports import ToolOutcome, ToolRequest
from echo_core.routing import LEVELS
from echo_events import ResponsesRenderer
from echo_gemini_client import AiStudioApi, EchoGeminiClient
from echo_http import EchoTransport, SystemClock
from echo_protocol import Catalogue, content_json, convert_owui_tools, text_part
from echo_runtime import PipeCall
from echo_runtime.own_tools import OWN_TYPE
from echo_runtime.sealing import NoJournal
from echo_runtime.subagent_run import Limits, Order, Surroundings
from echo_runtime.subagents import SubAgents
from echo_runtime.tool_approval import ToolApproval
from echo_runtime.tool_results import ResultReader
from echo_runtime.tools_cache import Seat

ROUNDS = 30
PACED_CHUNKS = 300
BURST_CHUNKS = 1_000
CHATS = 100
CHAT_ROUNDS = 5
MODEL = "gemini-3.8-flash"
SIGNATURE = "skip_thought_signature_validator"
PARAMETERS = {"type": "object", "properties": {"at": {"type": "string"}}}
TOOLS = convert_owui_tools([{"name": "look", "parameters": PARAMETERS}]).tools_json() or b"[]"
QUESTION = {"role": "user", "parts": [{"text": "Look at it from all sides. " * 20}]}
Run = Callable[[], Awaitable[None]]


def result(step: int) -> str:
    return f"Step {step}: " + "It is round. " * 40


def sse(part: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    chunk = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}}
    return {"text": f"data: {json.dumps(chunk)}\r\n\r\n"}


def script(control: httpx.Client, rounds: int, chunks: int, delay_ms: float = 0) -> None:
    """So many rounds with one call each, then an answer of so many chunks, for each chat."""
    control.post("/__sim__/reset")
    call = {"functionCall": {"name": "look", "args": {"at": "it"}, "id": "c0ffee00"}, "thoughtSignature": SIGNATURE}
    words = [*(sse({"text": "word " * 4}) for _ in range(chunks - 1)), sse({"text": "end."}, "STOP")]
    for chunk in words if delay_ms else ():
        chunk["delay_ms"] = delay_ms
    last = {"match": {"body_regex": f"Step {rounds}: "}} if rounds else {}
    entries = [
        {**last, "chunks": words, "times": -1},
        {"chunks": [sse({"text": "I look. "}), sse(call, "STOP")], "times": -1},
    ]
    control.post("/__sim__/script", json=entries).raise_for_status()


class Tools:
    """Answers at once, with the number of the step."""

    def __init__(self) -> None:
        self._steps = 0

    async def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome]:
        for request in requests:
            self._steps += 1
            text = result(self._steps)
            yield ToolOutcome(card_id=request.card_id, response={"output": text}, text=text)


class Media:
    """Never used: no picture comes."""

    async def keep(self, mime_type: str, data_base64: str) -> str:
        return ""


def engine_turn(client: EchoGeminiClient) -> Run:
    plan = TurnPlan(
        model_id=MODEL, contents=[content_json("user", [text_part(QUESTION["parts"][0]["text"])])], tools=TOOLS
    )

    async def run() -> None:
        engine = TurnEngine(
            backend=client,
            tools=Tools(),
            journal=NoJournal(),
            media=Media(),
            clock=SystemClock(),
            record=TurnRecord(),
        )
        renderer = ResponsesRenderer("bench")
        async for event in engine.run(plan):
            for wire in renderer.render(event):
                json.dumps(wire)

    return run


def agent_turn(client: EchoGeminiClient) -> Run:
    """The same work delegated: a sub-agent with the tool, from its task to its result."""
    catalogue = Catalogue.load()
    models = {level: catalogue.resolve(f"MODEL_{level}", "ai_studio") for level in LEVELS}
    call = PipeCall(body={}, user={"id": "bench"}, metadata={}, valves=None, tools={})

    async def run() -> None:
        steps = 0

        async def look(at: str = "") -> str:
            nonlocal steps
            steps += 1
            return result(steps)

        spec = {"name": "look", "parameters": PARAMETERS}
        entry = {"callable": look, "spec": spec, "type": OWN_TYPE}
        around = Surroundings(
            call=call,
            backend=client,
            backend_name="ai_studio",
            models=models,
            policy="FLASH",
            max_context_tokens=1_000_000,
            specs=[spec],
            runnable={"look": entry},
            google=(),
            safety_settings=None,
            results=ResultReader(call, None, "", sees_media=False),
            approval=ToolApproval(call),
            tool_timeout_s=60,
            media=Media(),
            store=None,
            record=TurnRecord(),
            clock=SystemClock(),
        )
        limits = Limits(depth=1, rounds=ROUNDS + 1, tokens=10**9, time_s=600)
        order = Order(task=QUESTION["parts"][0]["text"])
        told = await SubAgents(around).run(order, limits, Seat(answer_id="bench"))
        assert f"{ROUNDS} tool calls" in str(told), told

    return run


def bare_turn(client: httpx.AsyncClient) -> Run:
    tools = json.loads(TOOLS)

    async def run() -> None:
        contents: list[Any] = [QUESTION]
        steps = 0
        while True:
            parts: list[Any] = []
            rest = b""
            body = json.dumps({"tools": tools, "contents": contents}).encode()
            path = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
            headers = {"content-type": "application/json", "x-goog-api-key": "bench"}
            async with client.stream("POST", path, content=body, headers=headers) as response:
                async for data in response.aiter_bytes():
                    *events, rest = (rest + data).split(b"\r\n\r\n")
                    for event in events:
                        part = json.loads(event[6:])["candidates"][0]["content"]["parts"][0]
                        json.dumps({"type": "delta", "delta": part.get("text")})
                        parts.append(part)
            contents.append({"role": "model", "parts": parts})
            calls = [part["functionCall"] for part in parts if "functionCall" in part]
            if not calls:
                return
            answers = []
            for call in calls:
                steps += 1
                response = {"output": result(steps)}
                answers.append({"functionResponse": {"id": call["id"], "name": call["name"], "response": response}})
            contents.append({"role": "user", "parts": answers})

    return run


def costing(run: Run, count: int) -> Callable[[], Awaitable[float]]:
    async def measured() -> float:
        began = cpu_us()
        await run()
        return (cpu_us() - began) / count

    return measured


def lasting(run: Run, chats: int) -> Callable[[], Awaitable[float]]:
    async def measured() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(run() for _ in range(chats)))
        return (time.perf_counter() - began) * 1000

    return measured


async def measure(control: httpx.Client, report: Report) -> None:
    async def key() -> str:
        return "bench"

    transport = EchoTransport()
    ours = engine_turn(EchoGeminiClient(AiStudioApi(str(control.base_url)), key, transport))
    async with httpx.AsyncClient(base_url=control.base_url, http1=False, http2=True, timeout=120) as client:
        bare = bare_turn(client)
        script(control, ROUNDS, 1)
        figures = await alternate(costing(ours, ROUNDS), costing(bare, ROUNDS), 7)
        report.ratio("processor time a tool round", "us", *figures)
        agents = agent_turn(EchoGeminiClient(AiStudioApi(str(control.base_url)), key, transport))
        figures = await alternate(costing(agents, ROUNDS), costing(bare, ROUNDS), 7)
        report.ratio("processor time a tool round of a sub-agent", "us", *figures)
        script(control, 0, PACED_CHUNKS, delay_ms=3)
        figures = await alternate(costing(ours, PACED_CHUNKS), costing(bare, PACED_CHUNKS), 5)
        report.ratio("processor time a chunk, arriving one by one", "us", *figures, at_most=1.5)
        script(control, 0, BURST_CHUNKS)
        figures = await alternate(costing(ours, BURST_CHUNKS), costing(bare, BURST_CHUNKS), 7)
        report.ratio("processor time a chunk, arriving all at once", "us", *figures)
        script(control, CHAT_ROUNDS, 20)
        figures = await alternate(lasting(ours, CHATS), lasting(bare, CHATS), 3)
        report.ratio(f"{CHATS} chats at once, {CHAT_ROUNDS} tool rounds each", "ms", *figures, at_most=1.5)
    await transport.aclose()


def main() -> int:
    json_file = json_option(__doc__ or "")
    report = Report("The turn engine beside a hand-written loop")
    with simulator() as control:
        asyncio.run(measure(control, report))
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main())
