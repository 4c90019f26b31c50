"""Backup and restore: what goes in comes back, and nothing else is believed."""

import gzip
import io
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from echo_cli._archive_format import (
    ArchiveDamagedError,
    NewerBackupError,
    OutputExistsError,
    OutputNameError,
    UnsafeArchiveError,
    safe_link_target,
    safe_member_path,
)
from echo_cli._archive_read import TargetInUseError, TargetNotEmptyError, restore_backup
from echo_cli._archive_write import UnreadableDatabaseError, _renamed_when_complete, write_backup

CREATED_AT = "2026-11-30T12:00:00+00:00"
SUFFIXES = (".tar.zst", ".tar.gz")


def make_database(path: Path, rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)")
        database.executemany("INSERT INTO t (data) VALUES (?)", [(os.urandom(100),) for _ in range(rows)])


def rows_of(path: Path) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT id, data FROM t ORDER BY id").fetchall()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with all kinds of entries."""
    root = tmp_path / "echo"
    make_database(root / "identity.db", 20)
    make_database(root / "users/u1/chats/c1/session.db", 50)
    files = root / "users/u1/files"
    files.mkdir(parents=True)
    (files / "résumé éà.bin").write_bytes(os.urandom(3_000_000))
    (files / "empty").touch()
    (files / "run.sh").write_text("#!/bin/sh\n")
    (files / "run.sh").chmod(0o750)
    codex = root / "users/u1/codex"
    (codex / "refs").mkdir(parents=True)
    (codex / "link").symlink_to("../files/run.sh")
    (root / "wheels/0.1.0-abc").mkdir(parents=True)
    (root / "wheels/0.1.0-abc/module.py").write_text("x = 1\n")
    return root


def tree_of(root: Path) -> dict[str, object]:
    """Everything below a folder as comparable values; databases by their rows."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith("wheels") or name.endswith(("-wal", "-shm")):
            continue
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = "folder"
        elif path.suffix == ".db":
            found[name] = rows_of(path)
        else:
            found[name] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_backed_up_comes_back(data: Path, tmp_path: Path, suffix: str) -> None:
    report = write_backup(data, tmp_path / f"b{suffix}", created_at=CREATED_AT)
    restored = restore_backup(report.path, tmp_path / "back")
    assert tree_of(tmp_path / "back") == tree_of(data)
    assert (report.databases, restored.databases, report.files, report.skipped) == (2, 2, 3, ())
    assert (restored.created_at, restored.set_aside) == (CREATED_AT, None)
    assert not (tmp_path / "back/wheels").exists()
    assert stat.S_IMODE(report.path.stat().st_mode) == 0o600


def test_a_database_is_copied_in_one_consistent_moment_while_it_is_written(data: Path, tmp_path: Path) -> None:
    path = data / "identity.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE pair (a INTEGER, b INTEGER)")
        database.execute("INSERT INTO pair VALUES (0, 0)")
    stop, wrote = threading.Event(), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            while not stop.is_set():
                database.execute("BEGIN IMMEDIATE")
                database.execute("UPDATE pair SET a = a + 1")
                database.execute("INSERT INTO t (data) VALUES (randomblob(5000))")
                database.execute("UPDATE pair SET b = b + 1")
                database.execute("COMMIT")
                wrote.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert wrote.wait(10)
        for number in range(5):
            report = write_backup(data, tmp_path / f"b{number}.tar.zst", created_at=CREATED_AT)
            restore_backup(report.path, tmp_path / f"back{number}")
    finally:
        stop.set()
        writer.join()
    for number in range(5):
        with closing(sqlite3.connect(tmp_path / f"back{number}/identity.db")) as database:
            a, b = database.execute("SELECT a, b FROM pair").fetchone()
            assert a == b
            assert database.execute("SELECT count(*) FROM t").fetchone()[0] == 20 + a
            assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_what_is_still_in_the_write_ahead_log_is_copied(data: Path, tmp_path: Path) -> None:
    path = data / "identity.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.execute("INSERT INTO t (data) VALUES (x'cafe')")
        database.commit()
        assert (data / "identity.db-wal").stat().st_size > 0
        report = write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    restore_backup(report.path, tmp_path / "back")
    assert rows_of(tmp_path / "back/identity.db")[-1] == (21, b"\xca\xfe")
    assert not list((tmp_path / "back").rglob("*-wal"))


def test_a_damaged_database_stops_the_backup(data: Path, tmp_path: Path) -> None:
    path = data / "users/u1/chats/c1/session.db"
    path.write_bytes(path.read_bytes()[:16] + os.urandom(2000))
    with pytest.raises(UnreadableDatabaseError):
        write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    assert [path.name for path in tmp_path.iterdir()] == ["echo"]


def test_what_cannot_be_taken_along_is_told(data: Path, tmp_path: Path) -> None:
    os.mkfifo(data / "pipe")
    (data / "outside").symlink_to("/etc/hostname")
    (data / "up").symlink_to("../elsewhere")
    report = write_backup(data, tmp_path / "b.tar.gz", created_at=CREATED_AT)
    assert report.skipped == ("outside", "pipe", "up")
    restore_backup(report.path, tmp_path / "back")
    assert not os.path.lexists(tmp_path / "back/outside")


def test_a_backup_never_overwrites(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    out.write_bytes(b"precious")
    with pytest.raises(OutputExistsError):
        write_backup(data, out, created_at=CREATED_AT)
    assert out.read_bytes() == b"precious"


def test_a_file_that_appears_under_the_name_meanwhile_is_kept(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    with pytest.raises(OutputExistsError):
        write_backup(data, out, created_at=CREATED_AT, on_entry=lambda _: out.write_bytes(b"precious"))
    assert out.read_bytes() == b"precious"


def test_an_unknown_ending_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputNameError):
        write_backup(data, tmp_path / "b.zip", created_at=CREATED_AT)


KILLED_MIDWAY = """
import os, signal, sys
from pathlib import Path
from echo_cli._archive_write import write_backup
seen = []
def stop_at(name):
    seen.append(name)
    if len(seen) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
