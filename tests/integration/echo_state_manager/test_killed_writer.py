"""kill -9 at random moments: no torn record, sound hashes, nothing missing that was told to be committed."""

import asyncio
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import store_writer
from echo_paths import EchoPaths
from echo_state_manager import SessionStore, SessionStores, verify
from store_kit import CHAT, USER, ManualClock

#: Lines that the writer prints a turn: asked, streams, six batches, answered.
LINES_A_TURN = 9


async def killed_at_random(data_dir: Path, first_turn: int, dice: random.Random) -> list[list[str]]:
    """Let the writer work for a random while, kill it, and return what it had said."""
    writer = await asyncio.create_subprocess_exec(
        sys.executable, store_writer.__file__, "turns", str(data_dir), str(first_turn), stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdout is not None
    said: list[list[str]] = []
    for _ in range(dice.randint(0, 4 * LINES_A_TURN)):
        said.append((await writer.stdout.readline()).decode().split())
    await asyncio.sleep(dice.random() * 0.008)
    writer.send_signal(signal.SIGKILL)
    said += [
        line.decode().split() for line in (await writer.stdout.read()).splitlines(keepends=True) if line[-1:] == b"\n"
    ]
    assert await writer.wait() == -signal.SIGKILL
    return said


@dataclass(frozen=True)
class Left:
    """Where a chat stands after a kill: its first unfinished turn, and how many batches of it are in the turn log."""

    turn: int = 0
    batches: int = 0


async def check(store: SessionStore, said: list[list[str]], before: Left) -> Left:
    """Compare the file with what was said."""
    report = await verify(store)
    assert report.breaks == ()
    turn = await first_unfinished(store, before.turn)
    finished = max((int(words[1]) for words in said if words[0] == "answered"), default=before.turn - 1)
    assert turn in (finished + 1, finished + 2), "at most the answer that was being written is ahead of what was said"
    if ["asked", str(turn)] in said:
        assert await store.get_message_shadow(f"q{turn}") is not None
    records = list(await store.recover_streaming(f"a{turn}") or ())
    batches = len(records) // store_writer.RECORDS
    written = [store_writer.log_batch(turn, batch) for batch in range(batches)]
    assert records == [record for batch in written for record in batch]
    if ["streams", str(turn)] in said:
        logged = sum(words[:2] == ["logged", str(turn)] for words in said)
        assert list(await store.streaming_messages()) == [f"a{turn}"]
        assert batches in (logged, logged + 1)
    else:
        # Killed before the turn was begun anew: what an earlier kill left is there, or the new beginning emptied it.
        assert batches in (0, before.batches if turn == before.turn else 0)
    return Left(turn, batches)


async def first_unfinished(store: SessionStore, turn: int) -> int:
    """Go along the finished turns; everything of theirs is as it was written."""
    parent = store_writer.parent_of(turn)
    while True:
        asked = store_writer.question(turn, parent)
        answered = store_writer.answer(turn, asked.shadow.cumulative_hash)
        found = await store.get_message_shadows([f"q{turn}", f"a{turn}"])
        assert found.get(f"q{turn}", asked.shadow) == asked.shadow
        if found.get(f"a{turn}") != answered.shadow:
            return turn
        assert f"q{turn}" in found
        assert list(await store.get_signatures(f"a{turn}")) == list(answered.signatures)
        assert await store.get_tool_io(answered.shadow.cumulative_hash) == answered.tool_io_json
        assert list(await store.read_turn_log(f"a{turn}")) == []
        parent, turn = answered.shadow.cumulative_hash, turn + 1


async def kill_repeatedly(data_dir: Path, times: int, seed: int) -> int:
    """Kill and check; returns how many turns were finished in spite of it."""
    dice = random.Random(seed)
    left, paths, finished = Left(), EchoPaths(data_dir), 0
    for round_no in range(times):
        if round_no % 20 == 0:
            # A fresh chat now and then: the moments in which the file itself is made are hit, too.
            left, paths = Left(), EchoPaths(data_dir / str(round_no))
        said = await killed_at_random(paths.root, left.turn, dice)
        stores = SessionStores(paths, ManualClock())
        try:
            async with stores.open_file(paths.session_db(USER, CHAT)) as store:
                before, left = left, await check(store, said, left)
                finished += left.turn - before.turn
                assert store.take_notices() == ()
        finally:
            await stores.close()
    return finished


async def test_a_killed_writer_loses_at_most_the_last_batch(tmp_path: Path) -> None:
    assert await kill_repeatedly(tmp_path, times=15, seed=1) > 0


@pytest.mark.deep
@pytest.mark.timeout(1200)
async def test_two_hundred_kills_lose_at_most_the_last_batch_each(tmp_path: Path) -> None:
    assert await kill_repeatedly(tmp_path, times=200, seed=2) > 0
