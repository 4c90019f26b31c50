"""Schema steps: forward only, each whole with its record or not at all."""

import sqlite3
from pathlib import Path

import pytest

from echo_paths import EchoPaths
from echo_state_manager import ForeignFileError, FutureFileError, SessionStores, verify
from echo_state_manager import _session_file as session_file
from echo_state_manager._database import open_database
from echo_state_manager._migrations import SESSION_MIGRATIONS, Migration, migrate
from store_kit import CHAT, USER, ManualClock, chain

#: Tables and columns that the specification names. Source: docs/design.md section 4.
SPECIFIED = {
    "message_shadows": {
        "message_id",
        "chat_id",
        "role",
        "full_parts_json",
        "updated_at",
        "is_embedded",
        "cumulative_hash",
        "fingerprint",
        "state",
        "overlay_json",
        "backend",
        "model_id",
    },
    "suture_index": {"cumulative_hash", "chat_id", "invariant_hash", "parent_hash", "message_id", "timestamp"},
    "cognitive_signatures": {
        "cumulative_hash",
        "part_index",
        "thought_signature",
        "message_id",
        "model_id",
        "scope",
        "updated_at",
    },
    "tool_journal": {"cumulative_hash", "io_json", "updated_at"},
    "rich_payloads": {"invariant_hash", "rich_parts_json", "message_id", "created_at"},
    "blobs": {"sha256", "data"},
    "turn_log": {"message_id", "seq", "data"},
    "echo_resources": {
        "id",
        "name",
        "resource_type",
        "status",
        "item_type",
        "updated_at",
        "payload",
        "created_at",
        "anchor_message_id",
    },
    "drains": {"resource_id", "answer_id"},
    "echo_settings": {"key", "value", "updated_at"},
}

EXTRA = Migration(
    "m900_extra", ("CREATE TABLE extra (x)", "ALTER TABLE echo_settings ADD COLUMN note TEXT NOT NULL DEFAULT 'n'")
)
BROKEN = Migration("m901_broken", ("CREATE TABLE half (x)", "THIS IS NOT SQL"))


def schema(path: Path) -> set[tuple[str, ...]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return set(rows)


def steps(path: Path) -> list[tuple[str, int]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, applied_at FROM _migrations ORDER BY name").fetchall()
    assert connection.execute("PRAGMA user_version").fetchone() == (len(rows),)
    connection.close()
    return rows


async def bring(path: Path, migrations: tuple[Migration, ...], now_s: float = 5) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    database = await open_database(path, migrations, ManualClock(now_s))
    await database.close()


async def test_a_fresh_file_has_every_table_and_column_of_the_specification(tmp_path: Path) -> None:
    path = tmp_path / "session.db"
    await bring(path, SESSION_MIGRATIONS)
    connection = sqlite3.connect(path)
    for table, columns in SPECIFIED.items():
        found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        assert columns <= found, table
    indexed = connection.execute("PRAGMA index_info(idx_sig_msg_id)").fetchall()
    assert [row[2] for row in indexed] == ["message_id"]
    connection.close()


@pytest.mark.parametrize("older", range(len(SESSION_MIGRATIONS)))
async def test_an_upgraded_file_has_the_schema_of_a_fresh_one(tmp_path: Path, older: int) -> None:
    fresh, upgraded = tmp_path / "fresh.db", tmp_path / "upgraded.db"
    await bring(fresh, SESSION_MIGRATIONS)
    await bring(upgraded, SESSION_MIGRATIONS[:older])
    await bring(upgraded, SESSION_MIGRATIONS)
    assert schema(upgraded) == schema(fresh)
    assert [name for name, _ in steps(upgraded)] == [step.name for step in SESSION_MIGRATIONS]


async def test_a_file_of_the_version_before_keeps_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = EchoPaths(tmp_path)
    seals = chain(["q", "big", "q2", "a" * 50_000])
    before = SessionStores(paths, ManualClock(5))
    async with before.open_file(paths.session_db(USER, CHAT)) as store:
        await store.seal_many(seals)
        await store.save_setting("k", "v")
    await before.close()
    monkeypatch.setattr(session_file, "SESSION_MIGRATIONS", (*SESSION_MIGRATIONS, EXTRA))
    after = SessionStores(paths, ManualClock(9))
    async with after.open_file(paths.session_db(USER, CHAT)) as store:
        assert (await verify(store)).is_sound
        expected = {seal.shadow.message_id: seal.shadow for seal in seals}
        assert await store.get_message_shadows(list(expected)) == expected
        assert await store.get_setting("k") == "v"
        assert await store.file.rows("SELECT note FROM echo_settings") == [("n",)]
        assert store.take_notices() == ()
    await after.close()
    recorded = steps(paths.session_db(USER, CHAT))
    assert recorded == [
        (SESSION_MIGRATIONS[0].name, 5),
        *((s.name, 5) for s in SESSION_MIGRATIONS[1:]),
        (EXTRA.name, 9),
    ]


async def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "session.db"
    await bring(path, (*SESSION_MIGRATIONS, EXTRA))
    before = schema(path), steps(path)
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="syntax error"):
        migrate(connection, (*SESSION_MIGRATIONS, EXTRA, BROKEN), 9)
    connection.close()
    assert (schema(path), steps(path)) == before


async def test_steps_are_done_once(tmp_path: Path) -> None:
    path = tmp_path / "session.db"
    for now_s in (5, 6, 7):
        await bring(path, SESSION_MIGRATIONS, now_s)
    assert {applied_at for _, applied_at in steps(path)} == {5}


@pytest.mark.parametrize(
    ("found", "known", "kind"),
    [
        ((*SESSION_MIGRATIONS, EXTRA), SESSION_MIGRATIONS, FutureFileError),
        ((Migration("m000_theirs", ("CREATE TABLE theirs (x)",)),), (*SESSION_MIGRATIONS, EXTRA), ForeignFileError),
    ],
)
async def test_steps_that_are_not_ours_are_refused(
    tmp_path: Path, found: tuple[Migration, ...], known: tuple[Migration, ...], kind: type[Exception]
) -> None:
    path = tmp_path / "session.db"
    await bring(path, found)
    before = schema(path)
    with pytest.raises(kind):
        await bring(path, known)
    assert schema(path) == before


def test_step_names_are_unique_and_sorted() -> None:
    names = [step.name for step in SESSION_MIGRATIONS]
    assert names == sorted(set(names))
