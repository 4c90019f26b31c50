"""What stands for a row of the chat; only Open WebUI's table is played."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from echo_core.heads import RowHead
from echo_core.records import Seal, Shadow
from echo_core.sealing import seal_shadow
from echo_paths import EchoPaths
from echo_protocol import ROOT_PARENT, Catalogue
from echo_runtime import PipeCall, _owui
from echo_runtime._owui import RowText
from echo_runtime.attachments import Attachments
from echo_runtime.scopes import Scopes
from echo_runtime.settling import Settler
from echo_runtime.stores import ChatStores
from echo_state_manager import MemoryShadowStore, SessionStores
from scripted import FakeClock

TEXT = "The whole answer."
SIGNED = b'[{"role":"model","parts":[{"text":"The whole answer.","thoughtSignature":"c2ln"}]}]'


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    rows: list[str] = []

    async def fill_row(chat_id: str, message_id: str, text: str, output: Any) -> None:
        rows.append(text)

    async def no_copies(*_: str) -> list[str]:
        return []

    monkeypatch.setattr(_owui, "chat_origins", no_copies)
    monkeypatch.setattr(_owui, "sister_chats", no_copies)

    async def owner(chat_id: str) -> str:
        return "u"

    monkeypatch.setattr(_owui, "fill_row", fill_row)
    monkeypatch.setattr(_owui, "chat_owner", owner)
    return rows


async def settled(text: RowText) -> Shadow:
    shadow = seal_shadow(
        Shadow(message_id="a1", chat_id="c", role="model", contents_json=SIGNED, visible_text=TEXT), ROOT_PARENT
    )
    store = MemoryShadowStore()
    await store.seal(Seal(shadow=shadow))
    metadata = {"chat_id": "c", "message_id": "a2", "user_message_id": "u2"}
    call = PipeCall(body={}, user={"id": "u"}, metadata=metadata, valves=SimpleNamespace(), tools={})
    clock = FakeClock()
    stores = ChatStores(SessionStores(EchoPaths(Path("unused")), clock), clock)
    settler = Settler(store, stores, Scopes(Catalogue.load()), clock, call, {}, Attachments(call, None))
    return await settler.settle(RowHead("a1", "model", int(clock.now_s()) - 60), shadow, text, ROOT_PARENT)


async def test_an_answer_that_open_webui_never_stored_stands_and_is_shown(filled: list[str]) -> None:
    shadow = await settled(RowText("", [], [], done=False))
    assert shadow.contents_json == SIGNED
    assert filled == [TEXT]


async def test_an_answer_that_the_user_emptied_is_gone(filled: list[str]) -> None:
    shadow = await settled(RowText("", [], [], done=True))
    assert shadow.contents_json == b"[]"
    assert filled == []


async def test_an_unedited_answer_is_locked_and_left_alone(filled: list[str]) -> None:
    shadow = await settled(RowText(TEXT, [], []))
    assert shadow.contents_json == SIGNED
    assert shadow.lock is not None
    assert not shadow.lock.provisional
    assert filled == []


async def test_an_answer_of_the_page_that_stopped_in_a_tool_ends_with_the_model(filled: list[str]) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    shadow = await settled(RowText("Something else.", [call], []))
    assert [content["role"] for content in json.loads(shadow.contents_json)] == ["model", "user", "model"]
    assert shadow.state == "complete", "else a beginning of what it shows would be no edit"
