"""Whatever happens to a chat between turns, what is kept of the turn before changes no byte that is sent or stored."""

import asyncio
import json
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule

from echo_core.heads import MODEL_MARK, USER_MARK, ChatRows, Heads
from echo_core.overlay import OverlayEntry, overlay_json
from echo_core.records import Seal, Shadow, ShadowState, VersionLock
from echo_core.sealing import seal_shadow, signature_rows
from echo_core.settled_prefix import SettledPrefix
from echo_paths import EchoPaths
from echo_protocol import Catalogue, fingerprint, join_contents
from echo_runtime import PipeCall, _owui
from echo_runtime._owui import RowText
from echo_runtime.history import HistoryBuilder, Rebuilt
from echo_runtime.scopes import Reader, Scopes
from echo_runtime.stores import ChatStores
from echo_state_manager import SessionStores
from scripted import FakeClock

T = TypeVar("T")

CHAT, ADA, BOB = "chat", "ada", "bob"
CATALOGUE = Catalogue.load()
MODEL = CATALOGUE.resolve("MODEL_FLASH", "ai_studio")


@dataclass(frozen=True)
class Row:
    """A row of Open WebUI's table."""

    parent: str
    role: str
    text: str
    updated_at_s: int
    writer: str
    done: bool = True


class TableChain:
    """A chain out of a copy of the table, as `SavedChain` reads it from the database."""

    def __init__(self, rows: Mapping[str, Row], end: str) -> None:
        self._rows = dict(rows)
        self._end = end

    async def heads(self) -> Heads:
        rows = self._rows.values()
        marks = [f"{USER_MARK if row.role == 'user' else MODEL_MARK}{row.updated_at_s}" for row in rows]
        parents, writers = [row.parent for row in rows], [row.writer for row in rows]
        return ChatRows(list(self._rows), parents, marks, writers).chain(self._end)

    async def texts(self, message_ids: Sequence[str]) -> Mapping[str, RowText]:
        rows = {message_id: self._rows[message_id] for message_id in message_ids}
        return {key: RowText(row.text, [], [], row.done) for key, row in rows.items()}


class Forgetful(HistoryBuilder):
    """Settles every message in every turn."""

    def _prefix(self, *_: Any) -> SettledPrefix:
        return SettledPrefix()


class Side:
    """Records of the chat in a folder of their own, with two processes at work on them."""

    def __init__(self, builder: type[HistoryBuilder], clock: FakeClock) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._builder = builder
        self._clock = clock
        self.processes = [self._opened(), self._opened()]

    def _opened(self) -> SessionStores:
        return SessionStores(EchoPaths(Path(self._folder.name)), self._clock)

    async def restart(self, process: int) -> None:
        await self.processes[process].close()
        self.processes[process] = self._opened()

    async def close(self) -> None:
        for stores in self.processes:
            await stores.close()
        self._folder.cleanup()

    async def rebuild(self, process: int, call: PipeCall, chain: TableChain, signer: str) -> Rebuilt:
        sessions = self.processes[process]
        scopes = Scopes(CATALOGUE)
        builder = self._builder(ChatStores(sessions, self._clock), scopes, self._clock)
        async with sessions.open(ADA, CHAT) as store:
            return await builder.rebuild(call, store, chain, Reader(MODEL, signer))

    async def work(self, process: int, method: str, *arguments: Any) -> Any:
        async with self.processes[process].open(ADA, CHAT) as store:
            return await getattr(store, method)(*arguments)


processes = st.integers(0, 1)
words = st.sampled_from(["", "one", "two", "one  two", "three <b>"])
pauses = st.sampled_from([0, 1, 2, 5])
signers = st.sampled_from(["ai_studio:a", "ai_studio:a", "ai_studio:a", "ai_studio:b"])
states: st.SearchStrategy[ShadowState] = st.sampled_from(["complete", "complete", "complete", "stopped", "failed"])


