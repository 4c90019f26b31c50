"""The whole pipe in process: real records, the real client, the simulator; only Open WebUI is absent."""

import json
import runpy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from echo_core.ports import Clock
from echo_http import SystemClock
from echo_memory import EdgeEngine, PassageStore
from echo_paths import EchoPaths
from echo_runtime import PipeCall
from echo_runtime.composition import Services, assemble
from echo_runtime.document_desk import DocumentDesk
from echo_runtime.keys import KeyRing
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.memory_redaction import redact_memories
from echo_runtime.orchestrator import Orchestrator
from echo_runtime.remembering import Remembering
from echo_runtime.turn_index import TurnIndex
from echo_state_manager import SessionStores
from echo_state_manager.crypto import master_secret
from echo_state_manager.identity import IdentityStore
from echo_state_manager.memories import MemoryStores
from passage_kit import WordEmbedder
from sim_fixture import RunningSim

Json = dict[str, Any]


_PIPE = runpy.run_path(str(Path(__file__).parents[1] / "pipes" / "echo_orchestrator.py"))["Pipe"]
KEY = {"GEMINI_API_KEY": "test-key-0123456789"}


def entry(function: Callable[..., Any], **properties: Json) -> Json:
    """An entry of `__tools__` as Open WebUI makes one."""
    parameters = {"type": "object", "properties": properties}
    spec = {"name": function.__name__, "description": function.__doc__ or "", "parameters": parameters}
    return {"callable": function, "spec": spec, "tool_id": "kit"}


class Kit:
    """One data folder, one simulator, and whoever calls.

    Args:
        orchestrator: over real adapters.
        sim: what answers.
        turns: the chats in the session memory, None where they are not.
        memories: what is remembered of users.
    """

    def __init__(
        self, orchestrator: Orchestrator, sim: RunningSim, memories: MemoryDesk, turns: TurnIndex | None = None
    ) -> None:
        self.orchestrator = orchestrator
        self.memories = memories
        self.sim = sim
        self.turns = turns

    def call(
        self,
        messages: list[Json],
        *,
        user: str = "ada",
        native: Any = None,
        valves: Json | None = None,
        own_valves: Json | None = None,
        metadata: Json | None = None,
        **body: Any,
    ) -> PipeCall:
        """A call of somebody without a chat.

        Args:
            native: `__tools__`.
            own_valves: the user's own.
            metadata: Open WebUI's.
            body: more keys of the request; `tools` are the caller's own.
        """
        set_up = {"GEMINI_BASE_URL": self.sim.base_url, "TOOL_TIMEOUT_S": 5, "MODEL_SELECTION": "FLASH"}
        told = {**set_up, **(valves or {})}
        return PipeCall(
            body={"messages": messages, "model": "echo", **body},
            user={"id": user, "role": "user", "valves": _PIPE.UserValves(**(own_valves or {}))},
            metadata=metadata or {},
            valves=_PIPE.Valves(**told),
            tools=native,
        )

    async def complete(self, messages: list[Json], **given: Any) -> Json:
        """The `chat.completion` object; a failure that comes as a response is decoded."""
        answer = await self.orchestrator.respond(self.call(messages, stream=False, **given))
        if isinstance(answer, dict):
            return answer
        return {"status": answer.status_code, **json.loads(b"".join([piece async for piece in answer.body_iterator]))}

    async def stream(self, messages: list[Json], **given: Any) -> list[Json]:
        """The decoded `data:` lines of a stream, `[DONE]` left out."""
        answer = await self.orchestrator.respond(self.call(messages, stream=True, **given))
        text = b"".join([piece async for piece in answer.body_iterator]).decode()
        lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        assert lines[-1] == "[DONE]"
        return [json.loads(line) for line in lines[:-1]]

    @property
    def remembering(self) -> Remembering:
        """What brings memories to turns and turns to memory."""
        found = self.orchestrator._contexts.remembering
        assert found is not None
        return found

    def bodies(self) -> list[Json]:
        """What the simulator was asked, oldest first; every one of them was a request that Gemini takes."""
        requests = [r for r in self.sim.requests() if "GenerateContent" in r["path"]]
        assert all(r["status"] == 200 for r in requests), [r for r in requests if r["status"] != 200]
        return [json.loads(request["body"]) for request in requests]


@asynccontextmanager
async def pipe(
    folder: Path, sim: RunningSim, *, clock: Clock | None = None, passages: PassageStore | None = None
) -> AsyncIterator[Kit]:
    """A pipe over the records of one folder; opened again on the same folder it has restarted.

    Args:
        passages: where chats are indexed, None = they are not.
    """
    clock, paths = clock or SystemClock(), EchoPaths(folder)
    identity = IdentityStore(paths.identity_db, master_secret({"WEBUI_SECRET_KEY": "kit"}), clock)
    sessions = SessionStores(paths, clock)
    vectors = passages or PassageStore(EdgeEngine(paths.qdrant_dir), WordEmbedder())
    turns = None if passages is None else TurnIndex(lambda: passages, sessions, paths)
    services = Services(
        clock=clock,
        paths=paths,
        identity=identity,
        sessions=sessions,
        keys=KeyRing(identity, KEY),
        documents=DocumentDesk(paths),
        memories=MemoryDesk(MemoryStores(paths, clock), lambda: vectors, clock, partial(redact_memories, sessions)),
        turns=turns,
    )
    orchestrator = assemble(services, {})
    yield Kit(orchestrator, sim, services.memories, turns)
    if turns is not None:
        await turns.forget()
    await orchestrator.aclose()
    await services.memories.close()
    await vectors.close()
    await sessions.close()
    await identity.close()
