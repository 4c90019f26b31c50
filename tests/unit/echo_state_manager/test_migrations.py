"""Schema steps: forward only, each whole with its record or not at all."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import migration_victim
from echo_core.records import Seal
from echo_paths import EchoPaths
from echo_state_manager import ForeignFileError, FutureFileError, SessionStores, verify, verify_file
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


async def older_file(tmp_path: Path, path: Path, steps_: int) -> list[Seal]:
    """A file with records as the version that knew so many steps wrote it."""
    seals = chain(["q", "big", "q2", "a" * 50_000])
    stores = SessionStores(EchoPaths(tmp_path / "newest"), ManualClock(5))
    async with stores.open(USER, CHAT) as store:
        await store.seal_many(seals)
        await store.save_setting("k", "v")
    await stores.close()
    await bring(path, SESSION_MIGRATIONS[:steps_])
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute(f"ATTACH '{EchoPaths(tmp_path / 'newest').session_db(USER, CHAT)}' AS newest")
        tables = [row[0] for row in old.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")]
        for table in set(tables) - {"_migrations", "vault_meta"}:
            names = ", ".join(row[1] for row in old.execute(f"PRAGMA main.table_info({table})"))
            old.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM newest.{table}")
    return seals


async def assert_upgraded(tmp_path: Path, seals: list[Seal]) -> None:
    stores = SessionStores(EchoPaths(tmp_path), ManualClock(9))
    async with stores.open_file(EchoPaths(tmp_path).session_db(USER, CHAT)) as store:
        assert (await verify(store)).is_sound
        expected = {seal.shadow.message_id: seal.shadow for seal in seals}
        assert await store.get_message_shadows(list(expected)) == expected
        for seal in seals:
            assert list(await store.get_signatures(seal.shadow.message_id)) == list(seal.signatures)
            assert await store.get_tool_io(seal.shadow.cumulative_hash) == seal.tool_io_json
        assert await store.get_setting("k") == "v"
        assert store.take_notices() == ()
    await stores.close()


@pytest.mark.parametrize("older", range(1, len(SESSION_MIGRATIONS)))
async def test_records_of_every_released_schema_are_read_and_kept(tmp_path: Path, older: int) -> None:
    path = EchoPaths(tmp_path).session_db(USER, CHAT)
    seals = await older_file(tmp_path, path, older)
    assert len(steps(path)) == older
    before = path.read_bytes()
    assert (await verify_file(path, 9)).messages == len(seals)
    assert path.read_bytes() == before, "verifying does not upgrade"
    await assert_upgraded(tmp_path, seals)
    assert len(steps(path)) == len(SESSION_MIGRATIONS)


@pytest.mark.parametrize(
    "statement", [1, len(SESSION_MIGRATIONS[-1].statements) // 2, len(SESSION_MIGRATIONS[-1].statements)]
)
async def test_an_upgrade_that_is_killed_half_way_never_happened_and_is_made_again(
    tmp_path: Path, statement: int
) -> None:
    path = EchoPaths(tmp_path).session_db(USER, CHAT)
    older = len(SESSION_MIGRATIONS) - 1
    seals = await older_file(tmp_path, path, older)
    before = schema(path)
    argv = [sys.executable, migration_victim.__file__, str(path), str(statement)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "here\n"
        victim.kill()
    assert (schema(path), len(steps(path))) == (before, older)
    await assert_upgraded(tmp_path, seals)
