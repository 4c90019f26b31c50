"""Records encrypted on disk: nothing that was said is in the file, and the switch never makes anything unreadable."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from echo_core.records import Seal
from echo_paths import EchoPaths
from echo_state_manager import (
    LockedFileError,
    SessionStore,
    SessionStores,
    StoreError,
    repair,
    repair_file,
    verify,
    verify_file,
)
from echo_state_manager.crypto import MasterSecret
from store_kit import CHAT, SECRET, USER, ManualClock, chain, sealed, shadow

OTHER = MasterSecret("WEBUI_SECRET_KEY", "quite another one")
STAMP = "20270115T080000Z"
WORDS = ["Kumquat", "big", "Quetzalcoatl", "Zanzibar"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return EchoPaths(tmp_path).session_db(USER, CHAT)


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[SessionStores]:
    opened = SessionStores(EchoPaths(tmp_path), ManualClock(), SECRET)
    yield opened
    await opened.close()


async def fill(store: SessionStore) -> dict[str, Seal]:
    """Messages with signatures, tool journals and blobs, a former version, a setting and a running turn."""
    seals = chain(WORDS)
    await store.seal_many(seals)
    image = sealed("image", "Xanadu" + "x" * 50_000, seals[-1].shadow.cumulative_hash, signed="Sigmund" * 8000)
    edited = sealed("m2", "Ragnarok", seals[1].shadow.cumulative_hash, role="user")
    await store.seal_many([image, edited])
    await store.seal(Seal(shadow=shadow("now", "", state="streaming", cumulative_hash="")))
    await store.append_turn_log("now", [b"Babylon"])
    await store.save_setting("system", "Atlantis")
    return {made.shadow.message_id: made for made in (*seals, image, edited)}


async def assert_whole(store: SessionStore, expected: dict[str, Seal]) -> None:
    assert await store.get_message_shadows(list(expected)) == {key: seal.shadow for key, seal in expected.items()}
    for key, seal in expected.items():
        assert list(await store.get_signatures(key)) == list(seal.signatures)
        assert await store.get_tool_io(seal.shadow.cumulative_hash) == seal.tool_io_json
    assert [former.visible_text for former in await store.get_former_shadows("m2")] == ["Quetzalcoatl"]
    assert list(await store.read_turn_log("now")) == [b"Babylon"]
    assert await store.get_setting("system") == "Atlantis"
    assert (await verify(store)).breaks == ()


def bytes_of(path: Path) -> bytes:
    """The file with everything that lies in its log."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


SAID = [b"Kumquat", b"Quetzalcoatl", b"Zanzibar", b"Xanadu", b"Sigmund", b"Ragnarok", b"Babylon", b"Atlantis"]


async def test_nothing_that_was_said_is_in_an_encrypted_file(stores: SessionStores, path: Path) -> None:
    async with stores.open_file(path, encrypted=True) as store:
        await assert_whole(store, await fill(store))
    content = bytes_of(path)
    assert [word for word in SAID if word in content] == []
    async with stores.open_file(path.with_name("plain.db"), encrypted=False) as store:
        await fill(store)
    assert [word for word in SAID if word not in bytes_of(path.with_name("plain.db"))] == []


@pytest.mark.parametrize("first", [True, False])
async def test_what_is_there_stays_readable_when_it_is_switched(
    tmp_path: Path, stores: SessionStores, path: Path, first: bool
) -> None:
    async with stores.open_file(path, encrypted=first) as store:
        expected = await fill(store)
    async with stores.open_file(path, encrypted=not first) as store:
        await assert_whole(store, expected)
        later = sealed("later", "El Dorado", expected["m3"].shadow.cumulative_hash, signed="s")
        await store.seal(later)
    await stores.close()
    assert (b"El Dorado" in bytes_of(path)) == first
    again = SessionStores(EchoPaths(tmp_path), ManualClock(), SECRET)
    async with again.open_file(path) as store:
        await assert_whole(store, expected | {"later": later})
    await again.close()


async def test_who_does_not_know_the_switch_writes_as_the_file_was_written(
    tmp_path: Path, stores: SessionStores, path: Path
) -> None:
    async with stores.open_file(path, encrypted=True) as store:
        await store.seal(sealed("m0", "first"))
    await stores.close()
    again = SessionStores(EchoPaths(tmp_path), ManualClock(), SECRET)
    async with again.open_file(path) as store:
        await store.seal(sealed("m1", "El Dorado"))
    await again.close()
    assert b"El Dorado" not in bytes_of(path)


async def test_a_process_that_had_the_file_open_before_reads_what_another_one_encrypts(
    tmp_path: Path, stores: SessionStores, path: Path
) -> None:
    other = SessionStores(EchoPaths(tmp_path), ManualClock(), SECRET)
    async with other.open_file(path) as reader:
        async with stores.open_file(path, encrypted=True) as store:
            expected = await fill(store)
        await assert_whole(reader, expected)
    await other.close()


async def test_the_same_image_is_stored_once_and_not_named_by_its_cipher(stores: SessionStores, path: Path) -> None:
    async with stores.open_file(path, encrypted=False) as store:
        await store.seal(sealed("m0", "a" * 50_000))
    async with stores.open_file(path, encrypted=True) as store:
        await store.seal(sealed("m1", "a" * 50_000))
        await store.seal(sealed("m2", "b" * 50_000))
        await store.seal(sealed("m3", "b" * 50_000))
        rows = await store.file.rows("SELECT encrypted FROM blobs ORDER BY rowid")
    # A text is in the parts and in what is shown; JSON and text of these letters are the same bytes.
    assert rows == [(0,), (1,)]


