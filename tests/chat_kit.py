"""A saved chat in process: ECHO's filters, pipe, records and client, and the simulator. Only Open WebUI is played."""

import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from echo_constants import EchoError
from echo_core.heads import MODEL_MARK, USER_MARK, ChatRows
from echo_runtime import _owui, _owui_prompts, _owui_rights, stages
from echo_runtime._owui import FunctionSwitch, RowText
from echo_runtime._owui_prompts import KeptTemplates
from echo_runtime.environment import Machine
from echo_runtime.health import Health
from echo_runtime.model_record import ECHO_MODEL_ID
from live.bodies import Body
from store_kit import ManualClock
from turn_kit import Json, Kit

FILTERS = Path(__file__).parents[1] / "filters"
OWNER = "ada"


class Sound(Health):
    """A data folder with nothing wrong."""

    def __init__(self) -> None:
        """Look at nothing."""

    def finding(self) -> EchoError | None:
        return None


class Host:
    """What Open WebUI would hold, by its own names.

    Args:
        clock: the time that the stages see.
    """

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.rows: dict[str, tuple[str, str, str, Any]] = {}
        self.memories: list[str] = []
        self.prompt = ""
        self.switches: dict[str, FunctionSwitch] = {}
        self.origins: list[str] = []

    def put(self, message_id: str, parent: str, mark: str, content: Any) -> None:
        self.rows[message_id] = (parent, mark, "1700000000", content)

    def play(self, patch: pytest.MonkeyPatch, kit: Kit) -> None:
        """Stand in for Open WebUI's tables."""

        async def load_rows(chat_id: str) -> ChatRows:
            rows = self.rows.items()
            return ChatRows(
                list(self.rows), [r[0] for _, r in rows], [r[1] + r[2] for _, r in rows], [OWNER for _ in rows]
            )

        async def load_texts(chat_id: str, ids: Sequence[str]) -> dict[str, RowText]:
            return {m: RowText(self.rows[m][3], [], []) for m in ids if m in self.rows}

        async def written_at(chat_id: str, ids: Sequence[str]) -> dict[str, int]:
            return {m: int(self.rows[m][2]) for m in ids if m in self.rows}

        async def machine() -> Machine:
            return Machine(self.clock, Sound())

        async def orchestrator() -> Any:
            return kit.orchestrator

        def gives(value: Any) -> Any:
            async def given(*_: Any, **__: Any) -> Any:
                return value() if callable(value) else value

            return given

        played: Mapping[Any, Mapping[str, Any]] = {
            _owui: {
                "load_rows": load_rows,
                "load_texts": load_texts,
                "written_at": written_at,
                "chat_owner": gives(OWNER),
                "chat_origins": gives(lambda: list(self.origins)),
                "sister_chats": gives([]),
                "function_switches": gives(lambda: self.switches),
                "user_names": gives({}),
                "approval_mode": gives("full"),
                "fill_row": gives(None),
            },
            _owui_rights: {"may_use_feature": gives(True), "search_engine": gives("")},
            _owui_prompts: {
                "of_user": gives(lambda: KeptTemplates(model=self.prompt, chat="", folder="")),
                "memories": gives(lambda: list(self.memories)),
            },
            stages: {"machine": machine, "orchestrator": orchestrator},
        }
        for module, functions in played.items():
            for name, function in functions.items():
                patch.setattr(module, name, function)


class SavedChat:
    """Asks in one chat as Open WebUI would: filters by priority, then the pipe; then the answer's row.

    Args:
        kit: the pipe.
        host: where the rows are.
    """

    def __init__(self, kit: Kit, host: Host, chat_id: str = "chat") -> None:
        self.kit = kit
        self.host = host
        self.chat_id = chat_id
        self.end = ""
        self.asked = 0
        self.extra: Json = {"variables": {}, "features": {"memory": True}}
        self.user: Json = {"id": OWNER, "name": "Ada", "role": "user"}
        self.filters: Sequence[Any] = installed_filters()

    async def ask(self, words: str = "", *, native: Any = None, answer_id: str = "", **valves: Any) -> str:
        """Put a question and give the text of its answer; a failure is text, too."""
        self.asked += 1
        question, answer = f"{self.chat_id}-q{self.asked}", answer_id or f"{self.chat_id}-a{self.asked}"
        words = words or "Hello."
        self.host.put(question, self.end, USER_MARK, words)
        return await self.answer(question, answer, words, native=native, **valves)

    async def answer(self, question: str, answer: str, words: str, *, native: Any = None, **valves: Any) -> str:
        """Have a question answered, for the first time or again."""
        metadata = {
            "chat_id": self.chat_id,
            "message_id": answer,
            "user_message_id": question,
            "session_id": "tab",
            "user_message": {"id": question, "content": words, "files": []},
            "model": {"id": ECHO_MODEL_ID},
            **self.extra,
        }
        call = self.kit.call(
            [{"role": "user", "content": words}],
            user=OWNER,
            native=native or {},
            valves=valves,
            metadata=metadata,
            stream=True,
        )
        for each in self.filters:
            await each.inlet(
                body=call.body, __user__=self.user, __metadata__=call.metadata, __model__={"id": ECHO_MODEL_ID}
            )
        text: list[str] = []
        failed = ""
        async for event in _events(self.kit, call):
            if event.get("type") == "response.output_text.delta":
                text.append(event["delta"])
            failed = failed or str(event.get("error") or "")
        self.host.put(answer, question, MODEL_MARK, "".join(text))
        self.end = answer
        return failed or "".join(text)

    def bodies(self) -> list[Body]:
        """What the simulator was asked, oldest first."""
        return [Body(record) for record in self.kit.sim.requests() if "streamGenerateContent" in record["path"]]


async def _events(kit: Kit, call: Any) -> Any:
    import json

    answer = await kit.orchestrator.respond(call)
    if isinstance(answer, dict):
        yield answer
        return
    async for piece in answer.body_iterator:
        for line in piece.decode().split("\n\n"):
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def installed_filters() -> list[Any]:
    """ECHO's filters with an inlet, in the order in which Open WebUI runs them."""
    filters = [runpy.run_path(str(path))["Filter"]() for path in FILTERS.glob("*.py")]
    return sorted((f for f in filters if hasattr(f, "inlet")), key=lambda f: f.valves.priority)
