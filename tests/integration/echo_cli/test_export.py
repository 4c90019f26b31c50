"""`echoctl export` and `echoctl import` over real files: whole or refused, and never for somebody else by accident."""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from echo_cli import build_app
from echo_cli._chat_archive import FORMAT, MAGIC
from echo_core.records import Seal
from echo_paths import EchoPaths
from echo_state_manager import SessionStores, verify
from echo_state_manager.crypto import MasterSecret
from store_kit import ManualClock, chain, sealed, shadow

ADA, BOB = "ada-1", "bob-2"
SECRET = "the secret of one machine"
MESSAGES = ["hello", "big", "and?", "nothing"]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ECHO_SECRET_KEY", "ECHO_EXPORT_PASSPHRASE", "DATA_DIR", "ECHO_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WEBUI_SECRET_KEY", SECRET)


def stores_of(root: Path) -> SessionStores:
    return SessionStores(EchoPaths(root), ManualClock(), MasterSecret("WEBUI_SECRET_KEY", SECRET))


def fill(root: Path, *, encrypted: bool = False) -> list[Seal]:
    """Two chats of Ada's with a former version, a blob, settings and a running turn, and one of Bob's."""

    async def write() -> list[Seal]:
        stores = stores_of(root)
        seals = chain(MESSAGES)
        image = sealed("image", "i" * 50_000, seals[-1].shadow.cumulative_hash, signed="s" * 40_000)
        for owner, chat in ((ADA, "one"), (ADA, "two"), (BOB, "three")):
            async with stores.open(owner, chat, encrypted=encrypted) as store:
                prefix = chat[0]
                await store.seal_many(chain(MESSAGES, prefix=prefix) if chat != "one" else [*seals, image])
                if chat == "one":
                    await store.seal(sealed("m2", "edited", seals[1].shadow.cumulative_hash, role="user"))
                    await store.seal(Seal(shadow=shadow("now", "", state="streaming", cumulative_hash="")))
                await store.save_setting("system", f"prompt of {chat}")
        async with stores.open_api(ADA, encrypted=encrypted) as store:
            await store.seal_many(chain(["q", "a"], prefix="api"))
        await stores.close()
        edited = sealed("m2", "edited", seals[1].shadow.cumulative_hash, role="user")
        return [*seals[:2], edited, seals[3], image]

    return asyncio.run(write())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "here"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Another machine's data folder, on which Ada is known."""
    EchoPaths(tmp_path / "there").user_dir(ADA).mkdir(parents=True)
    return tmp_path / "there"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(build_app(), [*map(str, arguments), "--json"])


