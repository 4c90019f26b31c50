"""Old messages go with all that belongs to them; what remains can still be verified."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_paths import EchoPaths
from echo_state_manager import RepairReport, SessionStore, SessionStores, repair, verify
from store_kit import USER, ManualClock, chain, sealed


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000)


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SessionStore]:
    stores = SessionStores(EchoPaths(tmp_path), clock)
    async with stores.open_api(USER) as opened:
        yield opened
    await stores.close()


def counts(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(path)
    tables = ("message_shadows", "rich_payloads", "cognitive_signatures", "tool_journal", "suture_index", "blobs")
    found = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    connection.close()
    return found


async def test_an_abandoned_conversation_goes_completely(store: SessionStore, clock: ManualClock) -> None:
    old = chain(["old", "big", "old question", "o" * 50_000], prefix="o")
    await store.seal_many(old)
    await store.seal(sealed("o2", "edited", old[1].shadow.cumulative_hash, role="user"))
    await store.append_turn_log("o9", [b"x"])
    clock.at_s = 2000
    young = chain(["new", "answer"], prefix="n")
    await store.seal_many(young)
    assert len(await store.get_message_shadows(["o0", "o1", "n0", "n1"])) == 4
    await store.forget_before(1500)
    assert set(await store.get_message_shadows(["o0", "o1", "n0", "n1"])) == {"n0", "n1"}
    assert list(await store.get_former_shadows("o2")) == []
    assert list(await store.read_turn_log("o9")) == []
    assert counts(store.file.path) == {
        "message_shadows": 2,
        "rich_payloads": 0,
        "cognitive_signatures": 1,
        "tool_journal": 1,
        "suture_index": 2,
        "blobs": 0,
    }
    assert await repair(store) == RepairReport()


async def test_a_conversation_that_goes_on_keeps_the_hashes_of_its_ancestors_only(
    store: SessionStore, clock: ManualClock
) -> None:
    old = chain(["a", "big", "c", "d"])
    await store.seal_many(old)
    clock.at_s = 2000
    young = chain(["e", "f"], prefix="y", parent=old[-1].shadow.cumulative_hash)
    await store.seal_many(young)
    await store.forget_before(1500)
    left = counts(store.file.path)
    assert (left["message_shadows"], left["suture_index"], left["tool_journal"], left["blobs"]) == (2, 6, 1, 0)
    assert (await verify(store)).breaks == ()


async def test_kept_tool_results_go_with_their_answer_and_with_no_other(
    store: SessionStore, clock: ManualClock
) -> None:
    await store.seal_many(chain(["old"], prefix="o"))
    clock.at_s = 2000
    await store.seal_many(chain(["new"], prefix="n"))
    for message_id in ("o0", "n0"):
        await store.keep_tool_output(message_id, "call_1_0", "x" * 200_000)
    await store.forget_before(1500)
    assert await store.read_tool_output("o0", "call_1_0", 0, 5) is None
    kept = await store.read_tool_output("n0", "call_1_0", 199_995, None)
    assert kept is not None and kept.text == "xxxxx"
    assert await repair(store) == RepairReport()
    assert (await verify(store)).breaks == ()


async def test_whoever_had_read_before_notices_what_was_forgotten_and_written_anew(
    store: SessionStore, clock: ManualClock, tmp_path: Path
) -> None:
    other_process = SessionStores(EchoPaths(tmp_path), clock)
    async with other_process.open_api(USER) as reader:
        await store.seal(sealed("m1", "old"))
        assert len(await reader.get_message_shadows(["m1"])) == 1
        await store.forget_before(1500)
        again = sealed("m1", "new")
        await store.seal(again)
        assert await reader.get_message_shadows(["m1"]) == {"m1": again.shadow}
        await store.forget_before(1500)
        assert await reader.get_message_shadows(["m1"]) == {}
    await other_process.close()


async def test_forgetting_nothing_leaves_everything_as_it_was(store: SessionStore) -> None:
    seals = chain(["a", "b"])
    await store.seal_many(seals)
    await store.forget_before(1000)
    assert len(await store.get_message_shadows(["m0", "m1"])) == 2
    assert await store.get_setting("_revision_floor") is None
