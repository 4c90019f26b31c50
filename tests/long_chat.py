"""A temporary chat in process: the real pipe, records and simulator; Open WebUI's tables are absent."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from echo_core.compaction_records import CompactionState
from echo_core.records import Shadow
from echo_runtime import PipeCall, _owui, _owui_prompts
from echo_runtime._owui_prompts import KeptTemplates
from echo_runtime.compaction import FILTER
from echo_runtime.compaction_store import compaction_state
from echo_runtime.stages import STAGES
from echo_runtime.turn_context import OWN_CONTEXT
from turn_kit import Json, Kit

CHAT = "local:socket"
#: Small, so that a chat grows full in few turns.
SIZE_TOKENS = 32_768


def without_tables(patch: pytest.MonkeyPatch) -> None:
    """Open WebUI has no prompts, no switches and no other chats."""

    async def nothing(*_: Any, **__: Any) -> KeptTemplates:
        return KeptTemplates(model="", chat="", folder="")

    async def no_switches(*_: Any) -> Json:
        return {}

    patch.setattr(_owui_prompts, "of_user", nothing)
    patch.setattr(_owui, "function_switches", no_switches)


class LongChat:
    """One chat, turn by turn.

    Args:
        kit: the pipe.
        size_tokens: ECHO_MAX_CONTEXT_SIZE.
    """

    def __init__(self, kit: Kit, *, size_tokens: int = SIZE_TOKENS, native: Any = None) -> None:
        self.kit = kit
        self.size_tokens = size_tokens
        self.native = native
        self.messages: list[Json] = []
        self.count = 0
        self.events: list[Json] = []

    def call(self, message_id: str, *, answer_id: str, metadata: Json | None = None) -> PipeCall:
        """The call for an answer to a message that is in `messages`."""
        place = next(n for n, m in enumerate(self.messages) if m["id"] == message_id)
        messages = self.messages[: place + 1]

        async def body() -> Json:
            return {"messages": messages}

        async def emit(event: Json) -> None:
            self.events.append(event)

        plain = [{"role": m["role"], "content": m["content"]} for m in messages]
        told = {"chat_id": CHAT, "message_id": answer_id, "user_message_id": message_id, **(metadata or {})}
        call = self.kit.call(
            plain, native=self.native, valves={"ECHO_MAX_CONTEXT_SIZE": self.size_tokens}, metadata=told, stream=False
        )
        for name in STAGES:
            call.shared.stages[name] = "done" if name in (FILTER, OWN_CONTEXT) else "off"
        request = SimpleNamespace(json=body, headers={})
        return PipeCall(
            body=call.body,
            user=call.user,
            metadata=call.metadata,
            valves=call.valves,
            tools=call.tools,
            request=request,
            event_emitter=emit,
        )

    async def say(self, content: Any, **metadata: Any) -> str:
        """Ask; the answer's text."""
        self.count += 1
        self.messages.append({"id": f"u{self.count}", "role": "user", "content": content})
        return await self.answer(f"u{self.count}", f"a{self.count}", **metadata)

    async def answer(self, message_id: str, answer_id: str, **metadata: Any) -> str:
        """Have a message answered (again), by another answer id."""
        answer = await self.kit.orchestrator.respond(self.call(message_id, answer_id=answer_id, metadata=metadata))
        if not isinstance(answer, dict):
            raise AssertionError(b"".join([piece async for piece in answer.body_iterator]).decode())
        text = answer["choices"][0]["message"]["content"]
        self.messages = [m for m in self.messages if m["id"] != answer_id]
        self.messages.append({"id": answer_id, "role": "assistant", "content": text, "output": []})
        return str(text)

    async def with_store(self, use: Callable[[Any], Any]) -> Any:
        """Something done with the chat's records."""
        call = self.call(self.messages[0]["id"], answer_id="none")
        async with self.kit.orchestrator._stores.open(call, keep_api=False) as store:
            return await use(store)

    async def state(self) -> CompactionState:
        """The chat's compactions."""
        return await self.with_store(compaction_state)

    async def shadow(self, message_id: str) -> Shadow | None:
        """A record."""
        return await self.with_store(lambda store: store.get_message_shadow(message_id))

    def turns(self) -> list[Json]:
        """What the simulator got to answer the user, oldest first."""
        rows = [r for r in self.kit.sim.requests() if "streamGenerateContent" in r["path"]]
        bad = [r for r in self.kit.sim.requests() if r["status"] != 200]
        assert not bad, [(r["path"], r["status"], r["body"][-300:]) for r in bad]
        return rows


def contents_of(row: Json) -> str:
    """The serialised `contents` of a request, without the last bracket."""
    body = json.loads(row["body"])
    return json.dumps(body["contents"], ensure_ascii=False)[:-1]
