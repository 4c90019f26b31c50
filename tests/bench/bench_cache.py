"""What Google's prefix cache is given: the cached share of a 20-turn chat by the simulator's accounting, beside the
largest share that any client could reach with the same conversation, and why a prefix broke where somebody broke it.
"""

import asyncio
import re
import sys
from typing import Any

import httpx
from _chats import USER_ID, message_id
from _harness import Report, json_option, open_webui_tables
from bench_pipe import VALVES

TURNS = 20
CHAT_ID = "bench-cache"
QUESTION = "Tell me about the sea, in some detail. " * 12


class Conversation:
    """A chat in Open WebUI's tables that is asked by the real pipe."""

    def __init__(self) -> None:
        self._rows = 0
        self.tools: dict[str, Any] = {}

    async def begin(self) -> None:
        from open_webui.internal.db import get_async_db_context
        from open_webui.models.chats import Chat
        from sqlalchemy import insert

        async with get_async_db_context() as db:
            await db.execute(
                insert(Chat).values(id=CHAT_ID, user_id=USER_ID, title="bench", chat={}, created_at=1, updated_at=1)
            )
            await db.commit()

    async def ask(self) -> None:
        """One more question, its answer, and the row that Open WebUI stores of it."""
        from echo_runtime import PipeCall, respond

        question = await self._row("user", f"{self._rows}: {QUESTION}")
        answer = message_id(CHAT_ID, self._rows)
        metadata = {
            "chat_id": CHAT_ID,
            "message_id": answer,
            "user_message_id": question,
            "session_id": "bench",
            "model": {"id": "echo_orchestrator"},
        }
        body = {"stream": True, "messages": [{"role": "user", "content": QUESTION}]}
        call = PipeCall(
            body=body, user={"id": USER_ID, "name": "Ada"}, metadata=metadata, valves=VALVES, tools=self.tools
        )
        async for _ in (await respond(call)).body_iterator:
            pass
        await self._row("assistant", await self._answer(answer))

    async def _answer(self, answer: str) -> str:
        from echo_runtime.composition import services

        async with services().sessions.open(USER_ID, CHAT_ID) as store:
            shadow = await store.get_message_shadow(answer)
            assert shadow is not None and shadow.state == "complete"
            return str(shadow.visible_text)

    async def _row(self, role: str, content: str) -> str:
        from open_webui.internal.db import get_async_db_context
        from open_webui.models.chat_messages import ChatMessage
        from sqlalchemy import insert

        index, self._rows = self._rows, self._rows + 1
        row = {
            "id": f"{CHAT_ID}-{message_id(CHAT_ID, index)}",
            "chat_id": CHAT_ID,
            "user_id": USER_ID,
            "role": role,
            "parent_id": message_id(CHAT_ID, index - 1) if index else None,
            "content": content,
            "done": True,
            "created_at": index,
            "updated_at": index,
        }
        async with get_async_db_context() as db:
            await db.execute(insert(ChatMessage).values(**row))
            await db.commit()
        return message_id(CHAT_ID, index)

    async def edit(self, index: int) -> None:
        """What a user does who rewrites an earlier message in place."""
        from open_webui.internal.db import get_async_db_context
        from open_webui.models.chat_messages import ChatMessage
        from sqlalchemy import update

        async with get_async_db_context() as db:
            row = ChatMessage.id == f"{CHAT_ID}-{message_id(CHAT_ID, index)}"
            await db.execute(update(ChatMessage).where(row).values(content="Rewritten.", updated_at=10_000))
            await db.commit()


def shares(control: httpx.Client) -> tuple[float, float]:
    """(share of the prompt tokens that were cached, share that could have been), both in per cent.

    Each request holds the one before it whole, so that much could be cached from the size on that Google caches at all.
    """
    from echo_workers.gemini_sim.core.models import find_model

    arrived = [r for r in control.get("/__sim__/requests").json() if "streamGenerateContent" in r["path"]]
    version, name = re.findall(r"/(v1\w*)/models/([^:]+):", arrived[0]["path"])[0]
    minimum = find_model(name, version, "generateContent", with_retired=True).cache_min_tokens
    prompts = [request["prompt_tokens"] for request in arrived]
    possible = sum(tokens for tokens in prompts[:-1] if tokens >= minimum)
    cached = sum(request["cached_tokens"] for request in arrived)
    return 100 * cached / sum(prompts), 100 * possible / sum(prompts)


async def run(control: httpx.Client, report: Report) -> None:
    from echo_runtime.breaks import BREAKS

    talk = Conversation()
    await talk.begin()
    for _ in range(TURNS):
        await talk.ask()
    cached, possible = shares(control)
    report.ratio(f"cached share of {TURNS} turns, possible beside it", "%", cached, possible)
    report.figure("prefix breaks in them", "", sum(BREAKS.counts().values()), at_most=0)
    await talk.edit(6)
    await talk.ask()
    talk.tools = {"count": {"callable": len, "spec": {"name": "count", "description": "Count.", "parameters": {}}}}
    await talk.ask()
    for reason, count in BREAKS.counts().items():
        report.figure(f"after an edit and the first tool: {reason}", "", count)


def main() -> int:
    json_file = json_option(__doc__ or "")
    report = Report("What the prefix cache is given")
    with open_webui_tables() as control:
        asyncio.run(run(control, report))
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main())
