from collections.abc import Sequence
from pathlib import Path

import pytest

from echo_paths import EchoPaths
from echo_runtime.purge import Purger
from echo_runtime.vaults import Vaults
from echo_state_manager.identity import IdentityStore
from echo_state_manager.vault import Vault


class Tables:
    """What Open WebUI's tables would say."""

    def __init__(self, users: set[str], chats: set[str], files: set[str] | None = None) -> None:
        self.users, self.chats, self.files = users, chats, files or set()

    async def living_users(self, user_ids: Sequence[str]) -> set[str]:
        return self.users & set(user_ids)

    async def living_chats(self, chat_ids: Sequence[str]) -> set[str]:
        return self.chats & set(chat_ids)

    async def living_files(self, file_ids: Sequence[str]) -> set[str]:
        return self.files & set(file_ids)


class Holder:
    """Keeps what it was asked to let go of, and whether the folder was still there."""

    def __init__(self, paths: EchoPaths) -> None:
        self.paths = paths
        self.released: list[tuple[str, str, bool]] = []

    async def purge(self, user_id: str, chat_id: str) -> None:
        self.released.append((user_id, chat_id, self.paths.chat_dir(user_id, chat_id).is_dir()))


@pytest.fixture
def tables() -> Tables:
    return Tables({"ada", "bob"}, {"c1", "c2", "c3"})


@pytest.fixture
def holder(paths: EchoPaths) -> Holder:
    return Holder(paths)


@pytest.fixture
def purger(paths: EchoPaths, identity: IdentityStore, tables: Tables, holder: Holder) -> Purger:
    for user_id, chat_id in [("ada", "c1"), ("ada", "c2"), ("bob", "c3")]:
        session = paths.session_db(user_id, chat_id)
        session.parent.mkdir(parents=True)
        session.write_text("records")
    paths.api_session_db("ada").parent.mkdir()
    paths.files_dir("ada").mkdir()
    return Purger(paths, identity, tables, [holder])


def left(paths: EchoPaths) -> list[str]:
    users = paths.root / "users"
    return sorted(str(entry.relative_to(users)) for entry in users.glob("*/chats/*"))


async def test_a_deleted_chat_takes_its_folder_and_nothing_else(
    purger: Purger, paths: EchoPaths, identity: IdentityStore, holder: Holder
) -> None:
    await purger.purge_chat("c1", "ada")
    assert left(paths) == ["ada/chats/_api", "ada/chats/c2", "bob/chats/c3"]
    assert holder.released == [("ada", "c1", True)]
    chat = await identity.get_chat("c1")
    assert chat is not None
    assert chat.purged_at_s is not None


async def test_without_an_owner_the_chat_is_found(purger: Purger, paths: EchoPaths) -> None:
    await purger.purge_chat("c3")
    assert left(paths) == ["ada/chats/_api", "ada/chats/c1", "ada/chats/c2"]


@pytest.mark.parametrize("chat_id", ["..", "../../bob/chats/c3", "c1/..", "", ".", "temporary:x", "a\0b", "_api"])
async def test_an_id_that_is_no_folder_name_removes_nothing(purger: Purger, paths: EchoPaths, chat_id: str) -> None:
    before = left(paths)
    for owner in ("ada", "..", ""):
        await purger.purge_chat(chat_id, owner)
    await purger.purge_user("..")
    await purger.purge_user("")
    assert left(paths) == before


async def test_a_deleted_user_takes_everything_of_theirs(
    purger: Purger, paths: EchoPaths, identity: IdentityStore, holder: Holder
) -> None:
    for user in ("ada", "bob"):
        await identity.put_secret(user, "k", "value")
    await purger.purge_user("ada")
    assert left(paths) == ["bob/chats/c3"]
    assert not paths.user_dir("ada").exists()
    assert await identity.get_secret("ada", "k") is None
    assert await identity.get_secret("bob", "k") == "value"
    assert [(user, chat) for user, chat, _ in holder.released] == [("ada", "c1"), ("ada", "c2")]


async def test_reconciling_removes_what_open_webui_no_longer_has(
    purger: Purger, paths: EchoPaths, tables: Tables, identity: IdentityStore
) -> None:
    await identity.put_secret("bob", "k", "value")
    tables.users, tables.chats = {"ada"}, {"c2", "c3"}
    assert await purger.reconcile() == 2
    assert left(paths) == ["ada/chats/_api", "ada/chats/c2"]
    assert await identity.get_secret("bob", "k") is None
    assert await purger.reconcile() == 0


