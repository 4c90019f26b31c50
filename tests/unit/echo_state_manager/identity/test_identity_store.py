import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_constants import ConfigError, StateError
from echo_state_manager import _database as database_module
from echo_state_manager._identity_schema import IdentityBusyError, IdentityTooNewError, IdentityUnusableError
from echo_state_manager.crypto import (
    MasterSecret,
    SecretBox,
    SecretDamagedError,
    SecretKeyMismatchError,
    SecretKeyMissingError,
    master_secret,
)
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore
from store_kit import ManualClock

SECRET = MasterSecret("ECHO_SECRET_KEY", "a long secret of this test")
VALUE = "not-a-real-key-0123456789"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "echo" / "identity.db"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[IdentityStore]:
    opened = IdentityStore(path, SECRET, clock)
    yield opened
    await opened.close()


async def test_a_secret_comes_back_for_its_owner_only(store: IdentityStore) -> None:
    await store.put_secret("ada", "gemini_api_key", VALUE)
    assert await store.get_secret("ada", "gemini_api_key") == VALUE
    assert await store.get_secret("bob", "gemini_api_key") is None
    assert await store.get_secret(INSTANCE_OWNER, "gemini_api_key") is None
    assert list(await store.secret_names("bob")) == []


async def test_names_carry_the_time_of_the_last_change_and_no_value(store: IdentityStore, clock: ManualClock) -> None:
    clock.at_s = 1_000
    await store.put_secret("ada", "b", VALUE)
    await store.put_secret("ada", "a", VALUE)
    clock.at_s = 2_000
    await store.put_secret("ada", "a", "another value")
    assert dict(await store.secret_names("ada")) == {"a": 2_000, "b": 1_000}


async def test_putting_again_replaces_and_deleting_removes(store: IdentityStore) -> None:
    await store.put_secret("ada", "k", "first value")
    await store.put_secret("ada", "k", "second value")
    assert await store.get_secret("ada", "k") == "second value"
    assert await store.delete_secret("ada", "k")
    assert not await store.delete_secret("ada", "k")
    assert await store.get_secret("ada", "k") is None


async def test_the_first_owner_with_a_secret_wins(store: IdentityStore) -> None:
    await store.put_secret(INSTANCE_OWNER, "k", "the admin's")
    assert await store.find_secret("k", ("ada", INSTANCE_OWNER)) == (INSTANCE_OWNER, "the admin's")
    await store.put_secret("ada", "k", "her own")
    assert await store.find_secret("k", ("ada", INSTANCE_OWNER)) == ("ada", "her own")
    assert await store.find_secret("k", ()) is None


async def test_no_file_of_the_database_holds_the_value(store: IdentityStore, path: Path) -> None:
    await store.put_secret("ada", "k", VALUE)
    blobs = [entry.read_bytes() for entry in path.parent.iterdir()]
    assert blobs
    assert not any(VALUE.encode() in blob for blob in blobs)


async def test_another_secret_is_told_and_the_file_stays_as_it_is(store: IdentityStore, path: Path) -> None:
    await store.put_secret("ada", "k", VALUE)
    await store.close()
    before = path.read_bytes()
    foreign = IdentityStore(path, MasterSecret("WEBUI_SECRET_KEY", "another secret"), ManualClock())
    with pytest.raises(SecretKeyMismatchError) as caught:
        await foreign.put_secret("ada", "k", "overwritten")
    assert isinstance(caught.value, StateError)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["identity.db"]
    assert await store.get_secret("ada", "k") == VALUE
    for locale in ("en", "fr"):
        assert "ECHO_SECRET_KEY" in caught.value.user_message(locale)


async def test_a_row_moved_to_another_owner_does_not_open(store: IdentityStore, path: Path) -> None:
    await store.put_secret("ada", "k", VALUE)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE secrets SET owner_id = 'bob'")
    raw.close()
    with pytest.raises(SecretDamagedError):
        await store.get_secret("bob", "k")


async def test_a_newer_file_is_refused_untouched(store: IdentityStore, path: Path) -> None:
    await store.open()
    await store.close()
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO _migrations VALUES ('m999_later', 0)")
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(IdentityTooNewError):
        await store.open()
    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_refused_untouched(store: IdentityStore, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"a text of somebody else, long enough to look like a header of a file" * 20)
    before = path.read_bytes()
    with pytest.raises(IdentityUnusableError):
        await store.open()
    assert path.read_bytes() == before


async def test_damage_met_while_in_use_is_told_as_damage_of_accounts_and_keys(store: IdentityStore, path: Path) -> None:
    await store.put_secret("ada", "k", VALUE)
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TABLE secrets")
    raw.close()
    with pytest.raises(IdentityUnusableError) as caught:
        await store.get_secret("ada", "k")
    assert "identity.db" in caught.value.user_message("en") and "identity.db" in caught.value.user_message("fr")
    with pytest.raises(IdentityUnusableError):
        await store.put_secret("ada", "k", VALUE)
    assert path.exists()


