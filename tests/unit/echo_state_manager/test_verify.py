"""Verifying finds what was changed behind our back; repairing rebuilds the indexes and nothing else."""

import sqlite3
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from echo_core.records import Seal
from echo_core.sealing import relink
from echo_paths import EchoPaths
from echo_protocol import ROOT_PARENT
from echo_state_manager import RepairReport, SessionStore, SessionStores, repair, verify
from store_kit import CHAT, USER, ManualClock, chain, sealed

TEXTS = ["hello", "big", "and then?", "nothing", "why?", "because"]
IDS = [f"m{n}" for n in range(6)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return EchoPaths(tmp_path).session_db(USER, CHAT)


@pytest.fixture
async def store(tmp_path: Path, path: Path) -> AsyncIterator[SessionStore]:
    stores = SessionStores(EchoPaths(tmp_path), ManualClock())
    async with stores.open_file(path) as opened:
        yield opened
    await stores.close()


def meddle(path: Path, *statements: str) -> None:
    """Change the file as nobody of ours would."""
    other = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        other.execute(statement)
    other.close()


async def fill(store: SessionStore) -> list[Seal]:
    """Six messages, a second answer to the third, an edited message and a large image."""
    seals = chain(TEXTS)
    branch = chain(["other", "b" * 50_000, "end"], prefix="b", parent=seals[2].shadow.cumulative_hash)
    edited = sealed("m4", "why not?", seals[3].shadow.cumulative_hash, role="user")
    await store.seal_many([*seals, *branch, edited])
    return [*seals[:4], edited, seals[5], *branch]


async def test_a_sound_chat_has_no_breaks(store: SessionStore) -> None:
    await fill(store)
    await store.seal(sealed("now", "", state="streaming"))
    report = await verify(store)
    assert report.is_sound
    assert report.breaks == ()
    assert report.first_break is None
    # The last messages: m5 under the former m4, the edited m4, the end of the branch, and the message that streams.
    assert (report.messages, report.chains) == (10, 4)


async def test_an_empty_chat_is_sound(store: SessionStore) -> None:
    report = await verify(store)
    assert (report.messages, report.chains, report.breaks) == (0, 0, ())


async def test_verifying_does_not_wait_for_turns_nor_hold_them_up(store: SessionStore, path: Path) -> None:
    await fill(store)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM suture_index")
    assert (await verify(store)).is_sound
    writer.execute("ROLLBACK")
    writer.close()


CHANGES = [
    ("UPDATE message_shadows SET full_parts_json = replace(full_parts_json, 'nothing', 'nothinG')", "bytes", "m3"),
    ("UPDATE message_shadows SET overlay_json = '[1]' WHERE message_id = 'm3'", "bytes", "m3"),
    ("UPDATE message_shadows SET invariant_hash = 'sha256:00' WHERE message_id = 'm3'", "invariant", "m3"),
    ("UPDATE message_shadows SET cumulative_hash = 'sha256:00' WHERE message_id = 'm3'", "cumulative", "m3"),
    ("UPDATE message_shadows SET parent_hash = 'sha256:00' WHERE message_id = 'm3'", "cumulative", "m3"),
    ("DELETE FROM suture_index WHERE message_id = 'm3'", "parent", "m4"),
    ("DELETE FROM suture_index WHERE message_id = 'm5'", "index", "m5"),
    ("UPDATE suture_index SET parent_hash = 'sha256:00' WHERE message_id = 'm3'", "link", "m3"),
    ("UPDATE suture_index SET invariant_hash = 'sha256:00' WHERE message_id = 'm3'", "link", "m3"),
    ("DELETE FROM cognitive_signatures WHERE message_id = 'm3'", "signatures", "m3"),
    ("UPDATE cognitive_signatures SET thought_signature = 'x' WHERE message_id = 'm3'", "signatures", "m3"),
    ("UPDATE cognitive_signatures SET part_index = 0 WHERE message_id = 'm3'", "signatures", "m3"),
    ("UPDATE tool_journal SET io_json = 'x' WHERE instr(CAST(io_json AS TEXT), 'nothing')", "tool_io", "m3"),
    ("UPDATE rich_payloads SET rich_parts_json = '[]' WHERE message_id = 'm4'", "former", "m4"),
    ("UPDATE blobs SET data = 'x' WHERE length(data) = 50000", "blob", ""),
    ("DELETE FROM blobs WHERE length(data) = 50000", "lost", "b1"),
]


@pytest.mark.parametrize(("change", "kind", "message_id"), CHANGES, ids=[f"{c[1]}-{n}" for n, c in enumerate(CHANGES)])
async def test_a_change_is_found_named_and_repaired(
    store: SessionStore, path: Path, change: str, kind: str, message_id: str
) -> None:
    await fill(store)
    before = dict(await store.get_message_shadows([*IDS, "b0", "b1", "b2"]))
    signatures = {key: list(await store.get_signatures(key)) for key in before}
    meddle(path, change)
    report = await verify(store)
    assert report.first_break is not None
    assert (report.first_break.kind, report.first_break.message_id) == (kind, message_id)
    repaired = await repair(store)
    assert repaired != RepairReport()
    after = await verify(store)
    assert after.breaks == ()
    found = await store.get_message_shadows(list(before))
    assert set(found) == set(before) - set(repaired.dropped)
    assert {key: found[key].contents_json for key in found} == {key: before[key].contents_json for key in found}
    assert {key: list(await store.get_signatures(key)) for key in found} == {key: signatures[key] for key in found}


async def test_the_first_break_is_the_one_nearest_to_the_root(store: SessionStore, path: Path) -> None:
    await fill(store)
    meddle(path, *(f"UPDATE message_shadows SET overlay_json = 'x' WHERE message_id = 'm{n}'" for n in (5, 1, 3)))
    report = await verify(store)
    assert [found.message_id for found in report.breaks] == ["m1", "m3", "m5"]


async def test_repairing_a_sound_chat_changes_nothing(store: SessionStore, path: Path) -> None:
    await fill(store)
    await store.seal(sealed("now", "", state="streaming"))
    before = dump(path)
    assert await repair(store) == RepairReport()
    assert dump(path) == before


async def test_only_shadows_whose_bytes_are_wrong_are_dropped(store: SessionStore, path: Path) -> None:
    await fill(store)
    meddle(
        path,
        "UPDATE message_shadows SET full_parts_json = 'not json' WHERE message_id = 'm1'",
        "DELETE FROM blobs WHERE length(data) = 50000",
    )
    await store.get_message_shadows(IDS)
    report = await repair(store)
    assert report.dropped == ("m1", "b1")
    assert set(await store.get_message_shadows([*IDS, "b0", "b1", "b2"])) == {"m0", "m2", "m3", "m4", "m5", "b0", "b2"}
    assert (await verify(store)).is_sound


async def test_orphaned_blobs_go_and_used_ones_stay(store: SessionStore, path: Path) -> None:
    kept = sealed("m1", "a" * 50_000, signed="s" * 40_000)
    await store.seal(sealed("m1", "f" * 40_000))
    await store.seal(kept)
    meddle(path, f"INSERT INTO blobs (sha256, data) VALUES ('{sha256(b'orphan').hexdigest()}', 'orphan')")
    former = list(await store.get_former_shadows("m1"))
    assert (await repair(store)).blobs_dropped == 1
    assert await store.get_message_shadow("m1") == kept.shadow
    assert list(await store.get_signatures("m1")) == list(kept.signatures)
    assert list(await store.get_former_shadows("m1")) == former


async def test_a_rebuilt_index_has_parents_before_children(store: SessionStore, path: Path) -> None:
    seals = await fill(store)
    expected = [link for link in dump(path) if link.startswith('INSERT INTO "suture_index"')]
    meddle(path, "DELETE FROM suture_index")
    await repair(store)
    rows = sqlite3.connect(path)
    order = rows.execute("SELECT cumulative_hash, parent_hash FROM suture_index ORDER BY rowid").fetchall()
    rows.close()
    seen = {ROOT_PARENT}
    for cumulative, parent in order:
        assert parent in seen
        seen.add(cumulative)
    assert {seal.shadow.cumulative_hash for seal in seals} <= seen
    assert len(order) == len(expected)


async def test_a_message_whose_parent_is_lost_for_good_hangs_on_the_root_until_it_is_relinked(
    store: SessionStore, path: Path
) -> None:
    orphan = sealed("m1", "answer", "sha256:" + "ab" * 32, signed="s")
    await store.seal(orphan)
    first = (await verify(store)).first_break
    assert first is not None
    assert first.kind == "parent"
    await repair(store)
    assert (await verify(store)).is_sound
    found = await store.get_message_shadow("m1")
    assert found == relink(orphan.shadow, ROOT_PARENT)
    assert list(await store.get_signatures("m1")) == list(orphan.signatures)
    assert await store.get_tool_io(found.cumulative_hash) == orphan.tool_io_json


async def test_the_model_and_scope_of_lost_signature_rows_come_from_their_neighbours(
    store: SessionStore, path: Path
) -> None:
    await fill(store)
    meddle(path, "DELETE FROM cognitive_signatures WHERE message_id = 'm1'")
    report = await repair(store)
    assert report.signatures_rewritten == ("m1",)
    (row,) = await store.get_signatures("m1")
    assert (row.model_id, row.scope) == ("gemini-x", "gemini-3:aistudio")


async def test_a_damaged_sqlite_index_is_found_and_rebuilt(store: SessionStore, path: Path) -> None:
    await fill(store)
    meddle(
        path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, '(message_id)', '(thought_signature)') "
        "WHERE name = 'idx_sig_msg_id'",
    )
    await store.file.close()
    stores = SessionStores(EchoPaths(path.parents[4]), ManualClock())
    async with stores.open_file(path) as again:
        first = (await verify(again)).first_break
        assert first is not None
        assert first.kind == "file"
        await repair(again)
        assert (await verify(again)).is_sound
    await stores.close()


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    lines = list(connection.iterdump())
    connection.close()
    return lines
