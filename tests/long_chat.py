"""A saved chat that grows long, in process: the real pipe, records and simulator; Open WebUI's tables are played."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chat_kit import Host
from echo_core.compaction_records import CompactionState
from echo_core.heads import MODEL_MARK, USER_MARK
from echo_core.records import Shadow
from echo_memory import PassageStore
from echo_runtime import PipeCall
from echo_runtime.compaction import FILTER
from echo_runtime.compaction_store import change_state, compaction_state
from echo_runtime.context import Prepared
from echo_runtime.stages import STAGES
from echo_runtime.turn_context import OWN_CONTEXT, MemoryUse
from echo_runtime.valley import FILTER as RECALL_FILTER
from sim_fixture import RunningSim
from turn_kit import Json, Kit, pipe

CHAT = "chat"
#: The filters that are on.
ON = (FILTER, OWN_CONTEXT, RECALL_FILTER)
#: Small, so that a chat grows full in few turns.
SIZE_TOKENS = 32_768


@asynccontextmanager
async def long_chat(
    folder: Path,
    sim: RunningSim,
    patch: pytest.MonkeyPatch,
    *,
    native: Any = None,
    passages: PassageStore | None = None,
) -> AsyncIterator["LongChat"]:
    """A chat over the records of a folder; indexed where there are `passages`."""
    async with pipe(folder, sim, passages=passages) as kit:
        host = Host()
        host.play(patch, kit)
        yield LongChat(kit, host, native=native)


class LongChat:
    """One chat, turn by turn.

    Args:
        kit: the pipe.
        host: where the rows are.
        size_tokens: ECHO_MAX_CONTEXT_SIZE.
    """

    def __init__(self, kit: Kit, host: Host, *, size_tokens: int = SIZE_TOKENS, native: Any = None) -> None:
        self.kit = kit
        self.host = host
        self.size_tokens = size_tokens
        self.native = native
        self.end = ""
        self.count = 0
        self.events: list[Json] = []
        #: More valves of the pipe, and filters that are switched off.
        self.valves: Json = {}
        self.off: tuple[str, ...] = ()
        #: What the turns may do with their user's memory.
        self.memory = MemoryUse()

    def call(self, message_id: str, *, answer_id: str, metadata: Json | None = None) -> PipeCall:
        """The call for an answer to a message."""

        async def emit(event: Json) -> None:
            self.events.append(event)

        plain = [{"role": "user", "content": self.host.rows[message_id][3]}]
        told = {"chat_id": CHAT, "message_id": answer_id, "user_message_id": message_id, **(metadata or {})}
        call = self.kit.call(
            plain,
            native=self.native,
            valves={"ECHO_MAX_CONTEXT_SIZE": self.size_tokens, **self.valves},
            metadata=told,
            stream=False,
        )
        for name in STAGES:
            call.shared.stages[name] = "done" if name in ON and name not in self.off else "off"
        call.shared.memory = self.memory
        return replace(call, event_emitter=emit)

    async def say(self, content: Any, **metadata: Any) -> str:
        """Ask; the answer's text."""
        self.count += 1
        self.host.put(f"u{self.count}", self.end, USER_MARK, content)
        return await self.answer(f"u{self.count}", f"a{self.count}", **metadata)

    async def answer(self, message_id: str, answer_id: str, **metadata: Any) -> str:
        """Have a message answered (again), by another answer id."""
        answer = await self.kit.orchestrator.respond(self.call(message_id, answer_id=answer_id, metadata=metadata))
        if not isinstance(answer, dict):
            raise AssertionError(b"".join([piece async for piece in answer.body_iterator]).decode())
        text = str(answer["choices"][0]["message"]["content"])
        self.host.put(answer_id, message_id, MODEL_MARK, text)
        self.end = answer_id
        return text

    async def prepared(self, content: Any) -> Prepared:
        """What the next question would send."""
        self.count += 1
        self.host.put(f"u{self.count}", self.end, USER_MARK, content)
        call = self.call(f"u{self.count}", answer_id=f"a{self.count}")
        runtime = self.kit.orchestrator
        endpoint = await runtime._backends.for_call(call, runtime._settings(call))
        async with runtime._stores.open(call, keep_api=False) as store:
            return await runtime.prepare_context(call, store, endpoint.signer, endpoint.client)

    async def with_store(self, use: Callable[[Any], Any]) -> Any:
        """Something done with the chat's records."""
        call = self.call("u1", answer_id="none")
        async with self.kit.orchestrator._stores.open(call, keep_api=False) as store:
            return await use(store)

    async def pin(self, *message_ids: str) -> None:
        """Pin messages beside those that are pinned already."""
        await self.with_store(
            lambda store: change_state(store, lambda state: replace(state, pins=(*state.pins, *message_ids)))
        )

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
