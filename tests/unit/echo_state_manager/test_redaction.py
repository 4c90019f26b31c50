"""Forgetting takes out of a chat's records what its answers were told, and nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_aec import Artifact, Asking
from echo_core.overlay import OverlayEntry, overlay_json, parse_overlay
from echo_core.records import Seal
from echo_state_manager import SessionStores
from echo_state_manager.session import SessionStore
from store_kit import CHAT, USER, ManualClock, shadow


def memory(memory_id: str, text: str) -> str:
    return Artifact(id="AEC_memoire", attributes={"memory": memory_id, "since": "2026-12-01"}, text=text).xml()


KEPT, GONE = memory("m_kept", "Tea."), memory("m_gone", "Lyon.")
TOLD = overlay_json([OverlayEntry(notes=("<n/>", GONE), events=(KEPT,)), OverlayEntry(events=(GONE,))])


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[SessionStores]:
    from echo_paths import EchoPaths

    made = SessionStores(EchoPaths(tmp_path), ManualClock())
    yield made
    await made.close()


@pytest.fixture
async def store(stores: SessionStores) -> AsyncIterator[SessionStore]:
    async with stores.open(USER, CHAT) as opened:
        assert isinstance(opened, SessionStore)
        yield opened


async def test_only_the_artifacts_that_were_named_go(store: SessionStore, stores: SessionStores) -> None:
    told = shadow("a1", "answer", role="model", overlay_json=TOLD, cumulative_hash="c-a1")
    other = shadow("a2", "another", role="model", overlay_json=overlay_json([OverlayEntry(events=(KEPT,))]))
    for one in (told, other):
        await store.seal(Seal(shadow=one, signatures=(), settings={}))
    before = await store.get_message_shadows(["a1", "a2"])
    assert await stores.redact(USER, ["m_gone"]) == [CHAT]
    after = await store.get_message_shadows(["a1", "a2"])
    entries = parse_overlay(after["a1"].overlay_json)
    assert [(entry.notes, entry.events) for entry in entries] == [(("<n/>",), (KEPT,))]
    assert after["a1"].contents_json == before["a1"].contents_json
    assert after["a2"] == before["a2"]
    assert await store.get_former_shadows("a1") == [], "what the message was formerly was told it, too"
    assert await stores.redact(USER, ["m_gone"]) == []


async def test_another_answer_to_the_question_is_not_told_it_again(store: SessionStore, stores: SessionStores) -> None:
    asking = Asking(question_id="q1", answer_id="a1", model_id="m", chain=["q1"], takes=True)
    assert await store.drain(asking, lambda drained: TOLD) == TOLD
    await stores.redact(USER, ["m_gone"])
    again = Asking(question_id="q1", answer_id="a2", model_id="m", chain=["q1"], takes=True)
    assert b"Lyon" not in await store.drain(again, lambda drained: TOLD)


async def test_nobody_elses_chats_are_touched(store: SessionStore, stores: SessionStores) -> None:
    told = shadow("a1", "answer", role="model", overlay_json=TOLD, cumulative_hash="c-a1")
    await store.seal(Seal(shadow=told, signatures=(), settings={}))
    assert await stores.redact("somebody else", ["m_gone"]) == []
    assert (await store.get_message_shadows(["a1"]))["a1"].overlay_json == TOLD