async def test_a_file_in_use_elsewhere_is_told_as_such(
    store: IdentityStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_MS", 50)
    await store.open()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(IdentityBusyError) as caught:
        await store.put_secret("ada", "k", VALUE)
    holder.execute("ROLLBACK")
    holder.close()
    assert caught.value.retryable
    assert "chat" not in caught.value.user_message("en")


async def test_closing_twice_and_using_again_is_fine(store: IdentityStore) -> None:
    await store.put_secret("ada", "k", VALUE)
    await store.close()
    await store.close()
    assert await store.get_secret("ada", "k") == VALUE


async def test_the_file_is_private_and_in_wal_mode(store: IdentityStore, path: Path) -> None:
    await store.open()
    assert path.stat().st_mode & 0o077 == 0
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


async def test_many_tasks_write_at_once(store: IdentityStore) -> None:
    await asyncio.gather(*(store.put_secret(f"user{n}", "k", f"value {n}") for n in range(20)))
    assert [await store.get_secret(f"user{n}", "k") for n in range(20)] == [f"value {n}" for n in range(20)]


def test_several_processes_may_create_the_file_at_once(path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from echo_http import SystemClock\n"
        "from echo_state_manager.crypto import MasterSecret\n"
        "from echo_state_manager.identity import IdentityStore\n"
        "async def main():\n"
        "    secret = MasterSecret('ECHO_SECRET_KEY', 'shared secret')\n"
        "    store = IdentityStore(Path(sys.argv[1]), secret, SystemClock())\n"
        "    for n in range(20): await store.put_secret(sys.argv[2], f'k{n}', sys.argv[2])\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )
    libs = Path(__file__).resolve().parents[4] / "libs"
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(path), f"p{n}"], env={"PYTHONPATH": str(libs)})
        for n in range(4)
    ]
    assert [run.wait(60) for run in runs] == [0] * 4

    async def check() -> None:
        store = IdentityStore(path, MasterSecret("ECHO_SECRET_KEY", "shared secret"), ManualClock())
        for n in range(4):
            assert len(await store.secret_names(f"p{n}")) == 20
            assert await store.get_secret(f"p{n}", "k7") == f"p{n}"
        await store.close()

    asyncio.run(check())


async def test_a_file_that_another_process_is_just_making_belongs_to_everybody(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE vault_meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
    store = IdentityStore(path, MasterSecret("ECHO_SECRET_KEY", "any secret"), ManualClock())
    await store.check_secret()
    assert path.exists()


async def test_settings_belong_to_one_user(store: IdentityStore) -> None:
    await store.save_setting("ada", "theme", "dark")
    await store.save_setting("ada", "theme", "light")
    assert await store.get_setting("ada", "theme") == "light"
    assert await store.get_setting("bob", "theme") is None


async def test_the_index_keeps_owner_parent_and_purge(store: IdentityStore) -> None:
    await store.index_chat("c2", "ada", "c1")
    await store.index_chat("c2", "ada")
    chat = await store.get_chat("c2")
    assert chat is not None
    assert (chat.owner_id, chat.parent_chat_id, chat.purged_at_s) == ("ada", "c1", None)
    await store.mark_purged("ada", ["c2", "never-seen"])
    for chat_id in ("c2", "never-seen"):
        purged = await store.get_chat(chat_id)
        assert purged is not None
        assert purged.purged_at_s is not None
    assert await store.get_chat("c3") is None


async def test_forgetting_a_user_leaves_the_others(store: IdentityStore) -> None:
    for user in ("ada", "bob"):
        await store.put_secret(user, "k", VALUE)
        await store.save_setting(user, "s", "1")
        await store.index_chat(f"chat-{user}", user)
    await store.forget_user("ada")
    assert await store.get_secret("ada", "k") is None
    assert await store.get_setting("ada", "s") is None
    assert await store.get_chat("chat-ada") is None
    assert await store.get_secret("bob", "k") == VALUE
    assert await store.get_setting("bob", "s") == "1"
    assert await store.get_chat("chat-bob") is not None
    with pytest.raises(ValueError, match="instance"):
        await store.forget_user(INSTANCE_OWNER)


def test_echo_secret_key_goes_before_open_webuis() -> None:
    assert master_secret({"ECHO_SECRET_KEY": "a", "WEBUI_SECRET_KEY": "b"}) == MasterSecret("ECHO_SECRET_KEY", "a")
    assert master_secret({"ECHO_SECRET_KEY": "", "WEBUI_SECRET_KEY": "b"}).variable == "WEBUI_SECRET_KEY"
    with pytest.raises(SecretKeyMissingError) as caught:
        master_secret({})
    assert isinstance(caught.value, ConfigError)


def test_the_secret_does_not_show_itself() -> None:
    assert SECRET.value not in repr(SECRET)


@given(owner=st.text(), name=st.text(), value=st.text())
def test_what_is_sealed_opens_for_the_same_owner_and_name(owner: str, name: str, value: str) -> None:
    box = SecretBox(SECRET, bytes(32))
    sealed = box.seal(owner, name, value)
    assert box.open(owner, name, sealed) == value
    assert box.seal(owner, name, value) != sealed
    with pytest.raises(SecretDamagedError):
        box.open(owner + "x", name, sealed)


@given(data=st.data())
def test_any_changed_bit_is_noticed(data: st.DataObject) -> None:
    box = SecretBox(SECRET, bytes(32))
    sealed = bytearray(box.seal("ada", "k", VALUE))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(SecretDamagedError):
        box.open("ada", "k", bytes(sealed))