def facts(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refused(result: Result) -> str:
    assert result.exit_code != 0
    return str(facts(result)["error"]["code"])


async def look(root: Path, owner: str, seals: list[Seal]) -> None:
    """Everything of the first chat is among what was imported."""
    stores = stores_of(root)
    async with stores.open_imported(owner) as store:
        assert store is not None
        found = await store.get_message_shadows([seal.shadow.message_id for seal in seals])
        for seal in seals:
            assert found[seal.shadow.message_id] == seal.shadow
            assert list(await store.get_signatures(seal.shadow.message_id)) == list(seal.signatures)
            assert await store.get_tool_io(seal.shadow.cumulative_hash) == seal.tool_io_json
        assert [former.visible_text for former in await store.get_former_shadows("m2")] == ["and?"]
        assert await store.get_message_shadow("now") is None
        assert await store.get_setting("one/system") == "prompt of one"
        assert (await verify(store)).is_sound
    await stores.close()


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_chat_goes_to_another_machine_with_everything_it_holds(
    root: Path, there: Path, tmp_path: Path, encrypted: bool
) -> None:
    seals, file = fill(root, encrypted=encrypted), tmp_path / "chat.echo"
    made = run("export", "--chat", "one", "--out", file, "--data", root)
    assert made.exit_code == 0, made.output
    assert facts(made)["owner"] == ADA
    assert file.stat().st_mode & 0o077 == 0
    taken = run("import", file, "--data", there)
    assert taken.exit_code == 0, taken.output
    assert (facts(taken)["user"], facts(taken)["added"], facts(taken)["chats"]) == (ADA, 5, ["one"])
    asyncio.run(look(there, ADA, seals))


def test_all_chats_of_one_user_fit_into_one_file(root: Path, there: Path, tmp_path: Path) -> None:
    fill(root)
    made = facts(run("export", "--user", ADA, "--out", tmp_path / "ada.echo", "--data", root))
    assert [chat["chat"] for chat in made["chats"]] == ["one", "two"]
    assert facts(run("import", tmp_path / "ada.echo", "--data", there))["added"] == 9
    assert facts(run("verify", "--data", there))["messages"] == 9


def test_importing_twice_changes_nothing(root: Path, there: Path, tmp_path: Path) -> None:
    seals, file = fill(root), tmp_path / "chat.echo"
    run("export", "--chat", "one", "--out", file, "--data", root)
    run("import", file, "--data", there)
    again = facts(run("import", file, "--data", there))
    assert (again["added"], again["restored"], again["known"], again["kept"]) == (0, 0, 5, 0)
    asyncio.run(look(there, ADA, seals))


def test_nothing_of_what_was_said_can_be_read_in_the_file(root: Path, tmp_path: Path) -> None:
    fill(root)
    run("export", "--user", ADA, "--out", tmp_path / "ada.echo", "--data", root)
    content = (tmp_path / "ada.echo").read_bytes()
    assert content.startswith(MAGIC)
    assert [word for word in (b"hello", b"prompt", b"SQLite", ADA.encode(), b"one") if word in content[400:]] == []


def test_it_is_never_another_users_by_accident(root: Path, there: Path, tmp_path: Path) -> None:
    seals, file = fill(root), tmp_path / "chat.echo"
    run("export", "--chat", "one", "--out", file, "--data", root)
    shutil.rmtree(EchoPaths(there).user_dir(ADA))
    EchoPaths(there).user_dir(BOB).mkdir(parents=True)
    assert refused(run("import", file, "--data", there)) == "import_user_unknown"
    for arguments in (["--to", BOB], ["--from", ADA, "--to", BOB, "--from", BOB], ["--to", ADA, "--from", BOB]):
        result = run("import", file, "--data", there, *arguments)
        assert (refused(result), result.exit_code) == ("import_owner", 11)
    assert list(EchoPaths(there).session_files()) == []
    mapped = facts(run("import", file, "--data", there, "--to", BOB, "--from", ADA))
    assert (mapped["owner"], mapped["user"]) == (ADA, BOB)
    asyncio.run(look(there, BOB, seals))


def test_a_passphrase_opens_it_where_the_secret_is_another(
    root: Path, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(root)
    words, wrong, file = tmp_path / "words", tmp_path / "wrong", tmp_path / "chat.echo"
    words.write_text("correct horse\n")
    wrong.write_text("battery staple\n")
    run("export", "--chat", "one", "--out", file, "--passphrase-file", words, "--data", root)
    monkeypatch.setenv("WEBUI_SECRET_KEY", "the secret of another machine")
    assert refused(run("import", file, "--data", there)) == "export_locked"
    assert refused(run("import", file, "--passphrase-file", wrong, "--data", there)) == "export_locked"
    assert facts(run("import", file, "--passphrase-file", words, "--data", there))["added"] == 5
    monkeypatch.setenv("ECHO_EXPORT_PASSPHRASE", "correct horse")
    assert facts(run("import", file, "--data", there))["known"] == 5


def test_a_file_under_the_secret_does_not_open_with_another(
    root: Path, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(root)
    run("export", "--chat", "one", "--out", tmp_path / "chat.echo", "--data", root)
    monkeypatch.setenv("WEBUI_SECRET_KEY", "the secret of another machine")
    assert refused(run("import", tmp_path / "chat.echo", "--data", there)) == "export_locked"
    monkeypatch.delenv("WEBUI_SECRET_KEY")
    assert refused(run("import", tmp_path / "chat.echo", "--data", there)) == "export_locked"
    assert refused(run("export", "--chat", "one", "--out", tmp_path / "new.echo", "--data", root)) == "export_key"


def test_a_damaged_file_is_refused_whole(root: Path, there: Path, tmp_path: Path) -> None:
    fill(root)
    file = tmp_path / "ada.echo"
    run("export", "--user", ADA, "--out", file, "--data", root)
    whole = file.read_bytes()
    head = whole.index(b"}}") + 2
    spoilt = [
        whole[:-1],
        whole[: len(whole) // 2],
        whole[:head],
        whole + b"more",
        whole[:head] + bytes([whole[head]]) + whole[head + 1 : -20] + bytes([whole[-20] ^ 1]) + whole[-19:],
        whole.replace(b'"created_at":"2', b'"created_at":"3'),
        whole[:12],
    ]
    for content in spoilt:
        file.write_bytes(content)
        assert refused(run("import", file, "--data", there)) == "export_damaged"
    assert list(EchoPaths(there).session_files()) == []
    file.write_bytes(whole)
    assert run("import", file, "--data", there).exit_code == 0


def test_foreign_and_newer_files_are_named(root: Path, there: Path, tmp_path: Path) -> None:
    fill(root)
    file = tmp_path / "chat.echo"
    run("export", "--chat", "one", "--out", file, "--data", root)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(MAGIC)] + bytes([FORMAT + 1]) + whole[len(MAGIC) + 1 :])
    assert refused(run("import", file, "--data", there)) == "export_newer"
    for content in (b"", b'{"chat": {}}', b"SQLite format 3\0" * 100):
        file.write_bytes(content)
        assert refused(run("import", file, "--data", there)) == "export_foreign"


def test_records_that_are_not_what_was_sealed_are_not_exported(root: Path, tmp_path: Path) -> None:
    fill(root)
    with closing(sqlite3.connect(EchoPaths(root).session_db(ADA, "two"), isolation_level=None)) as database:
        database.execute("UPDATE message_shadows SET overlay_json = '[1]' WHERE message_id = 't1'")
    result = run("export", "--user", ADA, "--out", tmp_path / "ada.echo", "--data", root)
    assert refused(result) == "records_unsound"
    assert "repair --chat two" in facts(result)["error"]["remedy"]
    assert list(tmp_path.glob("*.echo")) == []


def test_whose_records_are_meant_must_be_said(root: Path, tmp_path: Path) -> None:
    fill(root)
    assert refused(run("export", "--out", tmp_path / "x.echo", "--data", root)) == "export_choice"
    assert refused(run("export", "--chat", "_api", "--out", tmp_path / "x.echo", "--data", root)) == "export_choice"
    assert refused(run("export", "--chat", "nobody", "--out", tmp_path / "x.echo", "--data", root)) == "no_records"
    (tmp_path / "x.echo").write_text("mine")
    assert refused(run("export", "--chat", "one", "--out", tmp_path / "x.echo", "--data", root)) == "backup_exists"
    assert (tmp_path / "x.echo").read_text() == "mine"
