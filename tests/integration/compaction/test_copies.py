"""A copy of a chat goes on as the chat itself would: with its checkpoint and what was pinned."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from echo_runtime.compaction_store import change_state, compaction_state
from long_chat import CHAT, LongChat, contents_of, long_chat
from sim_fixture import RunningSim

COPY = "copy"
WORDS = "lorem ipsum " * 330


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    async with long_chat(tmp_path, sim, monkeypatch) as opened:
        for n in range(16):
            await opened.say(f"Note {n}, the code is CODE-{n}. {WORDS}")
        opened.host.origins = [CHAT]
        yield opened


async def state_of(chat: LongChat, chat_id: str) -> Any:
    call = chat.call("u1", answer_id="none", metadata={"chat_id": chat_id})
    async with chat.kit.orchestrator._stores.open(call, keep_api=False) as store:
        return await compaction_state(store)


async def test_a_copy_sends_what_the_chat_would_have_sent(chat: LongChat) -> None:
    before = chat.turns()[-1]
    assert "AEC_context_checkpoint" in before["body"]
    await chat.say("And now?", chat_id=COPY)
    assert contents_of(chat.turns()[-1]).startswith(contents_of(before))
    assert await state_of(chat, COPY) == await state_of(chat, CHAT)


async def test_what_is_undone_in_the_copy_stays_in_the_chat(chat: LongChat) -> None:
    await chat.say("And now?", chat_id=COPY)
    [epoch] = (await state_of(chat, CHAT)).epochs
    call = chat.call("u1", answer_id="none", metadata={"chat_id": COPY})
    async with chat.kit.orchestrator._stores.open(call, keep_api=False) as store:
        await change_state(store, lambda s: s.with_epoch(replace(epoch, undone=True)))
    await chat.say("And then?", chat_id=COPY)
    assert "AEC_context_checkpoint" not in chat.turns()[-1]["body"]
    assert (await state_of(chat, CHAT)).epochs == (epoch,)
