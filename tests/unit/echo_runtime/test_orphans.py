"""Which events go when messages are edited or deleted; only Open WebUI's table is played."""

from types import SimpleNamespace

import pytest

from echo_aec import EchoAEC, Transient
from echo_runtime import PipeCall, _owui
from echo_runtime.orphans import purge_orphans
from echo_state_manager import MemoryShadowStore

CHAIN = ["u1", "a1", "u2", "a2", "u3"]
WRITTEN = {"u1": 10, "a1": 11, "u2": 20, "a2": 21, "u3": 30, "b2": 22}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    rows = dict(WRITTEN)

    async def written_at(chat_id: str, message_ids: list[str]) -> dict[str, int]:
        return {message_id: rows[message_id] for message_id in message_ids if message_id in rows}

    monkeypatch.setattr(_owui, "written_at", written_at)
    return rows


async def left(pivot: str | None, chat_id: str = "c") -> set[str]:
    """What still waits after an edit, of one event for each message and one of the chat."""
    store = MemoryShadowStore()
    for anchor, at_s in {**WRITTEN, "": 40}.items():
        await EchoAEC(store).push(
            Transient(
                id=f"e-{anchor}", type="aec_event", name="x", payload="", created_at_s=at_s, anchor_message_id=anchor
            )
        )
    metadata = {"chat_id": chat_id, "user_message_id": "u3", "message_id": "a3"}
    call = PipeCall(body={}, user={"id": "u"}, metadata=metadata, valves=SimpleNamespace(), tools={})
    await purge_orphans(call, store, CHAIN, pivot)
    return set(await store.transient_anchors())


async def test_what_hangs_below_the_edit_on_this_branch_goes(table: dict[str, int]) -> None:
    assert await left("u2") == {"u1", "a1", "b2"}


async def test_what_belongs_to_deleted_messages_goes(table: dict[str, int]) -> None:
    del table["a1"], table["b2"]
    assert await left(None) == {"u1", "u2", "a2", "u3"}


async def test_nothing_goes_without_a_reason(table: dict[str, int]) -> None:
    assert await left(None) == set(WRITTEN)


async def test_a_temporary_chat_has_only_its_chain(table: dict[str, int]) -> None:
    table.clear()
    assert await left("a2", "temporary:socket") == {"u1", "a1", "u2"}