async def test_another_secret_sets_the_file_aside_unchanged_and_the_chat_goes_on(
    tmp_path: Path, stores: SessionStores, path: Path
) -> None:
    async with stores.open_file(path, encrypted=True) as store:
        await fill(store)
    await stores.close()
    before = bytes_of(path)
    lost = SessionStores(EchoPaths(tmp_path), ManualClock(), OTHER)
    async with lost.open_file(path, encrypted=True) as store:
        [notice] = store.take_notices()
        assert isinstance(notice, LockedFileError)
        assert "ECHO_SECRET_KEY" in notice.user_message("en") and "ECHO_SECRET_KEY" in notice.user_message("fr")
        assert "WEBUI_SECRET_KEY" in notice.detail
        assert await store.get_message_shadows(["m0"]) == {}
        await store.seal(sealed("m0", "recovered"))
    await lost.close()
    assert path.with_name(f"session.db.locked-{STAMP}").read_bytes() == before


@pytest.mark.parametrize("secret", [None, OTHER])
async def test_verifying_and_repairing_leave_a_file_of_another_secret_alone(
    stores: SessionStores, path: Path, secret: MasterSecret | None
) -> None:
    async with stores.open_file(path, encrypted=True) as store:
        await fill(store)
    await stores.close()
    before = bytes_of(path)
    with pytest.raises(LockedFileError):
        await verify_file(path, 5, secret)
    with pytest.raises(LockedFileError):
        await repair_file(path, ManualClock(), secret)
    assert bytes_of(path) == before
    assert (await verify_file(path, 5, SECRET)).is_sound


async def test_a_plain_file_needs_no_secret(tmp_path: Path, path: Path) -> None:
    without = SessionStores(EchoPaths(tmp_path), ManualClock())
    async with without.open_file(path, encrypted=True) as store:
        await store.seal(sealed("m0", "El Dorado"))
        assert (await verify(store)).is_sound
    await without.close()
    assert b"El Dorado" in bytes_of(path)


CHANGES = [
    ("UPDATE message_shadows SET full_parts_json = zeroblob(80) WHERE message_id = 'm1'", "bytes", "m1"),
    (
        "UPDATE message_shadows SET visible_text = substr(visible_text, 1, 20) WHERE message_id = 'm1'",
        "bytes",
        "m1",
    ),
    ("UPDATE message_shadows SET encrypted = 0 WHERE message_id = 'm1'", "bytes", "m1"),
    ("UPDATE rich_payloads SET overlay_json = zeroblob(40)", "former", "m2"),
    ("UPDATE blobs SET data = zeroblob(60000)", "blob", ""),
    ("UPDATE cognitive_signatures SET thought_signature = zeroblob(40) WHERE message_id = 'm3'", "signatures", "m3"),
    ("UPDATE tool_journal SET io_json = zeroblob(40) WHERE blob_refs = ''", "tool_io", "m1"),
]


@pytest.mark.parametrize(("change", "kind", "message_id"), CHANGES, ids=[f"{c[1]}-{n}" for n, c in enumerate(CHANGES)])
async def test_a_spoilt_value_is_found_left_out_and_repaired(
    stores: SessionStores, path: Path, change: str, kind: str, message_id: str
) -> None:
    async with stores.open_file(path, encrypted=True) as store:
        expected = await fill(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute(change)
        first = (await verify(store)).first_break
        assert first is not None
        assert (first.kind, first.message_id) == (kind, message_id)
        found = await store.get_message_shadows(list(expected))
        assert all(found[key] == expected[key].shadow for key in found)
        await store.get_former_shadows("m2")
        await store.get_tool_io(expected["m3"].shadow.cumulative_hash)
        await repair(store)
        assert (await verify(store)).breaks == ()


async def test_values_moved_to_another_file_do_not_open_there(stores: SessionStores, path: Path) -> None:
    beside = path.with_name("beside.db")
    async with stores.open_file(path, encrypted=True) as store:
        await store.seal(sealed("m0", "one"))
    async with stores.open_file(beside, encrypted=True) as store:
        await store.seal(sealed("m0", "two"))
    await stores.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"ATTACH '{beside}' AS theirs")
        other.execute(
            "UPDATE message_shadows SET full_parts_json = (SELECT full_parts_json FROM theirs.message_shadows)"
        )
    assert (await verify_file(path, 5, SECRET)).breaks[0].kind == "bytes"


async def test_what_can_be_read_of_a_damaged_encrypted_file_opens_afterwards(stores: SessionStores, path: Path) -> None:
    seals = chain([f"{n} " + "word " * 80 for n in range(200)])
    async with stores.open_file(path, encrypted=True) as store:
        await store.seal_many(seals)
    await stores.close()
    with path.open("r+b") as file:
        file.seek(4096 * 40)
        file.write(b"\xff" * 4096 * 20)
    repaired = await repair_file(path, ManualClock(), SECRET)
    assert repaired.rows_saved
    async with stores.open_file(path) as store:
        assert (await verify(store)).is_sound
        found = await store.get_message_shadows([made.shadow.message_id for made in seals])
    assert len(found) >= 100
    originals = {made.shadow.message_id: made.shadow for made in seals}
    assert all(
        replace(shadow, parent_hash="", cumulative_hash="")
        == replace(originals[key], parent_hash="", cumulative_hash="")
        for key, shadow in found.items()
    )


async def test_a_damaged_file_that_is_replaced_while_in_use_goes_on_encrypted(
    stores: SessionStores, path: Path
) -> None:
    async with stores.open_file(path, encrypted=True) as store:
        await fill(store)
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("DROP TABLE echo_settings")
        await store.save_setting("system", "El Dorado")
        assert isinstance(store.take_notices()[0], StoreError)
        assert await store.get_setting("system") == "El Dorado"
    await stores.close()
    assert b"El Dorado" not in bytes_of(path)
