import asyncio
from collections.abc import Sequence

import pytest

from echo_constants.limits import TURN_LOG_BYTES
from echo_runtime.journal import StoreJournal
from echo_state_manager import MemoryShadowStore


class SlowStore(MemoryShadowStore):
    """Writes when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    async def append_turn_log(self, message_id: str, data: Sequence[bytes]) -> None:
        self.asked.set()
        await self.let.wait()
        await super().append_turn_log(message_id, data)


async def test_a_small_record_is_written_soon_without_being_asked() -> None:
    store = SlowStore()
    journal = StoreJournal(store, "m")
    await journal.chunk({"a": 1})
    await asyncio.wait_for(store.asked.wait(), 5)
    store.let.set()
    await journal.flush()
    assert list(await store.read_turn_log("m")) == [b'{"chunk":{"a":1}}']


async def test_much_at_once_is_written_at_once() -> None:
    store = MemoryShadowStore()
    await StoreJournal(store, "m").chunk({"text": "x" * TURN_LOG_BYTES})
    assert len(await store.read_turn_log("m")) == 1


async def test_a_cancelled_caller_neither_cancels_the_write_nor_spoils_the_next() -> None:
    store = SlowStore()
    journal = StoreJournal(store, "m")
    await journal.chunk({"a": 1})
    await asyncio.wait_for(store.asked.wait(), 5)
    waiting = asyncio.create_task(journal.flush())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await journal.chunk({"b": 2})
    store.let.set()
    await journal.flush()
    assert list(await store.read_turn_log("m")) == [b'{"chunk":{"a":1}}', b'{"chunk":{"b":2}}']
