"""`echoctl verify` and `echoctl repair` over real files, whole and damaged ones."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from echo_cli import build_app
from echo_cli._breaks import BREAKS
from echo_paths import EchoPaths
from echo_state_manager import SessionStores
from echo_state_manager._migrations import SESSION_MIGRATIONS
from echo_state_manager.crypto import MasterSecret
from store_kit import ManualClock, chain, sealed

OWNER = "0b9cf3f6-aaaa-4bbb-8ccc-000000000001"
CHATS = ("first", "second")
MESSAGES = 240


@pytest.fixture(autouse=True)
def no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ECHO_SECRET_KEY", "WEBUI_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data folder with two chats and one file of API calls, as a clean stop leaves it."""

    async def fill() -> None:
        stores = SessionStores(EchoPaths(tmp_path / "echo"), ManualClock())
        seals = chain([f"text {n} " + "word " * 80 for n in range(MESSAGES)])
        for chat in CHATS:
            async with stores.open(OWNER, chat) as store:
                await store.seal_many(seals)
                await store.save_setting("kept", "value")
        async with stores.open_api(OWNER) as store:
            await store.seal_many(chain(["q", "big"], prefix="api"))
        await stores.close()

    asyncio.run(fill())
    return tmp_path / "echo"


def session(root: Path, chat: str = "first") -> Path:
    return EchoPaths(root).session_db(OWNER, chat)


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def garbage(path: Path, first_page: int, pages: int) -> None:
    with path.open("r+b") as file:
        file.seek(4096 * first_page)
        file.write(b"\xff" * 4096 * pages)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), [*arguments, "--json"])


def facts(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm"))}


def test_sound_records_are_called_sound_and_left_alone(root: Path) -> None:
    before = everything(session(root).parent)
    result = run("verify", "--data", str(root))
    assert result.exit_code == 0
    assert facts(result) == {
        "ok": True,
        "sound": True,
        "chats": 3,
        "messages": 2 * MESSAGES + 2,
        "chains": 3,
        "unsound": 0,
        "problems": [],
        "set_aside": [],
    }
    repaired = run("repair", "--data", str(root))
    assert (repaired.exit_code, facts(repaired)["repaired"], facts(repaired)["files"]) == (0, 0, [])
    assert everything(session(root).parent) == before


def test_the_first_break_is_named_by_chat_message_and_difference(root: Path) -> None:
    change(
        session(root, "second"),
        *(f"UPDATE message_shadows SET overlay_json = '[1]' WHERE message_id = 'm{n}'" for n in (9, 4)),
    )
    result = run("verify", "--data", str(root))
    assert result.exit_code == 10
    [problem] = facts(result)["problems"]
    assert (problem["user"], problem["chat"], problem["error"]) == (OWNER, "second", None)
    assert [(found["kind"], found["message_id"]) for found in problem["breaks"]] == [("bytes", "m4"), ("bytes", "m9")]
    assert problem["breaks"][0]["what"] == BREAKS["bytes"].en
    shown = CliRunner().invoke(build_app(), ["verify", "--data", str(root)], env={"COLUMNS": "300"}).stdout
    assert f"chat second of user {OWNER}: first break at message m4: {BREAKS['bytes'].en} (and 1 more)" in shown


def test_a_french_shell_is_told_in_french(root: Path) -> None:
    change(session(root), "DELETE FROM suture_index WHERE message_id = 'm3'")
    argv = [sys.executable, "-m", "echo_cli", "verify", "--data", str(root)]
    shown = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        env={"ECHO_LANG": "fr", "PYTHONPATH": "libs", "COLUMNS": "300"},
        timeout=60,
    )
    assert shown.returncode == 10
    assert f"conversation first de l'utilisateur {OWNER} : première rupture au message m4" in shown.stdout
    assert BREAKS["parent"].fr in shown.stdout


def test_one_chat_can_be_chosen_and_a_wrong_id_is_an_error(root: Path) -> None:
    change(session(root, "second"), "DELETE FROM suture_index")
    assert facts(run("verify", "--data", str(root), "--chat", "first"))["chats"] == 1
    assert run("verify", "--data", str(root), "--user", OWNER, "--chat", "second").exit_code == 10
    wrong = run("verify", "--data", str(root), "--chat", "third")
    assert (wrong.exit_code, facts(wrong)["error"]["code"]) == (3, "no_records")


