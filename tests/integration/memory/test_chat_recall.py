"""What was said long before comes back beside the question that it bears on, and never in anybody's way."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from echo_aec import Artifact, parse_artifact
from echo_core.passages import PassageFilter, Vector
from echo_memory import EdgeEngine, PassageStore
from echo_runtime.turn_context import MemoryUse
from live.bodies import Body, assert_continues, assert_valid
from long_chat import CHAT, LongChat, long_chat
from passage_kit import WordEmbedder
from sim_fixture import RunningSim
from turn_kit import Json


def filler(n: int) -> str:
    """Words that nobody asks for."""
    return f"The weather of day {n} was told at length and nobody needed it. " * 25


class Stoppable(WordEmbedder):
    """Embeds nothing new while it is stopped."""

    def __init__(self) -> None:
        super().__init__(dimension=256)
        self.goes = asyncio.Event()
        self.goes.set()

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        await self.goes.wait()
        return await super().embed_documents(texts)


@pytest.fixture
def embedder() -> Stoppable:
    return Stoppable()


@pytest.fixture
async def chat(
    tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch, embedder: Stoppable
) -> AsyncIterator[LongChat]:
    passages = PassageStore(EdgeEngine(tmp_path / "qdrant"), embedder)
    async with long_chat(tmp_path, sim, monkeypatch, passages=passages) as opened:
        yield opened
    await passages.close()


def recalled(row: Json) -> list[Artifact]:
    """What the last question of a request is told to have been said before."""
    parts = json.loads(row["body"])["contents"][-1]["parts"]
    texts = [part.get("text", "") for part in parts]
    return [parse_artifact(text) for text in texts if text.startswith('<artifact id="AEC_recall"')]


async def fill(chat: LongChat, turns: int) -> None:
    for n in range(turns):
        await chat.say(f"Day {n}. {filler(n)}")
    assert chat.kit.turns is not None
    await chat.kit.turns.settled("ada")


async def test_what_bears_on_a_question_comes_back_once_the_chat_is_long(chat: LongChat) -> None:
    await chat.say("My grandmother hid the brass key under the third flowerpot.")
    await fill(chat, 3)
    await chat.say("Where did grandmother hide the brass key?")
    assert recalled(chat.turns()[-1]) == [], "a short chat is read as it is"
    await fill(chat, 22)
    chat.kit.sim.reset()
    await chat.say("Under which flowerpot is the key of grandmother?")
    [told] = recalled(chat.turns()[0])
    assert told.items[0].attributes == {"number": "1", "role": "user"}
    assert told.items[0].text == "My grandmother hid the brass key under the third flowerpot."
    chat.kit.sim.reset()
    await chat.answer(f"u{chat.count}", "again")
    assert recalled(chat.turns()[0]) == [told], "another answer is told the same"


@pytest.mark.timeout(120)
async def test_fifty_turns_with_recall_share_their_prefix(chat: LongChat) -> None:
    chat.size_tokens = 60_000
    chat.off = ("context_compaction_filter",)
    bodies = []
    for n in range(50):
        chat.kit.sim.reset()
        await chat.say(f"The number of house {n} is {n * 7}. {filler(n)} Tell me more of the houses.")
        bodies.append(chat.kit.sim.requests()[-1])
    told = [bool(recalled(row)) for row in bodies]
    assert not any(told[:10])
    assert sum(told) >= 5
    texts = [item.text for row in bodies[-20:] for one in recalled(row) for item in one.items]
    assert len(texts) == len(set(texts)), "what was told lately is not told again"
    for earlier, later in pairwise(map(Body, bodies)):
        assert_valid(later)
        assert_continues(later, earlier)


async def test_an_embedder_that_stands_still_delays_no_answer(chat: LongChat, embedder: Stoppable) -> None:
    embedder.goes.clear()
    await chat.say("My grandmother hid the brass key under the third flowerpot.")
    for n in range(25):
        await chat.say(f"Day {n}. {filler(n)}")
    chat.kit.sim.reset()
    await chat.say("Under which flowerpot is the key of grandmother?")
    [told] = recalled(chat.turns()[0])
    assert told.items[0].attributes["number"] == "1", "found by its words while it waits"
    embedder.goes.set()


async def test_a_message_costs_its_own_embedding_and_no_other(chat: LongChat, embedder: Stoppable) -> None:
    await fill(chat, 5)
    before = len(embedder.embedded)
    await fill(chat, 1)
    assert 2 <= len(embedder.embedded) - before <= 6


async def test_encrypted_records_and_a_filter_switched_off_index_nothing(chat: LongChat, embedder: Stoppable) -> None:
    assert chat.kit.turns is not None
    chat.valves = {"ENCRYPT_RECORDS": True}
    await chat.say("A secret of the house.")
    chat.valves = {}
    chat.memory = MemoryUse(indexes=False)
    await chat.say("A third secret of the house.")
    chat.memory = MemoryUse()
    chat.off = ("conversation_rag_filter",)
    await chat.say("Another secret of the house.")
    await chat.kit.turns.settled("ada")
    assert embedder.embedded == []
    assert await chat.kit.turns.of("ada").count(PassageFilter(chat_ids=(CHAT,))) == 0
