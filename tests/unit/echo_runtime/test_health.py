from pathlib import Path

import pytest

from echo_runtime import health
from echo_runtime.health import LOOK_EVERY_S, DiskNearlyFull, FolderNotWritable, Health, look
from scripted import FakeClock


def test_a_folder_that_is_yet_to_be_made_is_judged_by_where_it_will_be(tmp_path: Path) -> None:
    assert look(tmp_path / "echo" / "users") is None


def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health.os, "access", lambda path, mode: False)  # the tests may run as root
    found = look(tmp_path)
    assert isinstance(found, FolderNotWritable) and str(tmp_path) in found.user_message("fr")


async def test_a_full_disk_is_told_from_the_next_turn_on_and_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    watch = Health(tmp_path, clock)

    async def turn() -> object:
        found = watch.finding()
        if watch.looking is not None:
            await watch.looking
        return found

    with monkeypatch.context() as patch:
        patch.setattr(health, "LOW_SPACE_BYTES", 2**62)
        assert await turn() is None, "no turn waits for the look that it begins"
        assert isinstance(await turn(), DiskNearlyFull)
    assert "MiB are free" in caplog.text
    assert isinstance(await turn(), DiskNearlyFull), "one look counts for a minute"
    clock.at_s += LOOK_EVERY_S
    await turn()
    assert await turn() is None


async def test_a_look_that_fails_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(health.shutil, "disk_usage", broken)
    watch = Health(tmp_path, FakeClock())
    watch.finding()
    assert watch.looking is not None
    await watch.looking
    assert isinstance(watch.finding(), FolderNotWritable)