def test_it_verifies_while_another_process_writes(root: Path) -> None:
    argv = [sys.executable, "tests/store_writer.py", "turns", str(root), "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if line.startswith("answered 3"):
                break
        looked = [run("verify", "--data", str(root), "--user", "u1") for _ in range(3)]
        assert writer.poll() is None
        writer.kill()
    assert [(result.exit_code, facts(result)["sound"]) for result in looked] == [(0, True)] * 3
    assert facts(looked[0])["messages"] >= 8


def test_a_repair_keeps_a_copy_and_says_what_it_did(root: Path) -> None:
    path = session(root)
    change(
        path,
        "UPDATE message_shadows SET overlay_json = '[1]' WHERE message_id = 'm7'",
        "DELETE FROM suture_index WHERE message_id = 'm20'",
        "DELETE FROM cognitive_signatures WHERE message_id = 'm31'",
    )
    before = path.read_bytes()
    result = run("repair", "--data", str(root))
    assert result.exit_code == 0
    [file] = facts(result)["files"]
    assert file["chat"] == "first"
    done = {name: value for name, value in file["done"].items() if value}
    assert done["dropped"] == ["m7"]
    assert done["signatures_rewritten"] == ["m31"]
    assert done["links_rewritten"] >= 1
    kept = Path(file["kept_as"])
    assert kept.parent == path.parent and kept.name.startswith("session.db.before-repair-")
    assert kept.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(kept)) as copy, closing(sqlite3.connect(":memory:")) as original:
        path_before = path.with_name("before")
        path_before.write_bytes(before)
        original.execute(f"ATTACH '{path_before}' AS o")
        assert (
            copy.execute("SELECT * FROM message_shadows").fetchall()
            == original.execute("SELECT * FROM o.message_shadows").fetchall()
        )
    verified = facts(run("verify", "--data", str(root), "--chat", "first"))
    assert (verified["sound"], verified["messages"], verified["set_aside"]) == (True, MESSAGES - 1, [str(kept)])