async def test_a_channels_records_are_not_looked_for_among_the_chats(purger: Purger, paths: EchoPaths) -> None:
    paths.chat_dir("ada", "channel:42").mkdir()
    assert await purger.reconcile() == 0
    assert paths.chat_dir("ada", "channel:42").is_dir()


async def test_another_database_does_not_empty_the_data_folder(
    purger: Purger, paths: EchoPaths, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    tables.users, tables.chats = {"somebody else"}, set()
    before = left(paths)
    assert await purger.reconcile() == 0
    assert left(paths) == before
    assert "nothing purged" in caplog.text


async def test_a_removal_that_was_cut_off_is_finished(purger: Purger, paths: EchoPaths) -> None:
    rest = paths.chat_dir("ada", "c1").with_name(".purged-left-over")
    rest.mkdir()
    (rest / "session.db").write_text("records")
    await purger.reconcile()
    assert not rest.exists()


async def test_a_link_is_removed_and_not_what_it_points_to(purger: Purger, paths: EchoPaths, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("kept")
    paths.chat_dir("ada", "c9").symlink_to(outside)
    await purger.purge_chat("c9", "ada")
    assert (outside / "keep").read_text() == "kept"
    assert not paths.chat_dir("ada", "c9").exists()


async def test_purging_what_is_gone_already_is_fine(purger: Purger, paths: EchoPaths) -> None:
    await purger.purge_chat("c1", "ada")
    await purger.purge_chat("c1", "ada")
    await purger.purge_user("nobody")
    assert left(paths) == ["ada/chats/_api", "ada/chats/c2", "bob/chats/c3"]


async def test_files_go_with_the_last_chat_that_names_them_also_where_its_records_are_gone(
    paths: EchoPaths, identity: IdentityStore, tables: Tables
) -> None:
    vaults = Vaults(paths, None)
    purger = Purger(paths, identity, tables, (vaults,), files=vaults)

    async def keep(owner: str, chat: str, data: bytes) -> str:
        return (await Vault(paths, owner, chat).put(data, mime_type="audio/wav", name="x")).sha256

    async def kept(owner: str, sha256: str) -> bool:
        return await Vault(paths, owner).find(sha256) is not None

    of_two, of_one = await keep("ada", "c1", b"two"), await keep("ada", "c1", b"one")
    await keep("ada", "c2", b"two")
    await keep("bob", "c1", b"one")
    await purger.purge_chat("c2", "ada")
    assert await kept("ada", of_two)
    tables.chats = {"c3"}
    await purger.reconcile()
    assert not [
        owner for owner, sha256 in (("ada", of_two), ("ada", of_one), ("bob", of_one)) if await kept(owner, sha256)
    ]


async def test_a_deleted_upload_takes_its_copies_and_what_was_read_out_of_them_along(
    paths: EchoPaths, identity: IdentityStore, tables: Tables
) -> None:
    told: list[tuple[str, str]] = []

    class Index:
        async def purge_document(self, user_id: str, sha256: str) -> None:
            told.append((user_id, sha256))

    vaults = Vaults(paths, None)
    purger = Purger(paths, identity, tables, (vaults,), files=vaults, document_ports=[Index()])

    async def keep(owner: str, data: bytes, file_id: str) -> str:
        kept = await Vault(paths, owner, "c1").put(data, mime_type="text/csv", name="x", file_id=file_id)
        (paths.files_dir(owner) / kept.sha256[:2] / f"{kept.sha256}.doc").mkdir(exist_ok=True)
        return kept.sha256

    def on_disk(sha256: str) -> list[Path]:
        return list((paths.root / "users").glob(f"*/files/{sha256[:2]}/{sha256}*"))

    report = await keep("ada", b"report", "f1")
    await keep("bob", b"report", "f1")
    twice = await keep("ada", b"twice", "f2")
    await keep("ada", b"twice", "f3")
    await purger.purge_file("f1")
    await purger.purge_file("f2")
    await purger.purge_file("../f3")
    assert sorted(told) == [("ada", report), ("bob", report)]
    assert on_disk(report) == []
    assert on_disk(twice)
    # What was deleted while ECHO was not there goes at the next start.
    tables.files = {"f3"}
    assert await purger.reconcile() == 0
    tables.files = set()
    assert await purger.reconcile() == 1
    assert on_disk(twice) == []
    assert told[-1] == ("ada", twice)
