"""What wins over what: the window over pins, pins over the last turn, asking again over the threshold; and undoing."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from echo_core import strip_checkpoint_tag
from echo_core.compaction_records import CompactionState
from echo_runtime.compaction import FILTER
from echo_runtime.compaction_desk import CompactionDesk
from echo_runtime.compaction_store import change_state
from long_chat import CHAT, SIZE_TOKENS, LongChat, contents_of, long_chat
from sim_fixture import RunningSim
from turn_kit import Json

TRIGGER, HARD = SIZE_TOKENS * 0.45, SIZE_TOKENS * 0.98


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    async with long_chat(tmp_path, sim, monkeypatch) as opened:
        yield opened


def note(n: int, chars: int = 4_000) -> str:
    return f"Note {n}, the code is CODE-{n}: " + "lorem ipsum " * (chars // 12)


async def grown(chat: LongChat, turns: int) -> None:
    """A chat that was never compacted, since its context was large."""
    chat.size_tokens = 1_000_000
    for n in range(turns):
        await chat.say(note(n))
    chat.size_tokens = SIZE_TOKENS


def last(chat: LongChat) -> Json:
    return chat.turns()[-1]


async def undone(chat: LongChat) -> None:
    def change(state: CompactionState) -> CompactionState:
        return state.with_epoch(replace(state.epochs[-1], undone=True))

    await chat.with_store(lambda store: change_state(store, change))


async def test_a_history_above_the_window_is_compacted_to_the_target(chat: LongChat) -> None:
    await grown(chat, 32)
    assert last(chat)["prompt_tokens"] > SIZE_TOKENS
    await chat.say("And now?")
    assert last(chat)["prompt_tokens"] <= SIZE_TOKENS * 0.27
    assert "CODE-0" in last(chat)["body"], "the extract keeps exact names"


async def test_asking_again_changes_nothing_below_the_window(chat: LongChat) -> None:
    await grown(chat, 14)
    before = last(chat)
    assert before["prompt_tokens"] > TRIGGER
    await chat.answer("u14", "again")
    assert contents_of(last(chat)) == contents_of(before)
    assert not (await chat.state()).epochs


async def test_asking_again_compacts_where_the_window_would_be_exceeded(chat: LongChat) -> None:
    await grown(chat, 32)
    await chat.answer("u32", "again")
    assert last(chat)["prompt_tokens"] < HARD
    assert len((await chat.state()).epochs) == 1


async def test_undoing_sends_the_former_bytes_and_compacts_no_more_by_itself(chat: LongChat) -> None:
    await grown(chat, 14)
    before = last(chat)
    await chat.say("And now?")
    compacted = last(chat)
    assert "AEC_context_checkpoint" in compacted["body"]
    await undone(chat)
    await chat.say("And again?")
    whole = last(chat)
    assert contents_of(whole).startswith(contents_of(before))
    assert whole["prompt_tokens"] > TRIGGER
    assert "AEC_context_checkpoint" not in whole["body"]


async def test_a_checkpoint_acts_on_its_own_chain_only(chat: LongChat) -> None:
    await grown(chat, 14)
    await chat.say("And now?")
    [epoch] = (await chat.state()).epochs
    first_kept = int(epoch.pivot_id[1:])
    # Another branch from before the pivot: what the checkpoint stands for is only in part above it.
    chat.host.put("v1", f"a{first_kept - 3}", "u", "Another way.")
    await chat.answer("v1", "b1")
    assert "AEC_context_checkpoint" not in last(chat)["body"]
    # And back again, below the pivot.
    chat.end = f"a{chat.count}"
    await chat.say("Back here.")
    assert f'checkpoint=\\"{epoch.id}\\"' in json.dumps(json.loads(last(chat)["body"])["contents"][0])


async def test_with_the_filter_off_only_the_window_counts(chat: LongChat, monkeypatch: pytest.MonkeyPatch) -> None:
    await grown(chat, 14)
    real = chat.call

    def off(*args: str, **more: object) -> object:
        call = real(*args, **more)  # type: ignore[arg-type]
        call.shared.stages[FILTER] = "off"
        return call

    monkeypatch.setattr(chat, "call", off)
    await chat.say("And now?")
    assert last(chat)["prompt_tokens"] > TRIGGER
    for n in range(20):
        await chat.say(note(100 + n))
        assert last(chat)["prompt_tokens"] <= HARD
    assert len((await chat.state()).epochs) == 1


async def test_pins_stay_word_for_word_and_what_they_prevent_is_told(chat: LongChat) -> None:
    await grown(chat, 14)
    pins = tuple(f"u{n}" for n in range(1, 13))
    await chat.pin(*pins)
    prepared = await chat.prepared("And now?")
    assert "Pinned messages take" in " ".join(prepared.notices)
    opening = json.loads(prepared.history.question or prepared.plan.contents[0])
    parts = (opening[0] if isinstance(opening, list) else opening)["parts"]
    assert all(note(n - 1).strip() in parts[n]["text"] for n in range(1, 13))
    await chat.answer("u15", "a15")
    await chat.say("And so on?")
    assert len((await chat.state()).epochs) == 1, "what cannot be made smaller is not condensed again each turn"


async def test_pins_give_way_to_the_window_oldest_first_and_that_is_told(chat: LongChat) -> None:
    await grown(chat, 42)
    pins = tuple(f"u{n}" for n in range(1, 41))
    await chat.pin(*pins)
    prepared = await chat.prepared("And now?")
    assert "Not all pinned messages fit" in " ".join(prepared.notices)
    await chat.answer("u43", "a43")
    assert last(chat)["prompt_tokens"] <= HARD
    [epoch] = (await chat.state()).epochs
    assert 0 < len(epoch.pinned) < len(pins)
    assert epoch.pinned == pins[-len(epoch.pinned) :]
    assert (await chat.state()).pins == pins, "what the user pinned is not forgotten"
    assert note(39).strip() in last(chat)["body"]


async def test_what_is_pinned_afterwards_counts_at_once_and_gives_way_when_asked_again(chat: LongChat) -> None:
    await grown(chat, 42)
    await chat.say("And now?")
    light = last(chat)["prompt_tokens"]
    desk = CompactionDesk(chat.kit.orchestrator._stores._sessions)
    for n in range(1, 34):
        await desk.pin(CHAT, "ada", f"u{n}")
    await chat.answer("u43", "again")
    assert light * 2 < last(chat)["prompt_tokens"] <= HARD
    epochs = (await chat.state()).epochs
    assert epochs[-1].pivot_id == "u43", "nothing but the last turn is left beside the checkpoint"
    assert 0 < len(epochs[-1].pinned) < 33
    await desk.pin(CHAT, "ada", "u40")  # all of them are quoted again
    await chat.answer("u43", "and again")
    assert last(chat)["prompt_tokens"] <= HARD
    now = (await chat.state()).epochs
    assert [epoch.id for epoch in now] == [epoch.id for epoch in epochs]
    assert 0 < len(now[-1].pinned) < 34
    assert note(39).strip() in last(chat)["body"]
    await chat.say("And then?")
    assert last(chat)["prompt_tokens"] <= HARD


async def test_two_answers_at_once_compact_once(chat: LongChat) -> None:
    await grown(chat, 14)
    chat.host.put("u99", "a14", "u", "And now?")
    await asyncio.gather(chat.answer("u99", "a99"), chat.answer("u99", "b99"))
    assert len((await chat.state()).epochs) == 1
    one, other = chat.turns()[-2:]
    assert contents_of(one) == contents_of(other)


async def test_the_records_hold_no_checkpoint(chat: LongChat) -> None:
    await grown(chat, 14)
    await chat.say("And now?")
    [epoch] = (await chat.state()).epochs
    pivot = await chat.shadow(epoch.pivot_id)
    assert pivot is not None
    assert strip_checkpoint_tag(pivot.contents_json) is pivot.contents_json
