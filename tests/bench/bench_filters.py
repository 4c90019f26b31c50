"""What ECHO's filters cost a turn before the pipe is called, beside a chain of as many filters that do nothing.

    python tests/bench/bench_filters.py [--json FILE]

A chat of 100 turns is asked question after question; each is new, so everything is prepared for it. Open WebUI's real
tables and ECHO's real stores are in the way, Open WebUI's own work is not.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from _chats import USER_ID, make_chat, message_id, picture
from _harness import Report, alternate, cpu_us, json_option, open_webui_tables
from bench_pipe import VALVES, installed_filters

TURNS = 100
ROUNDS = 15
ECHO = {"id": "echo_orchestrator"}


class Nothing:
    """A filter that does nothing."""

    async def inlet(self, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        return body


def asked(chat_id: str, turn: int, content: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(body, metadata) of a question, as the first filter gets them."""
    question = message_id(chat_id, 2 * turn)
    metadata = {
        "chat_id": chat_id,
        "message_id": f"{question}/answer",
        "user_message_id": question,
        "session_id": "bench",
        "user_message": {"id": question, "content": "", "files": []},
        "features": {"memory": True},
        "variables": {"{{USER_LANGUAGE}}": "en-US", "{{CURRENT_TIMEZONE}}": "Europe/Paris"},
        "model": ECHO,
    }
    return {"stream": True, "model": ECHO["id"], "messages": [{"role": "user", "content": content}]}, metadata


async def through(filters: list[Any], body: dict[str, Any], metadata: dict[str, Any]) -> None:
    for each in filters:
        user = {"id": USER_ID, "name": "Ada", "role": "user"}
        await each.inlet(body=body, __user__=user, __metadata__=metadata, __model__=ECHO)


class Chat:
    """Asks its next question each time."""

    def __init__(self, chat_id: str, content: Any) -> None:
        self._chat_id = chat_id
        self._content = content
        self._turn = TURNS

    def passing(self, filters: list[Any], clock: Callable[[], float]) -> Callable[[], Awaitable[float]]:
        """What one passage through the filters takes, in the clock's unit."""

        async def passage() -> float:
            self._turn += 1
            body, metadata = asked(self._chat_id, self._turn, self._content)
            began = clock()
            await through(filters, body, metadata)
            return clock() - began

        return passage


def wall_ms() -> float:
    return time.perf_counter() * 1000


def cpu_ms() -> float:
    return cpu_us() / 1000


async def sealed_chat(turns: int) -> str:
    """A chat with records of its first turns, as it has after they were answered."""
    from echo_runtime import PipeCall, respond

    chat_id, messages = await make_chat("text", turns + 4 * ROUNDS + 20)
    body, metadata = asked(chat_id, turns, messages[2 * turns]["content"])
    body["messages"] = messages[: 2 * turns + 1]
    call = PipeCall(body=body, user={"id": USER_ID}, metadata=metadata, valves=VALVES, tools={})
    response = await respond(call)
    async for _ in response.body_iterator:
        pass
    return chat_id


async def run(report: Report) -> None:
    ours = installed_filters()
    empty = [Nothing() for _ in ours]
    chat_id = await sealed_chat(TURNS)
    chat = Chat(chat_id, "And what about this one? " * 8)
    took = await alternate(chat.passing(ours, wall_ms), chat.passing(empty, wall_ms), ROUNDS)
    report.over(f"{len(ours)} filters, {TURNS} turns: wall clock", "ms", *took, at_most=10.0)
    report.ratio("  processor", "ms", *await alternate(chat.passing(ours, cpu_ms), chat.passing(empty, cpu_ms), ROUNDS))
    for each in ours:
        passage = chat.passing([each], wall_ms)
        figures = [await passage() for _ in range(5)]
        name = Path(each.inlet.__code__.co_filename).stem
        report.figure(f"  {name} alone", "ms", statistics.median(figures))
    shown = {"type": "image_url", "image_url": {"url": picture(1)["url"]}}
    passage = Chat(chat_id, [{"type": "text", "text": "What is it?"}, shown]).passing(ours, wall_ms)
    report.figure("  with a picture in the question", "ms", statistics.median([await passage() for _ in range(3)]))


def main() -> int:
    json_file = json_option(__doc__ or "")
    report = Report("ECHO's filters beside filters that do nothing")
    with open_webui_tables():
        asyncio.run(run(report))
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main())
