"""A chat that grows beyond its context, with the real pipe and the simulator."""

import json
import re
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from echo_runtime.own_tools import OutputError, read_tool_output_entry
from long_chat import SIZE_TOKENS, LongChat, contents_of, long_chat
from sim_fixture import RunningSim
from turn_kit import Json, entry


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    async with long_chat(tmp_path, sim, monkeypatch) as opened:
        yield opened


def filler(n: int, chars: int = 4000) -> str:
    return f"Note {n}: " + " ".join(f"word{n}x{k}" for k in range(chars // 9))


async def test_a_chat_that_grows_full_is_compacted_and_stays_below_its_threshold(chat: LongChat) -> None:
    for n in range(24):
        await chat.say(filler(n))
    state = await chat.state()
    rows = chat.turns()
    tokens = [row["prompt_tokens"] for row in rows]
    assert len(state.epochs) >= 2, tokens
    assert max(tokens) < SIZE_TOKENS * 0.45, str(tokens)


async def test_between_two_compactions_each_request_begins_with_the_one_before(chat: LongChat) -> None:
    for n in range(18):
        await chat.say(filler(n))
    breaks = 0
    rows = chat.turns()
    for before, after in pairwise(rows):
        breaks += not contents_of(after).startswith(contents_of(before))
        assert json.loads(before["body"])["systemInstruction"] == json.loads(after["body"])["systemInstruction"]
    assert breaks == len((await chat.state()).epochs)


async def test_an_administrators_words_ask_for_the_checkpoint(chat: LongChat) -> None:
    await chat.kit.orchestrator.prompts.put("checkpoint", "en", "Condense to {tokens} tokens, in verse.", "root")
    for n in range(24):
        await chat.say(filler(n))
        if (await chat.state()).epochs:
            break
    rows = [row for row in chat.kit.sim.requests() if row["path"].endswith(":generateContent")]
    how = [json.loads(row["body"])["systemInstruction"]["parts"][0]["text"] for row in rows]
    assert how
    assert re.fullmatch(r"Condense to [1-9]\d+ tokens, in verse\.", how[0])


def asks_for(rounds: int, start: int = 0) -> str:
    """What makes the simulator call a tool so many times, one after the other."""
    return ", then ".join(f'call look {{"n": {n}}}' for n in range(start, start + rounds))


async def look(n: int) -> str:
    """Look at something."""
    return f"result {n}: " + " ".join(f"row{n}x{k}" for k in range(500))


LOOK = {"look": entry(look, n={"type": "integer"})}


def results(row: Json) -> list[Json]:
    """All tool results in a request."""
    contents = json.loads(row["body"])["contents"]
    return [p["functionResponse"] for c in contents for p in c["parts"] if "functionResponse" in p]


async def test_a_tool_loop_that_grows_full_goes_on_with_its_old_results_put_aside(chat: LongChat) -> None:
    chat.native = LOOK
    await chat.say("Hello, remember BLUE-4711.")
    await chat.say(f"Please {asks_for(25)}.")
    await chat.say("And now?")
    rows = chat.turns()
    tokens = [row["prompt_tokens"] for row in rows]
    assert max(tokens) < SIZE_TOKENS * 0.45, str(tokens)
    assert len((await chat.state()).epochs) >= 1
    last = results(rows[-2])
    assert len(last) == 25
    assert "put the rest" in last[0]["response"]["output"]
    assert last[-1]["response"]["output"] == await look(24)
    assert contents_of(rows[-1]).startswith(contents_of(rows[-2])), "the next turn sends the same bytes"
    place = last[0]["response"]["output"].split('id="')[1].split('"')[0]
    whole = await chat.with_store(lambda store: read_tool_output_entry(store, "ada")["callable"](id=place))
    assert await look(0) in whole
    with pytest.raises(OutputError):
        await chat.with_store(lambda store: read_tool_output_entry(store, "bob")["callable"](id=place))


async def test_a_tool_loop_in_a_full_chat_leaves_the_beginning_to_a_checkpoint(chat: LongChat) -> None:
    chat.native = LOOK
    for n in range(8):
        await chat.say(filler(n))
    await chat.say(f"Please {asks_for(12)}.")
    await chat.say("And now?")
    rows = chat.turns()
    tokens = [row["prompt_tokens"] for row in rows]
    assert max(tokens) < SIZE_TOKENS * 0.45, str(tokens)
    epochs = (await chat.state()).epochs
    assert epochs[-1].pivot_id
    opening = json.loads(rows[-1]["body"])["contents"][0]["parts"][0]["text"]
    assert opening.startswith('<artifact id="AEC_context_checkpoint"')
    assert contents_of(rows[-1]).startswith(contents_of(rows[-2]))
