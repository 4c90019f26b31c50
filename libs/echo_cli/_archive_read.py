"""Restoring a backup: everything is unpacked and checked beside the target, then takes its place in one step."""

import contextlib
import gzip
import hashlib
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Final

import psutil
import zstandard
from pydantic import ValidationError

from echo_cli._archive_format import (
    DATA_PREFIX,
    FORMAT,
    GZIP_MAGIC,
    MANIFEST_NAME,
    ZSTD_MAGIC,
    ArchiveDamagedError,
    Entry,
    Manifest,
    NewerBackupError,
    UnsafeArchiveError,
    safe_link_target,
    safe_member_path,
    version_key,
)
from echo_constants import ECHO_VERSION, Bilingual, ConfigError

_CHUNK_BYTES: Final = 1 << 20
#: A manifest line is below 400 bytes; this allows for more than a hundred thousand entries, and stops a bomb.
_MAX_MANIFEST_BYTES: Final = 64 << 20


#: What reading a damaged archive raises; the last two: a member is a file where another needs a folder.
_DAMAGE: Final = (
    tarfile.TarError,
    zstandard.ZstdError,
    zlib.error,
    EOFError,
    gzip.BadGzipFile,
    ValidationError,
    FileExistsError,
    NotADirectoryError,
)


class TargetNotEmptyError(ConfigError):
    """There is data where the backup should go."""

    code = "restore_target_not_empty"
    message = Bilingual(
        en="{path} is not empty; nothing was restored.", fr="{path} n'est pas vide ; rien n'a été restauré."
    )
    remedy = Bilingual(
        en="Give --force to set the present data aside (it is kept under another name), or choose another folder.",
        fr="Ajoutez --force pour mettre de côté les données présentes (elles sont gardées sous un autre nom), ou "
        "choisissez un autre dossier.",
    )