write_backup(Path(sys.argv[1]), Path(sys.argv[2]), created_at="x", on_entry=stop_at)
"""


@pytest.mark.parametrize("entries_before_kill", [1, 2, 6])
def test_a_kill_leaves_no_half_archive(data: Path, tmp_path: Path, entries_before_kill: int) -> None:
    target = tmp_path / "backups"
    target.mkdir()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", KILLED_MIDWAY, str(data), str(target / "b.tar.zst"), str(entries_before_kill)]
    killed = subprocess.run(arguments, env=env, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(target.iterdir()) == []
    write_backup(data, target / "b.tar.zst", created_at=CREATED_AT)
    assert restore_backup(target / "b.tar.zst", tmp_path / "back").databases == 2


def test_data_that_is_there_is_only_set_aside_when_asked(data: Path, tmp_path: Path) -> None:
    report = write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    target = tmp_path / "back"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(TargetNotEmptyError):
        restore_backup(report.path, target)
    assert [path.name for path in target.iterdir()] == ["old"]
    restored = restore_backup(report.path, target, force=True)
    assert restored.set_aside is not None
    assert (restored.set_aside / "old").read_text() == "old"
    assert tree_of(target) == tree_of(data)


def test_a_store_in_use_is_not_replaced(data: Path, tmp_path: Path) -> None:
    report = write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    with closing(sqlite3.connect(data / "identity.db")) as database:
        database.execute("SELECT count(*) FROM t").fetchone()
        with pytest.raises(TargetInUseError):
            restore_backup(report.path, data, force=True)
    assert restore_backup(report.path, data, force=True).set_aside is not None


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.9999])
def test_an_archive_that_is_cut_off_is_refused(data: Path, tmp_path: Path, suffix: str, share: float) -> None:
    report = write_backup(data, tmp_path / f"b{suffix}", created_at=CREATED_AT)
    content = report.path.read_bytes()
    report.path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ArchiveDamagedError):
        restore_backup(report.path, tmp_path / "back")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"b{suffix}", "echo"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.01, 0.5, 0.97])
def test_a_flipped_byte_is_noticed(data: Path, tmp_path: Path, suffix: str, share: float) -> None:
    report = write_backup(data, tmp_path / f"b{suffix}", created_at=CREATED_AT)
    content = bytearray(report.path.read_bytes())
    content[int(len(content) * share)] ^= 0x40
    report.path.write_bytes(content)
    with pytest.raises((ArchiveDamagedError, UnsafeArchiveError)):
        restore_backup(report.path, tmp_path / "back")
    assert not (tmp_path / "back").exists()


Edit = Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]


def rewritten(archive: Path, out: Path, edit: Edit) -> Path:
    """The archive again, after `edit` changed the list of its members."""
    plain = zstandard.ZstdDecompressor().stream_reader(archive.read_bytes()).read()
    members: list[tuple[tarfile.TarInfo, bytes]] = []
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            members.append((member, content.read() if content else b""))
    edit(members)
    with gzip.open(out, "wb") as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    return out


def added(name: str, **fields: object) -> Edit:
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return lambda members: members.insert(0, (info, b""))


def changed_manifest(**fields: object) -> Edit:
    def edit(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        info, content = members[-1]
        content = json.dumps({**json.loads(content), **fields}).encode()
        info.size = len(content)
        members[-1] = (info, content)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        added("data/../../evil"),
        added("../evil"),
        added("/evil"),
        added("data//evil"),
        added("data/a\\..\\evil"),
        added("evil"),
        added("data/evil", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        added("data/a/evil", type=tarfile.SYMTYPE, linkname="../../x"),
        added("data/evil", type=tarfile.LNKTYPE, linkname="data/identity.db"),
        added("data/evil", type=tarfile.CHRTYPE),
        added("data/evil", type=tarfile.FIFOTYPE),
    ],
)
def test_members_that_could_write_elsewhere_are_refused(data: Path, tmp_path: Path, edit: Edit) -> None:
    report = write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    evil = rewritten(report.path, tmp_path / "evil.tar.gz", edit)
    with pytest.raises(UnsafeArchiveError):
        restore_backup(evil, tmp_path / "back")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.zst", "echo", "evil.tar.gz"]


@pytest.mark.parametrize(
    "edit",
    [
        added("data/extra"),
        added("data/identity.db"),
        lambda members: members.pop(0),
        lambda members: members.pop(),
        lambda members: members.append(members[0]),
        changed_manifest(entries=[]),
        changed_manifest(format="one"),
    ],
)
def test_an_archive_that_differs_from_its_manifest_is_refused(data: Path, tmp_path: Path, edit: Edit) -> None:
    report = write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    changed = rewritten(report.path, tmp_path / "changed.tar.gz", edit)
    with pytest.raises(ArchiveDamagedError):
        restore_backup(changed, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("edit", [changed_manifest(format=2), changed_manifest(echo_version="99.0.0")])
def test_a_backup_of_a_newer_version_is_refused(data: Path, tmp_path: Path, edit: Edit) -> None:
    report = write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    newer = rewritten(report.path, tmp_path / "newer.tar.gz", edit)
    with pytest.raises(NewerBackupError):
        restore_backup(newer, tmp_path / "back")


def test_an_unchanged_rewrite_is_accepted(data: Path, tmp_path: Path) -> None:
    """The helper that makes bad archives would make a good one: the refusals above have the reason they name."""
    report = write_backup(data, tmp_path / "b.tar.zst", created_at=CREATED_AT)
    same = rewritten(report.path, tmp_path / "same.tar.gz", lambda _: None)
    restore_backup(same, tmp_path / "back")
    assert tree_of(tmp_path / "back") == tree_of(data)


@given(st.text(alphabet="ab./\\\x00é", max_size=12))
def test_a_safe_member_path_never_leaves_its_folder(name: str) -> None:
    path = safe_member_path(name)
    if path is not None:
        assert os.path.normpath(f"/base/{path}").startswith("/base/")
        assert path.as_posix() == name.rstrip("/")


@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), max_size=6), st.integers(0, 3))
def test_a_safe_link_never_leaves_the_folder(parts: list[str], depth: int) -> None:
    link = safe_member_path("/".join([*(["d"] * depth), "link"]))
    assert link is not None
    target = "/".join(parts)
    if safe_link_target(link, target):
        landing = os.path.normpath(os.path.join("/base", *link.parts[:-1], target))
        assert landing == "/base" or landing.startswith("/base/")


def test_without_unnamed_files_the_name_still_comes_last(tmp_path: Path) -> None:
    """The way taken on file systems that have no O_TMPFILE."""
    out = tmp_path / "b.tar.gz"
    with pytest.raises(RuntimeError), _renamed_when_complete(out) as file:
        file.write(b"half")
        assert not out.exists()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with _renamed_when_complete(out) as file:
        file.write(b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("b.tar.gz", b"whole")]
    with pytest.raises(OutputExistsError), _renamed_when_complete(out) as file:
        file.write(b"other")
    assert out.read_bytes() == b"whole"
