"""A user's memory around his turns: beside the question that it bears on, and read once he is silent."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from echo_aec import Artifact, parse_artifact
from echo_core.memories import Fact
from echo_core.prefix import PrefixBreak
from echo_http import SystemClock
from echo_memory.keeping import Proposal
from echo_runtime.breaks import BREAKS
from echo_runtime.memory_desk import MemoryDesk
from live import answers
from live.bodies import Body, assert_continues, assert_valid
from long_chat import CHAT, LongChat, long_chat
from sim_fixture import RunningSim
from turn_kit import Json

LYON = "The user lives in Lyon, near the river."


class Silence(SystemClock):
    """A clock for which the user goes on speaking until told otherwise."""

    def __init__(self) -> None:
        self.begins = asyncio.Event()

    async def sleep(self, delay_s: float) -> None:
        await self.begins.wait()


@pytest.fixture
def silence(chat: LongChat) -> asyncio.Event:
    """Set it and the user is silent."""
    clock = chat.kit.remembering._clock = Silence()
    return clock.begins


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    async with long_chat(tmp_path, sim, monkeypatch) as opened:
        yield opened


@pytest.fixture
def desk(chat: LongChat) -> MemoryDesk:
    return chat.kit.memories


async def tell(desk: MemoryDesk, text: str, user: str = "ada") -> str:
    return (await desk.keep(user, Proposal(fact=Fact(text=text), origin="order"))).memory.id


def told(row: Json) -> list[Artifact]:
    """What the last question of a request is told from memory."""
    texts = [part.get("text", "") for part in json.loads(row["body"])["contents"][-1]["parts"]]
    return [parse_artifact(text) for text in texts if text.startswith('<artifact id="AEC_memoire"')]


async def test_what_bears_on_a_question_stands_beside_it_once_and_beside_all_its_answers(
    chat: LongChat, desk: MemoryDesk
) -> None:
    memory_id = await tell(desk, LYON)
    await tell(desk, "Somebody else lives in Lyon.", user="lea")
    await chat.say("Where near the river in Lyon does the user eat well?")
    [one] = told(chat.turns()[-1])
    assert (one.text, one.attributes["memory"]) == (LYON, memory_id)
    chat.kit.sim.reset()
    await chat.answer("u1", "again")
    assert told(chat.turns()[-1]) == [one]
    await chat.say("And in Lyon by the river for breakfast?")
    assert told(chat.turns()[-1]) == [], "the chain knows it already"
    await chat.say("What is a prime number?")
    assert told(chat.turns()[-1]) == []


@pytest.mark.timeout(120)
async def test_fifty_turns_with_memory_share_their_prefix(chat: LongChat, desk: MemoryDesk) -> None:
    chat.size_tokens = 200_000
    bodies = []
    for n in range(50):
        if n % 3 == 0:
            await tell(desk, f"House number {n} belongs to the user.")
        chat.kit.sim.reset()
        await chat.say(f"What do you know of house number {n - n % 3}?")
        bodies.append(chat.turns()[-1])
    assert sum(bool(told(row)) for row in bodies) >= 10
    for earlier, later in pairwise(map(Body, bodies)):
        assert_valid(later)
        assert_continues(later, earlier)


async def test_what_is_forgotten_leaves_the_requests_and_the_break_is_counted(chat: LongChat, desk: MemoryDesk) -> None:
    memory_id = await tell(desk, LYON)
    await chat.say("Where near the river in Lyon does the user eat well?")
    assert LYON in chat.turns()[-1]["body"]
    before = BREAKS.counts().get(PrefixBreak.FORGOTTEN, 0)
    await desk.forget("ada", [memory_id])
    assert BREAKS.counts()[PrefixBreak.FORGOTTEN] == before + 1
    chat.kit.sim.reset()
    await chat.answer("u1", "again")
    await chat.say("And in Lyon by the river for breakfast?")
    assert all(LYON not in row["body"] for row in chat.turns())


@pytest.mark.parametrize("off", ["filter", "encryption"])
async def test_where_memory_is_off_nothing_is_told_or_kept(
    chat: LongChat, desk: MemoryDesk, silence: asyncio.Event, off: str
) -> None:
    silence.set()
    await tell(desk, LYON)
    chat.off = ("conversation_rag_filter",) if off == "filter" else ()
    chat.valves = {"ENCRYPT_RECORDS": True} if off == "encryption" else {}
    await chat.say("Remember that the river in Lyon is the Saône.")
    assert all(LYON not in row["body"] for row in chat.turns())
    await chat.kit.remembering.settled()
    assert (await desk.list_memories("ada")).total == 1


async def test_what_was_said_is_read_once_the_user_is_silent_and_told_to_the_model(
    chat: LongChat, desk: MemoryDesk, silence: asyncio.Event
) -> None:
    facts = [
        {"text": "The user keeps bees.", "topic": "hobby", "value": "bees", "kind": "fact", "only_one": False},
        {"text": "The user is a pilot.", "topic": "job", "value": "pilot", "kind": "fact", "only_one": True},
    ]
    body = answers.response(json.dumps({"facts": facts}), finish="STOP")
    reading = {"method": "generateContent", "body_regex": "known_topics"}
    chat.kit.sim.script({"match": reading, "status": 200, "chunks": [{"text": json.dumps(body)}]})
    await chat.say("I keep bees, so tell me of clover.")
    silence.set()
    await chat.kit.remembering.settled()
    [kept] = (await desk.list_memories("ada")).memories
    assert (kept.text, kept.importance, kept.source.chat_id) == ("The user keeps bees.", 1, CHAT)
    silence.clear()
    chat.kit.sim.reset()
    await chat.say("Go on.")
    sent = chat.turns()[-1]["body"]
    assert "The user keeps bees." in sent
    assert "ECHO remembers only what you said yourself." in sent


async def test_turns_that_follow_each_other_are_read_together(
    chat: LongChat, desk: MemoryDesk, silence: asyncio.Event
) -> None:
    for n in range(3):
        await chat.say(f"Remember that my number {n} is a lucky one.")
    chat.kit.sim.reset()
    silence.set()
    await chat.kit.remembering.settled()
    readings = [row["body"] for row in chat.kit.sim.requests() if "known_topics" in row["body"]]
    assert len(readings) == 1
    assert all(f"my number {n}" in readings[0] for n in range(3))
