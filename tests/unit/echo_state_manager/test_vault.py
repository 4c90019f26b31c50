"""Files of a user, kept by content."""

import hashlib
import json
from pathlib import Path

import pytest

from echo_paths import EchoPaths
from echo_state_manager import StoreUnavailableError
from echo_state_manager.vault import Upload, Vault


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
    assert len(files) == 2
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
