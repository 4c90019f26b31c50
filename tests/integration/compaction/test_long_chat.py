"""A chat that grows beyond its context, with the real pipe and the simulator."""

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from long_chat import SIZE_TOKENS, LongChat, contents_of, without_tables
from sim_fixture import RunningSim
from turn_kit import pipe


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    without_tables(monkeypatch)
    async with pipe(tmp_path, sim) as kit:
        yield LongChat(kit)


def filler(n: int, chars: int = 4000) -> str:
    return f"Note {n}: " + " ".join(f"word{n}x{k}" for k in range(chars // 9))


async def test_a_chat_that_grows_full_is_compacted_and_stays_below_its_threshold(chat: LongChat) -> None:
    for n in range(40):
        await chat.say(filler(n))
    state = await chat.state()
    rows = chat.turns()
    tokens = [row["prompt_tokens"] for row in rows]
    assert len(state.epochs) >= 2, tokens
    assert max(tokens) < SIZE_TOKENS * 0.45, tokens


async def test_between_two_compactions_each_request_begins_with_the_one_before(chat: LongChat) -> None:
    for n in range(30):
        await chat.say(filler(n))
    breaks = 0
    rows = chat.turns()
    for before, after in pairwise(rows):
        breaks += not contents_of(after).startswith(contents_of(before))
        assert json.loads(before["body"])["systemInstruction"] == json.loads(after["body"])["systemInstruction"]
    assert breaks == len((await chat.state()).epochs)