@pytest.mark.parametrize(
    ("first_page", "pages", "messages"),
    # The second takes the root page of a table with it.
    [(40, 30, MESSAGES // 2), (2, 12, 0), (100, 4, MESSAGES // 2)],
)
def test_what_can_still_be_read_of_a_damaged_file_is_saved(
    root: Path, first_page: int, pages: int, messages: int
) -> None:
    path = session(root)
    garbage(path, first_page, pages)
    damaged = path.read_bytes()
    looked = run("verify", "--data", str(root))
    assert looked.exit_code == 10
    assert facts(looked)["problems"][0]["chat"] == "first"
    assert path.read_bytes() == damaged
    result = run("repair", "--data", str(root))
    assert result.exit_code == 0
    [file] = facts(result)["files"]
    assert Path(file["kept_as"]).read_bytes() == damaged
    assert file["rows_saved"] > 0
    verified = facts(run("verify", "--data", str(root), "--chat", "first"))
    assert verified["sound"]
    assert verified["messages"] >= messages


def test_a_file_without_a_readable_schema_becomes_an_empty_one(root: Path) -> None:
    path = session(root)
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3900)
    [file] = facts(run("repair", "--data", str(root)))["files"]
    assert file["rows_saved"] == 0
    assert facts(run("verify", "--data", str(root), "--chat", "first"))["messages"] == 0


def foreign(path: Path) -> None:
    path.write_bytes(b"somebody's diary " * 500)


def newer(path: Path) -> None:
    change(
        path,
        "INSERT INTO _migrations VALUES ('m999_future', 0)",
        f"PRAGMA user_version = {len(SESSION_MIGRATIONS) + 1}",
    )


@pytest.mark.parametrize(("spoil", "code"), [(foreign, "store_file_foreign"), (newer, "store_file_future")])
def test_files_that_are_not_ours_to_repair_are_named_and_not_touched(
    root: Path, spoil: Callable[[Path], None], code: str
) -> None:
    spoil(session(root))
    before = everything(session(root).parent)
    looked = run("verify", "--data", str(root))
    assert (looked.exit_code, facts(looked)["problems"][0]["error"]["code"]) == (10, code)
    result = run("repair", "--data", str(root))
    assert (result.exit_code, facts(result)["files"][0]["error"]["code"]) == (6, code)
    assert everything(session(root).parent) == before


def test_an_older_file_is_verified_without_being_upgraded(root: Path) -> None:
    path = session(root)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute(f"DELETE FROM _migrations WHERE name <> '{SESSION_MIGRATIONS[0].name}'")
        database.execute("PRAGMA user_version = 0")
        for table in ("_migrations", *_tables(database)):
            database.execute(f"DROP TABLE IF EXISTS {table}")
    before = path.read_bytes()
    looked = facts(run("verify", "--data", str(root), "--chat", "first"))
    assert (looked["sound"], looked["messages"]) == (True, 0)
    assert path.read_bytes() == before


def _tables(database: sqlite3.Connection) -> list[str]:
    return [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


SECRETS = ("the former secret", "the new secret")


def go_on_without(root: Path, secret: str | None) -> None:
    """What a running ECHO does with a file it cannot use: it sets it aside, and recovers messages from the page."""

    async def recover() -> None:
        stores = SessionStores(EchoPaths(root), ManualClock(), None if secret is None else _secret(secret))
        async with stores.open(OWNER, "first") as store:
            await store.get_setting("kept")
            assert await store.get_message_shadows(["m0", "m1"]) == {}
            assert len(store.take_notices()) == 1
            text = f"text 1 {'word ' * 80}"
            await store.seal_many([sealed("m0", f"text 0 {'word ' * 80}", role="user"), sealed("m1", text)])
            await store.seal(sealed("m3", "edited meanwhile"))
        await stores.close()

    asyncio.run(recover())


def _secret(value: str) -> MasterSecret:
    return MasterSecret("ECHO_SECRET_KEY", value)


def assert_all_is_back(root: Path, result: Result) -> None:
    assert result.exit_code == 0, result.output
    [file] = facts(result)["files"]
    [back] = file["back"]
    assert (back["added"], back["restored"]) == (MESSAGES - 3, 1)
    assert Path(back["path"]).exists()
    assert facts(run("verify", "--data", str(root), "--chat", "first"))["sound"]
    assert facts(run("repair", "--data", str(root)))["files"] == [], "there is nothing left to bring back"


def test_records_under_the_former_secret_come_back_with_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def encrypt() -> None:
        session(root).unlink()
        stores = SessionStores(EchoPaths(root), ManualClock(), _secret(SECRETS[0]))
        async with stores.open(OWNER, "first", encrypted=True) as store:
            await store.seal_many(chain([f"text {n} " + "word " * 80 for n in range(MESSAGES)]))
        await stores.close()

    asyncio.run(encrypt())
    go_on_without(root, SECRETS[1])
    monkeypatch.setenv("ECHO_SECRET_KEY", SECRETS[1])
    assert facts(run("repair", "--data", str(root)))["files"] == []
    monkeypatch.setenv("ECHO_SECRET_KEY", SECRETS[0])
    assert_all_is_back(root, run("repair", "--data", str(root)))


def test_records_of_a_newer_version_come_back_after_the_update(root: Path) -> None:
    newer(session(root))
    go_on_without(root, None)
    [aside] = session(root).parent.glob("session.db.future-*")
    assert facts(run("repair", "--data", str(root)))["files"] == []
    change(
        aside, "DELETE FROM _migrations WHERE name = 'm999_future'", f"PRAGMA user_version = {len(SESSION_MIGRATIONS)}"
    )
    assert_all_is_back(root, run("repair", "--data", str(root)))


def test_what_can_be_read_of_a_damaged_file_comes_back_after_it_was_set_aside(root: Path) -> None:
    change(session(root), "DROP TABLE echo_settings")
    go_on_without(root, None)
    assert_all_is_back(root, run("repair", "--data", str(root)))