class ChatMachine(RuleBasedStateMachine):
    """A chat is used, edited, branched, copied over by others; each turn is prepared with and without what was kept."""

    messages = Bundle("messages")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.rows: dict[str, Row] = {}
        self.count = 0
        self.sides = (Side(HistoryBuilder, self.clock), Side(Forgetful, self.clock))
        self.patch = pytest.MonkeyPatch()
        for name, function in (
            ("chat_origins", self._nothing),
            ("sister_chats", self._nothing),
            ("chat_owner", self._owner),
            ("fill_row", self._fill_row),
            ("user_names", self._names),
        ):
            self.patch.setattr(_owui, name, function)

    async def _nothing(self, *_: str) -> list[str]:
        return []

    async def _owner(self, _: str) -> str:
        return ADA

    async def _names(self, user_ids: Sequence[str]) -> dict[str, str]:
        return {user_id: user_id.title() for user_id in user_ids}

    async def _fill_row(self, chat_id: str, message_id: str, text: str, output: Any) -> None:
        self.rows[message_id] = replace(self.rows[message_id], text=text, done=True, updated_at_s=self.now_s)

    @property
    def now_s(self) -> int:
        return int(self.clock.now_s())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def both(self, process: int, method: str, *arguments: Any) -> None:
        for side in self.sides:
            self.run(side.work(process, method, *arguments))

    def teardown(self) -> None:
        for side in self.sides:
            self.run(side.close())
        self.runner.close()
        self.patch.undo()

    def new_id(self) -> str:
        self.count += 1
        return f"m{self.count}"

    def prepared(self, process: int, signer: str, user: str, question: str, answer: str, **ids: str) -> Rebuilt:
        metadata = {"chat_id": CHAT, "message_id": answer, "user_message_id": question, **ids}
        body = {"messages": [{"role": "user", "content": self.rows[question].text}] if question in self.rows else []}
        call = PipeCall(body=body, user={"id": user}, metadata=metadata, valves=SimpleNamespace(), tools={})
        chain = TableChain(self.rows, call.chain_end)
        kept, without = (self.run(side.rebuild(process, call, chain, signer)) for side in self.sides)
        assert join_contents(kept.contents) == join_contents(without.contents)
        assert replace(kept, contents=()) == replace(without, contents=())
        self.same_records(process)
        return kept

    def same_records(self, process: int) -> None:
        ids = [*self.rows, *(f"{message_id}#shared" for message_id in self.rows)]
        kept, without = (self.run(side.work(process, "get_message_shadows", ids)) for side in self.sides)
        assert kept == without

    def answer(
        self, process: int, question: str, answer: str, text: str, rebuilt: Rebuilt, state: ShadowState, told: bool
    ) -> None:
        parts = [{"text": text}, {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}]
        response = {"functionResponse": {"name": "f", "response": {"output": "ok"}}}
        contents: list[Any] = [{"role": "model", "parts": parts}, {"role": "user", "parts": [response]}]
        if state == "complete":
            contents.append({"role": "model", "parts": [{"text": "!"}]})
        shadow = Shadow(
            message_id=answer,
            chat_id=CHAT,
            role="model",
            contents_json=json.dumps(contents).encode(),
            overlay_json=overlay_json([OverlayEntry(notes=(f"<artifact>{answer}</artifact>",))] if told else []),
            visible_text=text,
            state=state,
            backend="ai_studio:a",
            model_id=MODEL.id,
        )
        sealed = seal_shadow(shadow, rebuilt.parent_hash)
        self.both(process, "seal", Seal(shadow=sealed, signatures=signature_rows(sealed, "gemini:ai_studio:a")))
        shown = text if state == "complete" else text[:2]
        self.rows[answer] = Row(question, "assistant", shown, self.now_s, ADA)

    @rule(
        target=messages,
        tip=st.none() | messages,
        text=words,
        process=processes,
        signer=signers,
        user=st.sampled_from([ADA] * 9 + [BOB]),
        state=states,
        told=st.booleans(),
        pause_s=pauses,
    )
    def ask(
        self,
        tip: str | None,
        text: str,
        process: int,
        signer: str,
        user: str,
        state: ShadowState,
        told: bool,
        pause_s: int,
    ) -> Any:
        """A question below the newest message, or below any other, and its answer."""
        question, answer = self.new_id(), self.new_id()
        newest = next(reversed(self.rows), "")
        self.rows[question] = Row(tip if tip in self.rows else newest, "user", text, self.now_s, user)
        rebuilt = self.prepared(process, signer, user, question, answer)
        self.clock.at_s += pause_s
        self.answer(process, question, answer, text, rebuilt, state, told)
        return multiple(question, answer)

    @rule(target=messages, count=st.integers(2, 4), process=processes, pause_s=st.sampled_from([1, 5]))
    def talk(self, count: int, process: int, pause_s: int) -> Any:
        """Some ordinary turns."""
        ids: list[str] = []
        for _ in range(count):
            question, answer = self.new_id(), self.new_id()
            self.rows[question] = Row(next(reversed(self.rows), ""), "user", f"ask {question}", self.now_s, ADA)
            rebuilt = self.prepared(process, "ai_studio:a", ADA, question, answer)
            self.clock.at_s += pause_s
            self.answer(process, question, answer, f"say {answer}", rebuilt, "complete", told=False)
            self.clock.at_s += pause_s
            ids += [question, answer]
        return multiple(*ids)

    @rule(target=messages, message=messages, process=processes, state=states, text=words)
    def answer_again(self, message: str, process: int, state: ShadowState, text: str) -> Any:
        """The same question once more: a sibling of the answer."""
        if message not in self.rows or self.rows[message].role != "user":
            return multiple()
        answer = self.new_id()
        rebuilt = self.prepared(process, "ai_studio:a", ADA, message, answer)
        self.answer(process, message, answer, text, rebuilt, state, told=True)
        return answer

    @rule(message=messages, process=processes)
    def go_on_with(self, message: str, process: int) -> None:
        """More of an answer that is there already; this one adds nothing."""
        row = self.rows.get(message)
        if row is not None and row.role == "assistant":
            self.prepared(process, "ai_studio:a", ADA, row.parent, message, assistant_message_id=message)

    @rule(message=messages, text=words, pause_s=pauses)
    def edit(self, message: str, text: str, pause_s: int) -> None:
        """In place, perhaps within the second in which the row was written before."""
        if message in self.rows:
            self.clock.at_s += pause_s
            self.rows[message] = replace(self.rows[message], text=text, updated_at_s=self.now_s)

    @rule(message=messages)
    def touch(self, message: str) -> None:
        """Open WebUI writes the row again as it was."""
        if message in self.rows:
            self.rows[message] = replace(self.rows[message], updated_at_s=self.now_s)

    @rule(message=messages, orphans=st.booleans())
    def delete(self, message: str, orphans: bool) -> None:
        row = self.rows.pop(message, None)
        if row is not None and not orphans:
            children = {key: child for key, child in self.rows.items() if child.parent == message}
            self.rows |= {key: replace(child, parent=row.parent) for key, child in children.items()}

    @rule(message=messages, process=processes, provisional=st.booleans())
    def lock(self, message: str, process: int, provisional: bool) -> None:
        """What the outlet sees is locked, by either process."""
        if message in self.rows:
            shown = fingerprint(self.rows[message].text)
            self.both(
                process,
                "lock",
                message,
                VersionLock(updated_at_s=self.now_s, fingerprint=shown, provisional=provisional),
            )

    @rule(message=messages, process=processes, text=words)
    def write_elsewhere(self, message: str, process: int, text: str) -> None:
        """Somebody else seals a message with other content where it hangs; its lock stays."""
        now = self.run(self.sides[0].work(process, "get_message_shadow", message))
        if now is not None:
            contents = json.dumps([{"role": now.role, "parts": [{"text": text}]}]).encode()
            self.both(process, "seal", Seal(shadow=seal_shadow(replace(now, contents_json=contents), now.parent_hash)))

    @rule(process=processes)
    def restart(self, process: int) -> None:
        for side in self.sides:
            self.run(side.restart(process))

    @rule(pause_s=pauses)
    def wait(self, pause_s: int) -> None:
        self.clock.at_s += pause_s


TestChat = ChatMachine.TestCase
TestChat.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=25)


def test_an_ordinary_turn_settles_only_the_last_messages() -> None:
    state = ChatMachine()
    try:
        for _ in range(3):
            state.talk(count=4, process=0, pause_s=5)

        async def kept() -> SettledPrefix | None:
            async with state.sides[0].processes[0].open(ADA, CHAT) as store:
                return store.settled_prefix()

        prefix = state.run(kept())
        assert prefix is not None
        assert list(prefix.ids) == list(state.rows)[:20]  # 12 turns: the last two await their final lock
    finally:
        state.teardown()
