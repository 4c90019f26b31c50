"""Files of a user, kept by content."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from echo_paths import EchoPaths
from echo_state_manager import StoreUnavailableError
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.vault import Upload, Vault

SECRET = MasterSecret("ECHO_SECRET_KEY", "a secret of some length")
OTHER = MasterSecret("ECHO_SECRET_KEY", "another one")
PIECE = 1024 * 1024


@pytest.fixture
def paths(tmp_path: Path) -> EchoPaths:
    return EchoPaths(tmp_path)


async def test_the_same_bytes_are_kept_once_whatever_they_are_called(paths: EchoPaths, tmp_path: Path) -> None:
    source = tmp_path / "given"
    source.write_bytes(b"film")
    vault = Vault(paths, "u")
    first = await vault.put(source, mime_type="video/mp4", name="a.mp4")
    second = await vault.put(b"film", mime_type="video/mp4", name="b.mp4")
    assert first == second
    assert first.sha256 == hashlib.sha256(b"film").hexdigest()
    assert b"".join([piece async for piece in vault.read(first.sha256)]) == b"film"
    files = [path for path in paths.files_dir("u").rglob("*") if path.is_file()]
    assert len([path for path in files if path.name != ".lock"]) == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


async def test_uploads_are_remembered_by_scope_and_survive_a_second_arrival(paths: EchoPaths) -> None:
    vault = Vault(paths, "u")
    kept = await vault.put(b"x", mime_type="audio/wav", name="x")
    await vault.remember(kept.sha256, "one", Upload(uri="u1", expires_s=1.5))
    await vault.remember(kept.sha256, "two", Upload(uri="u2", expires_s=2))
    again = await vault.put(b"x", mime_type="audio/wav", name="x")
    assert again.uploads == {"one": Upload(uri="u1", expires_s=1.5), "two": Upload(uri="u2", expires_s=2.0)}
    await vault.remember(kept.sha256, "one", None)
    found = await vault.find(kept.sha256)
    assert found is not None
    assert found.uploads.keys() == {"two"}


async def test_a_user_does_not_find_anothers_file(paths: EchoPaths) -> None:
    kept = await Vault(paths, "u").put(b"x", mime_type="audio/wav", name="x")
    assert await Vault(paths, "v").find(kept.sha256) is None


@pytest.mark.parametrize("digest", ["", "../../identity.db", "a" * 64, "A" * 64])
async def test_what_is_no_file_here_is_not_found(paths: EchoPaths, digest: str) -> None:
    assert await Vault(paths, "u").find(digest) is None


async def test_a_file_whose_facts_are_damaged_counts_as_gone(paths: EchoPaths) -> None:
    vault = Vault(paths, "u")
    kept = await vault.put(b"x", mime_type="audio/wav", name="x")
    facts = paths.files_dir("u") / kept.sha256[:2] / f"{kept.sha256}.json"
    for text in ("", "[]", json.dumps({"uploads": {"s": {"uri": "x"}}})):
        facts.write_text(text)
        assert await vault.find(kept.sha256) is None
    assert await vault.put(b"x", mime_type="audio/wav", name="x") == kept


async def test_a_disk_that_cannot_be_written_is_told(paths: EchoPaths) -> None:
    paths.user_dir("u").mkdir(parents=True)
    paths.files_dir("u").write_text("a file where the folder should be")
    with pytest.raises(StoreUnavailableError):
        await Vault(paths, "u").put(b"x", mime_type="audio/wav", name="x")


async def whole(vault: Vault, sha256: str) -> bytes:
    return b"".join([piece async for piece in vault.read(sha256)])


def on_disk(paths: EchoPaths) -> list[Path]:
    folder = paths.files_dir("u")
    return [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
async def test_encrypted_files_come_back_whole_and_tell_nothing_on_the_disk(paths: EchoPaths, size: int) -> None:
    data = (b"plain words " * (size // 12 + 1))[:size]
    vault = Vault(paths, "u", secret=SECRET, encrypts=True)
    kept = await vault.put(data, mime_type="audio/wav", name="diary.wav")
    await vault.remember(kept.sha256, "key", Upload(uri="https://files/secret-address", expires_s=2))
    assert kept.size_bytes == size
    found = await vault.find(kept.sha256)
    assert found is not None and (found.name, found.size_bytes) == ("diary.wav", size)
    assert await whole(vault, kept.sha256) == data
    stored = b"".join(path.read_bytes() for path in on_disk(paths))
    assert not [words for words in (b"plain words", b"diary", b"secret-address", b"audio/wav") if words in stored]


async def test_switching_encryption_leaves_everything_readable_and_one_copy(paths: EchoPaths) -> None:
    plain, sealing = Vault(paths, "u", secret=SECRET), Vault(paths, "u", secret=SECRET, encrypts=True)
    kept = await plain.put(b"film", mime_type="video/mp4", name="a.mp4")
    await plain.remember(kept.sha256, "key", Upload(uri="u", expires_s=2))
    for vault in (sealing, plain, sealing):
        again = await vault.put(b"film", mime_type="video/mp4", name="b.mp4")
        assert (again.name, again.uploads.keys()) == ("a.mp4", {"key"})
        assert await whole(vault, kept.sha256) == b"film"
        assert len(on_disk(paths)) == 2
    assert all(path.name.endswith(".sealed") for path in on_disk(paths))


@pytest.mark.parametrize("secret", [None, OTHER])
async def test_without_the_secret_a_file_counts_as_gone_and_can_be_kept_anew(
    paths: EchoPaths, secret: MasterSecret | None
) -> None:
    kept = await Vault(paths, "u", secret=SECRET, encrypts=True).put(b"film", mime_type="video/mp4", name="a")
    stranger = Vault(paths, "u", secret=secret)
    assert await stranger.find(kept.sha256) is None
    await stranger.put(b"film", mime_type="video/mp4", name="b")
    assert await whole(stranger, kept.sha256) == b"film"


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[: PIECE + 56], lambda data: data + b"x"])
async def test_an_encrypted_file_that_was_cut_or_changed_does_not_pass_for_whole(
    paths: EchoPaths, damage: Callable[[bytes], bytes]
) -> None:
    vault = Vault(paths, "u", secret=SECRET, encrypts=True)
    kept = await vault.put(b"f" * (2 * PIECE), mime_type="video/mp4", name="a")
    [path] = paths.files_dir("u").rglob(f"{kept.sha256}.sealed")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreUnavailableError):
        await whole(vault, kept.sha256)


async def test_a_file_goes_with_the_last_chat_that_names_it(paths: EchoPaths) -> None:
    one, two = Vault(paths, "u", "c1"), Vault(paths, "u", "c2")
    shared = await one.put(b"shared", mime_type="audio/wav", name="x")
    await two.put(b"shared", mime_type="audio/wav", name="x")
    sent = await one.put(b"sent", mime_type="audio/wav", name="y")
    await two.used(sent.sha256)
    alone = await one.put(b"alone", mime_type="audio/wav", name="z")
    assert await one.forget_chat("c1") == 1
    assert await one.find(alone.sha256) is None
    assert [await two.find(kept.sha256) is not None for kept in (shared, sent)] == [True, True]
    assert await two.forget_chat("c2") == 2
    assert await two.forget_chat("c2") == 0
    assert on_disk(paths) == []
    again = await one.put(b"alone", mime_type="audio/wav", name="z")
    assert await one.find(again.sha256) is not None


async def test_files_that_no_chat_was_noted_for_stay_and_unknown_chats_remove_nothing(paths: EchoPaths) -> None:
    kept = await Vault(paths, "u").put(b"old", mime_type="audio/wav", name="x")
    vault = Vault(paths, "u", "c1")
    assert await vault.forget_chat("c9") == 0
    await vault.used("0" * 64)
    assert await vault.find(kept.sha256) is not None
    assert await Vault(paths, "nobody").forget_chat("c1") == 0


async def test_a_plain_file_is_encrypted_when_it_is_used_where_that_is_wanted(paths: EchoPaths) -> None:
    kept = await Vault(paths, "u", "c1", secret=SECRET).put(b"film", mime_type="video/mp4", name="a.mp4")
    vault = Vault(paths, "u", "c1", secret=SECRET, encrypts=True)
    await vault.used(kept.sha256)
    assert await vault.find(kept.sha256) == kept
    assert await whole(vault, kept.sha256) == b"film"
    assert {path.name for path in on_disk(paths)} == {f"{kept.sha256}.sealed", f"{kept.sha256}.json.sealed", "c1"}
