"""Files that are damaged, foreign or from the future: set aside unchanged, told once, and the chat goes on."""

import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from echo_constants import StateError
from echo_core.records import Seal
from echo_paths import EchoPaths
from echo_state_manager import (
    DamagedFileError,
    ForeignFileError,
    FutureFileError,
    SessionStores,
    StoreBusyError,
    StoreFullError,
    StoreUnavailableError,
)
from echo_state_manager._errors import store_error
from echo_state_manager._files import identity_of, set_aside
from echo_state_manager._migrations import SESSION_MIGRATIONS
from store_kit import CHAT, USER, ManualClock, seal, shadow

STAMP = "20270115T080000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return EchoPaths(tmp_path).session_db(USER, CHAT)


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[SessionStores]:
    opened = SessionStores(EchoPaths(tmp_path), ManualClock())
    yield opened
    await opened.close()


async def fill(tmp_path: Path, messages: int = 300) -> None:
    """A sound file of a few hundred kilobytes, closed cleanly."""
    opened = SessionStores(EchoPaths(tmp_path), ManualClock())
    async with opened.open(USER, CHAT) as store:
        await store.seal_many([seal(f"m{n}", f"text {n} " + "word " * 100) for n in range(messages)])
    await opened.close()


def not_sqlite(path: Path) -> None:
    path.write_bytes(b"hello, this is somebody's diary" * 100)