class TargetInUseError(ConfigError):
    """A running program has files of the target open, or the target cannot be renamed."""

    code = "restore_target_in_use"
    message = Bilingual(
        en="{path} is in use ({by}); nothing was restored.", fr="{path} est utilisé ({by}) ; rien n'a été restauré."
    )
    remedy = Bilingual(
        en="Stop Open WebUI first. If the folder itself is a mount point, restore into an empty folder inside it.",
        fr="Arrêtez d'abord Open WebUI. Si le dossier est lui-même un point de montage, restaurez dans un sous-dossier "
        "vide.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What was restored.

    Args:
        set_aside: where the data that was there before went; None when there was none.
    """

    target: Path
    made_by: str
    created_at: str
    databases: int
    files: int
    set_aside: Path | None


@dataclass(slots=True)
class _Unpacked:
    """What the stream held, by relative path."""

    found: dict[str, tuple[str, str]] = field(default_factory=dict)  # path → (kind, sha256 or link target)
    manifest: Manifest | None = None


def restore_backup(archive: Path, target: Path, *, force: bool = False) -> RestoreReport:
    """Put a backup back.

    Args:
        archive: made by `write_backup`.
        target: the data folder to make; its parent must exist.
        force: set data aside that is already there.

    Raises:
        TargetNotEmptyError, TargetInUseError: the target cannot be taken.
        ArchiveDamagedError, UnsafeArchiveError, NewerBackupError: the archive cannot be used; the target is untouched.
    """
    occupied = target.exists() and any(target.iterdir())
    if occupied and not force:
        raise TargetNotEmptyError(path=str(target))
    if occupied:
        _require_unused(target)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.restore-", dir=target.parent))
    try:
        manifest = _unpack(archive, staging)
        set_aside = _swap(staging, target, occupied=occupied)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return RestoreReport(
        target=target,
        made_by=manifest.echo_version,
        created_at=manifest.created_at,
        databases=sum(entry.kind == "sqlite" for entry in manifest.entries),
        files=sum(entry.kind == "file" for entry in manifest.entries),
        set_aside=set_aside,
    )


def _unpack(archive: Path, staging: Path) -> Manifest:
    seen = _Unpacked()
    try:
        with archive.open("rb") as raw, _decompressor(raw) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
            for member in tar:
                _take(tar, member, staging, seen, archive)
            # tarfile stops at the end mark; reading on makes the decompressor check its sum over the whole stream.
            while plain.read(_CHUNK_BYTES):
                pass
    except _DAMAGE as error:
        raise ArchiveDamagedError(f"{type(error).__name__}: {error}", archive=archive.name) from error
    if seen.manifest is None:
        raise ArchiveDamagedError("no manifest: the archive is cut off", archive=archive.name)
    _check(seen.manifest, seen, staging, archive)
    return seen.manifest


@contextmanager
def _decompressor(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    magic = raw.read(4)
    raw.seek(0)
    if magic == ZSTD_MAGIC:
        with zstandard.ZstdDecompressor().stream_reader(raw) as plain:
            yield plain
    elif magic.startswith(GZIP_MAGIC):
        with gzip.GzipFile(fileobj=raw, mode="rb") as plain_gzip:
            yield plain_gzip  # type: ignore[misc]  # has read()
    else:
        raise tarfile.ReadError("neither Zstandard nor gzip")


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, staging: Path, seen: _Unpacked, archive: Path) -> None:
    """Unpack one member into the staging folder."""
    path = safe_member_path(member.name)
    if path is None:
        raise UnsafeArchiveError(archive=archive.name, member=repr(member.name))
    if seen.manifest is not None:
        raise tarfile.ReadError("there are members after the manifest")
    if member.name == MANIFEST_NAME:
        seen.manifest = _read_manifest(tar, member)
        return
    if not member.name.startswith(DATA_PREFIX) or len(path.parts) < 2:
        raise UnsafeArchiveError(archive=archive.name, member=repr(member.name))
    relative = PurePosixPath(*path.parts[1:])
    key = relative.as_posix()
    if key in seen.found:
        raise tarfile.ReadError(f"{key} is there twice")
    place = staging / relative
    if member.isdir():
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        seen.found[key] = ("directory", "")
    elif member.issym():
        if not safe_link_target(relative, member.linkname):
            raise UnsafeArchiveError(archive=archive.name, member=repr(member.name))
        # Links are made only after the last file, so that no file is ever written through one.
        seen.found[key] = ("symlink", member.linkname)
    elif member.isreg():
        seen.found[key] = ("file", _write_file(tar, member, place))
    else:
        raise UnsafeArchiveError(archive=archive.name, member=repr(member.name))


def _read_manifest(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Manifest:
    content = tar.extractfile(member) if member.isreg() and member.size <= _MAX_MANIFEST_BYTES else None
    if content is None:
        raise tarfile.ReadError("the manifest is no file of a sensible size")
    return Manifest.model_validate_json(content.read())


def _write_file(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> str:
    content = tar.extractfile(member)
    if content is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    digest = hashlib.sha256()
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _check(manifest: Manifest, seen: _Unpacked, staging: Path, archive: Path) -> None:
    """Hold what was unpacked against the manifest, then finish links and modes."""
    if manifest.format > FORMAT or version_key(manifest.echo_version) > version_key(ECHO_VERSION):
        raise NewerBackupError(theirs=manifest.echo_version, ours=ECHO_VERSION)
    listed = {entry.path: _expected(entry) for entry in manifest.entries}
    if listed != seen.found:
        wrong = sorted(path for path in listed.keys() | seen.found.keys() if listed.get(path) != seen.found.get(path))
        raise ArchiveDamagedError(f"differs from its manifest: {', '.join(wrong[:5])}", archive=archive.name)
    for entry in manifest.entries:
        if entry.kind == "sqlite":
            _check_database(staging / entry.path, entry, archive)
    for entry in manifest.entries:
        if entry.kind == "symlink":
            os.symlink(entry.target, staging / entry.path)
    # Deepest first: a folder without write permission would refuse what lies in it.
    for entry in sorted(manifest.entries, key=lambda entry: entry.path.count("/"), reverse=True):
        if entry.kind != "symlink":
            (staging / entry.path).chmod(entry.mode)


def _expected(entry: Entry) -> tuple[str, str]:
    if entry.kind in ("file", "sqlite"):
        return ("file", entry.sha256)
    return (entry.kind, entry.target)


def _check_database(path: Path, entry: Entry, archive: Path) -> None:
    """Ask SQLite itself, in case that the database was already damaged when it was copied."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            verdict = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict != "ok":
        raise ArchiveDamagedError(f"{entry.path}: {verdict}", archive=archive.name)


def _require_unused(target: Path) -> None:
    """Refuse when a process has a file of the target open; processes of others are invisible to a plain user."""
    root = target.resolve()
    for process in psutil.process_iter(["pid", "name"]):
        with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
            if any(Path(file.path).is_relative_to(root) for file in process.open_files()):
                raise TargetInUseError(path=str(target), by=f"{process.info['name']}, pid {process.info['pid']}")


def _swap(staging: Path, target: Path, *, occupied: bool) -> Path | None:
    """Give the staging folder the target's name; what was there keeps its content under a new name."""
    set_aside = None
    try:
        if occupied:
            set_aside = _unused_name(target)
            os.rename(target, set_aside)
        elif target.exists():
            target.rmdir()
        os.rename(staging, target)
    except OSError as error:
        if set_aside is not None and set_aside.exists() and not target.exists():
            os.rename(set_aside, target)
        raise TargetInUseError(str(error), path=str(target), by=error.strerror or "?") from error
    target.chmod(0o700)
    return set_aside


def _unused_name(target: Path) -> Path:
    number = 1
    while (candidate := target.with_name(f"{target.name}.before-restore-{number}")).exists():
        number += 1
    return candidate
