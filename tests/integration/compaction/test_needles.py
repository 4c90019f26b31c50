"""Things said once in a chat that goes on and on: the pinned ones are always there, the others can be read again."""

import json
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_memory import EdgeEngine, PassageStore
from echo_runtime.history_tool import read_history_entry
from long_chat import SIZE_TOKENS, LongChat, long_chat
from passage_kit import WordEmbedder
from sim_fixture import RunningSim
from turn_kit import entry

TRIGGER = SIZE_TOKENS * 0.45


async def look(n: int) -> str:
    """Look at something."""
    return f"result {n}: " + "row " * 900


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    passages = PassageStore(EdgeEngine(tmp_path / "qdrant"), WordEmbedder(dimension=256))
    native = {"look": entry(look, n={"type": "integer"})}
    async with long_chat(tmp_path, sim, monkeypatch, native=native, passages=passages) as opened:
        yield opened
    await passages.close()


@pytest.mark.parametrize(
    ("turns", "needles", "compactions"),
    [(45, 8, 2), pytest.param(1000, 40, 5, marks=[pytest.mark.deep, pytest.mark.timeout(600)])],
)
async def test_needles_are_found_in_a_chat_that_was_compacted_many_times(
    chat: LongChat, turns: int, needles: int, compactions: int
) -> None:
    chance = random.Random(turns)
    hidden = {place: f"NEEDLE-{place}-{chance.randrange(10**6)}" for place in chance.sample(range(1, turns), needles)}
    pinned = set(chance.sample(sorted(hidden), needles // 4))
    seen: list[int] = []
    present: dict[int, int] = {}
    for n in range(1, turns):
        text = f"Turn {n}: {'lorem ipsum ' * chance.randrange(20, 160)}"
        if n in hidden:
            text = f"Between us, the word of this turn is {hidden[n]}. {text}"
        if n % 23 == 0:
            text += f' Please call look {{"n": {n}}}.'
        await chat.say(text)
        if n in pinned:
            await chat.pin(f"u{chat.count}")
        rows = chat.turns()
        chat.kit.sim.reset()
        seen += [row["prompt_tokens"] for row in rows]
        for place in pinned & set(range(1, n)):
            present[place] = present.get(place, 0) + all(hidden[place] in row["body"] for row in rows)
    state = await chat.state()
    assert len(state.epochs) >= compactions
    assert max(seen) < TRIGGER, max(seen)
    assert present == {place: turns - 1 - place for place in pinned if place < turns - 1}
    ids = [name for n in range(1, turns) for name in (f"u{n}", f"a{n}")]
    for place in hidden.keys() - pinned:
        found = await chat.with_store(lambda s, p=place: read_history_entry(s, ids)["callable"](text=hidden[p]))
        assert f"[message {2 * place - 1}, user]" in found
        page = await chat.with_store(lambda s, p=place: read_history_entry(s, ids)["callable"](position=str(2 * p - 1)))
        assert hidden[place] in page
    await assert_back_in_the_context(chat, {place: hidden[place] for place in hidden.keys() - pinned})


async def assert_back_in_the_context(chat: LongChat, hidden: dict[int, str]) -> None:
    """What is asked for in other words than it was said comes back beside the question."""
    assert chat.kit.turns is not None
    await chat.kit.turns.settled("ada")
    came_back = 0
    for place, needle in sorted(hidden.items()):
        chat.kit.sim.reset()
        await chat.say(f"Which word did I tell you between us in turn {place}?")
        body = chat.turns()[0]["body"]
        assert needle in body, place
        # What a checkpoint happens to quote, or the last turns say, proves nothing.
        came_back += any(needle in part for part in _recalled(body))
    assert came_back >= len(hidden) - 1


def _recalled(body: str) -> list[str]:
    parts = [part for content in json.loads(body)["contents"] for part in content["parts"]]
    return [text for part in parts if (text := part.get("text", "")).startswith('<artifact id="AEC_recall"')]