def shorter_than_a_header(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


def another_application(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()


def other_steps(path: Path) -> None:
    with sqlite3.connect(path) as ours:
        ours.execute("UPDATE _migrations SET name = name || '_elsewhere'")
        ours.execute("PRAGMA user_version = 0")
    ours.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as ours:
        ours.execute("INSERT INTO _migrations VALUES ('m999_future', 0)")
        ours.execute(f"PRAGMA user_version = {len(SESSION_MIGRATIONS) + 1}")
    ours.close()


def cut_off(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(4096 * 3 + 100)


def garbage_in_the_schema(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3900)


def table_gone(path: Path) -> None:
    with sqlite3.connect(path) as ours:
        ours.execute("DROP TABLE message_shadows")
    ours.close()


CASES: list[tuple[Callable[[Path], None], type[StateError], str]] = [
    (not_sqlite, ForeignFileError, "foreign"),
    (shorter_than_a_header, ForeignFileError, "foreign"),
    (another_application, ForeignFileError, "foreign"),
    (other_steps, ForeignFileError, "foreign"),
    (newer, FutureFileError, "future"),
    (cut_off, DamagedFileError, "damaged"),
    (garbage_in_the_schema, DamagedFileError, "damaged"),
    (table_gone, DamagedFileError, "damaged"),
]


@pytest.mark.parametrize(("spoil", "kind", "reason"), CASES, ids=[case[0].__name__ for case in CASES])
async def test_an_unusable_file_is_set_aside_and_the_chat_goes_on(
    stores: SessionStores,
    path: Path,
    tmp_path: Path,
    spoil: Callable[[Path], None],
    kind: type[StateError],
    reason: str,
) -> None:
    await fill(tmp_path)
    spoil(path)
    before = path.read_bytes()
    async with stores.open(USER, CHAT) as store:
        await store.get_message_shadows([f"m{n}" for n in range(300)])
        await store.seal(seal("new", "after"))
        assert await store.get_message_shadows(["m1", "new"]) == {"new": shadow("new", "after")}
        notices = store.take_notices()
        assert [type(notice) for notice in notices] == [kind]
        assert notices[0].user_message("en") != notices[0].user_message("fr")
        assert tuple(store.take_notices()) == ()
    aside = path.with_name(f"session.db.{reason}-{STAMP}")
    assert aside.read_bytes() == before
    async with stores.open(USER, CHAT) as store:
        assert await store.get_message_shadows(["new"]) == {"new": shadow("new", "after")}
        assert tuple(store.take_notices()) == ()


async def test_damage_met_in_the_middle_of_the_work_does_not_stop_it(
    stores: SessionStores, path: Path, tmp_path: Path
) -> None:
    await fill(tmp_path)
    with path.open("r+b") as file:
        file.seek(4096 * 30)
        file.write(b"\xff" * 4096 * 40)
    async with stores.open(USER, CHAT) as store:
        assert await store.get_setting("k") is None
        await store.save_setting("k", "kept until the damage shows")
        assert await store.get_message_shadows([f"m{n}" for n in range(300)]) == {}
        await store.seal(seal("new"))
        assert [type(notice) for notice in store.take_notices()] == [DamagedFileError]
    assert path.with_name(f"session.db.damaged-{STAMP}").exists()


async def test_what_was_remembered_of_a_replaced_file_is_forgotten(
    stores: SessionStores, path: Path, tmp_path: Path
) -> None:
    async with stores.open(USER, CHAT) as store:
        await store.seal_many([seal(f"m{n}", f"{n}" * 900) for n in range(200)])
        assert len(await store.get_message_shadows([f"m{n}" for n in range(200)])) == 200
        with sqlite3.connect(path) as other:
            other.execute("DROP TABLE echo_settings")
        other.close()
        assert await store.get_setting("k") is None
        assert await store.get_message_shadows([f"m{n}" for n in range(200)]) == {}


async def test_logs_go_along_and_an_unread_log_is_not_folded_in(
    path: Path, tmp_path: Path, stores: SessionStores
) -> None:
    await fill(tmp_path, messages=5)
    with sqlite3.connect(path) as newer_version:
        newer_version.execute("INSERT INTO _migrations VALUES ('m999_future', 0)")
        newer_version.execute(f"PRAGMA user_version = {len(SESSION_MIGRATIONS) + 1}")
        newer_version.commit()
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("session.db", "session.db-wal"):
            shutil.copy(path.with_name(name), copy / name)
    newer_version.close()
    path.unlink()
    for name in ("session.db", "session.db-wal"):
        shutil.copy(copy / name, path.with_name(name))
    assert int.from_bytes(path.read_bytes()[60:64], "big") == len(SESSION_MIGRATIONS), (
        "the step must be in the log only"
    )
    async with stores.open(USER, CHAT) as store:
        assert [type(notice) for notice in store.take_notices()] == [FutureFileError]
    aside = path.with_name(f"session.db.future-{STAMP}")
    assert aside.read_bytes() == (copy / "session.db").read_bytes()
    assert aside.with_name(aside.name + "-wal").read_bytes() == (copy / "session.db-wal").read_bytes()


async def test_an_unclean_end_is_no_damage(path: Path, tmp_path: Path, stores: SessionStores) -> None:
    opened = SessionStores(EchoPaths(tmp_path / "first"), ManualClock())
    original = EchoPaths(tmp_path / "first").session_db(USER, CHAT)
    async with opened.open(USER, CHAT) as store:
        await store.seal(seal())
        path.parent.mkdir(parents=True)
        for name in ("session.db", "session.db-wal"):
            shutil.copy(original.with_name(name), path.with_name(name))
    await opened.close()
    async with stores.open(USER, CHAT) as store:
        assert await store.get_message_shadows(["m1"]) == {"m1": shadow()}
        assert tuple(store.take_notices()) == ()


async def test_an_empty_file_is_simply_filled(path: Path, stores: SessionStores) -> None:
    path.parent.mkdir(parents=True)
    path.touch()
    async with stores.open(USER, CHAT) as store:
        await store.seal(seal())
        assert tuple(store.take_notices()) == ()


async def test_two_files_set_aside_in_one_second_have_two_names(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(parents=True)
    for content in (b"one", b"two"):
        path.write_bytes(content)
        set_aside(path, identity_of(path), "foreign", ManualClock().now_s())
    assert path.with_name(f"session.db.foreign-{STAMP}").read_bytes() == b"one"
    assert path.with_name(f"session.db.foreign-{STAMP}-2").read_bytes() == b"two"


async def test_a_file_that_another_process_replaced_is_left_alone(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"bad")
    found = identity_of(path)
    path.rename(path.with_name("moved"))
    path.write_bytes(b"fresh")
    assert set_aside(path, found, "foreign", 0) is None
    assert path.read_bytes() == b"fresh"
    assert set_aside(path, None, "foreign", 0) is None


async def test_a_folder_in_the_file_s_place_is_a_typed_error(path: Path, stores: SessionStores) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreUnavailableError):
        async with stores.open(USER, CHAT):
            pass


async def test_a_file_in_the_place_of_an_open_chat_s_folder_is_a_typed_error(path: Path, stores: SessionStores) -> None:
    async with stores.open(USER, CHAT) as store:
        await store.seal(seal())
    path.parent.rename(path.parent.with_name("moved-away"))
    path.parent.write_text("in the way")
    with pytest.raises(StoreUnavailableError):
        async with stores.open(USER, CHAT):
            pass


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, StoreBusyError),
        (sqlite3.SQLITE_FULL, StoreFullError),
        (sqlite3.SQLITE_IOERR_WRITE, StoreUnavailableError),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreUnavailableError),
        (sqlite3.SQLITE_CORRUPT_INDEX, DamagedFileError),
        (sqlite3.SQLITE_NOTADB, ForeignFileError),
    ],
)
def test_sqlite_s_codes_have_a_meaning(code: int, kind: type[StateError]) -> None:
    error = sqlite3.OperationalError("text")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "NAME"
    assert type(store_error(error)) is kind


async def test_one_shadow_that_lost_its_blob_is_left_out_alone(stores: SessionStores, path: Path) -> None:
    big = shadow("big", "x" * 50_000)
    async with stores.open(USER, CHAT) as store:
        await store.seal_many([seal("m1"), Seal(shadow=big)])
        with sqlite3.connect(path) as other:
            other.execute("DELETE FROM blobs")
        other.close()
        assert await store.get_message_shadows(["m1", "big"]) == {"m1": shadow()}
        assert await store.get_message_shadow("big") is None
