"""Each reason for another beginning of a request is counted; only Open WebUI's tables are played."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from echo_core.heads import Heads, RowHead
from echo_core.records import Seal, Shadow
from echo_core.sealing import seal_shadow
from echo_paths import EchoPaths
from echo_protocol import Catalogue
from echo_runtime import PipeCall, _owui
from echo_runtime._owui import RowText
from echo_runtime.breaks import BREAKS
from echo_runtime.history import ASKED_KEY, HistoryBuilder
from echo_runtime.scopes import Reader, Scopes
from echo_runtime.stores import ChatStores
from echo_state_manager import MemoryShadowStore, SessionStores
from scripted import FakeClock


class Rows:
    """A chat's rows, and what they show."""

    def __init__(self, *message_ids: str) -> None:
        self.shown = {message_id: f"Text of {message_id}." for message_id in message_ids}
        self.edited: set[str] = set()

    async def heads(self) -> Heads:
        rows = ((m, "user" if m[0] in "uv" else "model", 2 if m in self.edited else 1) for m in self.shown)
        return Heads.of(RowHead(m, role, at_s, "u") for m, role, at_s in rows)  # type: ignore[arg-type]

    async def texts(self, message_ids: Sequence[str]) -> Mapping[str, RowText]:
        return {m: RowText(self.shown[m], [], []) for m in message_ids}


class Chat:
    """Asks in a chat with a question at the end of its rows, and seals an answer."""

    def __init__(self, folder: Path) -> None:
        self.store = MemoryShadowStore()
        clock = FakeClock()
        catalogue = Catalogue.load()
        self.model = catalogue.resolve("MODEL_FLASH", "ai_studio")
        stores = ChatStores(SessionStores(EchoPaths(folder), clock), clock)
        self.builder = HistoryBuilder(stores, Scopes(catalogue), clock)

    async def ask(self, rows: Rows, answer_id: str, signer: str = "key") -> set[str]:
        """The reasons that this question added."""
        question_id = list(rows.shown)[-1]
        metadata = {"chat_id": "c", "user_message_id": question_id, "message_id": answer_id}
        body = {"messages": [{"role": "user", "content": rows.shown[question_id]}]}
        call = PipeCall(body=body, user={"id": "u"}, metadata=metadata, valves=SimpleNamespace(), tools={})
        before = dict(BREAKS.counts())
        built = await self.builder.rebuild(call, self.store, rows, Reader(self.model, signer))
        counted = {reason for reason, count in BREAKS.counts().items() if count != before.get(reason, 0)}
        text = f"Text of {answer_id}."
        part = f'{{"text":"{text}","thoughtSignature":"c2ln"}}'
        shadow = Shadow(
            message_id=answer_id,
            chat_id="c",
            role="model",
            contents_json=f'[{{"role":"model","parts":[{part}]}}]'.encode(),
            visible_text=text,
            backend=signer,
            model_id=self.model.id,
        )
        shadow = seal_shadow(shadow, built.parent_hash)
        await self.store.seal(Seal(shadow=shadow, settings={ASKED_KEY: question_id}))
        rows.shown[answer_id] = text
        return counted


@pytest.fixture
async def chat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Chat:
    async def none(*_: str) -> list[str]:
        return []

    async def nobody(chat_id: str) -> None:
        return None

    monkeypatch.setattr(_owui, "chat_owner", nobody)
    monkeypatch.setattr(_owui, "chat_origins", none)
    monkeypatch.setattr(_owui, "sister_chats", none)
    return Chat(tmp_path)


async def grown(chat: Chat) -> Rows:
    """A chat of two turns and a third question, without a break so far."""
    rows = Rows("u1")
    assert await chat.ask(rows, "a1") == set()
    rows.shown["u2"] = "Second."
    assert await chat.ask(rows, "a2") == set()
    rows.shown["u3"] = "Third."
    return rows


async def test_a_chat_that_only_grows_has_no_break(chat: Chat) -> None:
    assert await chat.ask(await grown(chat), "a3") == set()


async def test_an_edit_is_one(chat: Chat) -> None:
    rows = await grown(chat)
    rows.shown["a1"] = "Other words."
    rows.edited.add("a1")
    assert await chat.ask(rows, "a3") == {"edit"}
    rows.shown["u4"] = "Fourth."
    assert await chat.ask(rows, "a4") == set()


async def test_a_deletion_is_one(chat: Chat) -> None:
    rows = await grown(chat)
    del rows.shown["u1"], rows.shown["a1"]
    assert await chat.ask(rows, "a3") == {"delete"}


async def test_a_branch_is_one_and_another_answer_is_none(chat: Chat) -> None:
    rows = await grown(chat)
    await chat.ask(rows, "a3")
    del rows.shown["a3"]
    assert await chat.ask(rows, "b3") == set()
    for message_id in ("u3", "b3"):
        del rows.shown[message_id]
    rows.shown["v3"] = "Third, otherwise."
    assert await chat.ask(rows, "c3") == {"branch"}


async def test_a_message_that_nobody_knows_is_one(chat: Chat) -> None:
    rows = await grown(chat)
    rows.shown = {"u1": rows.shown["u1"], "a1": rows.shown["a1"], "u9": "New.", "a9": "Foreign.", "u3": "Third."}
    assert "cold_recovery" in await chat.ask(rows, "a3")


async def test_another_key_is_one_while_answers_of_the_former_one_are_last(chat: Chat) -> None:
    rows = await grown(chat)
    assert await chat.ask(rows, "a3", signer="other key") == {"scope"}
    rows.shown["u4"] = "Fourth."
    assert await chat.ask(rows, "a4", signer="other key") == set()
