"""Writing a backup while ECHO runs.

Databases are copied with SQLite's backup API, which gives one consistent moment also while others write. What names
other files comes before what it names, and the folder is looked through anew for each of the two: the databases before
the files of the vault, a repository's refs and index before its objects. Vaults and objects only grow between two
clean-ups, so nothing that was copied names what was not. The archive gets its name only when it is complete and on the
disk.
"""

import gzip
import hashlib
import os
import sqlite3
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import zstandard

from echo_cli._archive_format import (
    DATA_PREFIX,
    FORMAT,
    MANIFEST_NAME,
    SQLITE_MAGIC,
    SQLITE_SIDECARS,
    Entry,
    Kind,
    Manifest,
    OutputExistsError,
    OutputNameError,
)
from echo_constants import ECHO_VERSION, Bilingual, StateError

_CHUNK_BYTES: Final = 1 << 20
#: Content up to this size is held in memory between reading and writing, above it in an unnamed temporary file.
_SPOOL_BYTES: Final = 16 << 20
#: A file that changed while it was read is read again this often, then taken as it is (it was a log or a vector file).
_READ_TRIES: Final = 3
_ZSTD_LEVEL: Final = 3
_GZIP_LEVEL: Final = 6

#: Folders directly below the data folder that are made again from other sources.
_LEFT_OUT: Final = frozenset({"wheels"})


class UnreadableDatabaseError(StateError):
    """A database cannot be copied."""

    code = "backup_database_unreadable"
    message = Bilingual(
        en="The database {path} cannot be read; no backup was written.",
        fr="La base {path} est illisible ; aucune sauvegarde n'a été écrite.",
    )
    remedy = Bilingual(
        en="Run `echoctl doctor`; restore that database from an earlier backup.",
        fr="Lancez `echoctl doctor` ; restaurez cette base depuis une sauvegarde antérieure.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What was written.

    Args:
        size_bytes: size of the archive.
        content_bytes: size of what it holds.
        skipped: relative paths that were left out: they vanished meanwhile, point outside, or are sockets and the like.
    """

    path: Path
    size_bytes: int
    content_bytes: int
    databases: int
    files: int
    skipped: tuple[str, ...]


def write_backup(
    root: Path, out: Path, *, created_at: str, on_entry: Callable[[str], None] = lambda _: None
) -> BackupReport:
    """Copy a data folder into one archive.

    Args:
        root: the data folder.
        out: archive to make; its ending chooses the compression.
        created_at: ISO 8601 moment for the manifest.
        on_entry: told each relative path before it is copied.

    Raises:
        OutputNameError: the ending is unknown.
        OutputExistsError: there is a file of that name.
        UnreadableDatabaseError: a database is damaged or locked for good.
    """
    if not out.name.endswith((".tar.zst", ".tar.gz")):
        raise OutputNameError(path=out.name)
    if out.exists():
        raise OutputExistsError(path=str(out))
    entries: list[Entry] = []
    skipped: list[str] = []
    with (
        named_when_complete(out) as raw,
        _compressor(raw, out.name) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, kind in _in_order(root):
            relative = path.relative_to(root).as_posix()
            on_entry(relative)
            entry = _add(tar, path, relative, kind, out.parent)
            if entry is None:
                skipped.append(relative)
            else:
                entries.append(entry)
        manifest = Manifest(format=FORMAT, echo_version=ECHO_VERSION, created_at=created_at, entries=entries)
        _add_bytes(tar, MANIFEST_NAME, manifest.model_dump_json(indent=1).encode())
    return BackupReport(
        path=out,
        size_bytes=out.stat().st_size,
        content_bytes=sum(entry.size_bytes for entry in entries),
        databases=sum(entry.kind == "sqlite" for entry in entries),
        files=sum(entry.kind == "file" for entry in entries),
        skipped=tuple(skipped),
    )


def _in_order(root: Path) -> Iterator[tuple[Path, Kind]]:
    """Everything to be copied: databases, what points in repositories, the rest; each looked for when its turn comes.

    A database that appears meanwhile is left for the next backup, as what it names might be missing from this one.
    """
    yield from ((path, kind) for path, kind in _collect(root) if kind == "sqlite")
    done: set[Path] = set()
    # HEAD may name a branch that was made after the folder was looked through.
    while new := [e for e in _collect(root) if _points(e[0].relative_to(root), e[1]) and e[0] not in done]:
        yield from new
        done |= {path for path, _ in new}
    yield from ((path, kind) for path, kind in _collect(root) if kind != "sqlite" and path not in done)


def _points(relative: Path, kind: Kind) -> bool:
    """Whether a file of a Git repository may name objects: refs, HEAD, the index, a merge that waits."""
    inside = relative.parts[relative.parts.index(".git") + 1 :] if ".git" in relative.parts else ()
    return kind == "file" and bool(inside) and inside[0] != "objects"


def _collect(root: Path) -> list[tuple[Path, Kind]]:
    found: list[tuple[Path, Kind]] = []
    for folder, dir_names, file_names in os.walk(root):
        here = Path(folder)
        if here == root:
            dir_names[:] = [name for name in dir_names if name not in _LEFT_OUT]
        for name in sorted(dir_names):
            path = here / name
            found.append((path, "symlink" if path.is_symlink() else "directory"))
        databases = {name for name in file_names if _is_sqlite(here / name)}
        sidecars = {base + ending for base in databases for ending in SQLITE_SIDECARS}
        for name in sorted(set(file_names) - sidecars):
            path = here / name
            kind: Kind = "sqlite" if name in databases else "symlink" if path.is_symlink() else "file"
            found.append((path, kind))
    return sorted(found)


def _is_sqlite(path: Path) -> bool:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except FileNotFoundError:
        return False


def _add(tar: tarfile.TarFile, path: Path, relative: str, kind: str, scratch: Path) -> Entry | None:
    """Put one entry into the archive; None when it cannot be taken along."""
    try:
        mode = stat.S_IMODE(path.lstat().st_mode) & 0o777
        if kind == "symlink":
            return _add_link(tar, path, relative)
        if kind == "directory":
            info = _info(relative, mode)
            info.type = tarfile.DIRTYPE
            tar.addfile(info)
            return Entry(path=relative, kind="directory", mode=mode)
        if kind == "sqlite":
            with _database_copy(path, scratch) as copy:
                return _add_content(tar, copy, relative, "sqlite", mode)
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with _steady_copy(path) as copy:
            return _add_content(tar, copy, relative, "file", mode)
    except FileNotFoundError:
        return None


def _add_link(tar: tarfile.TarFile, path: Path, relative: str) -> Entry | None:
    target = os.readlink(path)
    inside = os.path.normpath(os.path.join(os.path.dirname(relative), target))
    if os.path.isabs(target) or inside.startswith(".."):
        return None
    info = _info(relative, 0o777)
    info.type, info.linkname = tarfile.SYMTYPE, target
    tar.addfile(info)
    return Entry(path=relative, kind="symlink", mode=0o777, target=target)


def _add_content(tar: tarfile.TarFile, content: IO[bytes], relative: str, kind: Kind, mode: int) -> Entry:
    size_bytes = content.seek(0, os.SEEK_END)
    content.seek(0)
    digest = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]  # IO[bytes] is readable
    content.seek(0)
    info = _info(relative, mode)
    info.size = size_bytes
    tar.addfile(info, content)
    return Entry(path=relative, kind=kind, mode=mode, size_bytes=size_bytes, sha256=digest)


def _add_bytes(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    with tempfile.SpooledTemporaryFile(max_size=len(content) + 1) as spool:
        spool.write(content)
        spool.seek(0)
        tar.addfile(info, spool)


def _info(relative: str, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(DATA_PREFIX + relative)
    info.mode = mode
    return info


@contextmanager
def _steady_copy(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file, read again while it changes under the reading."""
    for _ in range(_READ_TRIES):
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
            with path.open("rb") as file:
                before = os.fstat(file.fileno())
                while chunk := file.read(_CHUNK_BYTES):
                    spool.write(chunk)
            after = path.stat()
            if (before.st_mtime_ns, before.st_size, before.st_ino) == (after.st_mtime_ns, after.st_size, after.st_ino):
                yield spool
                return
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool, path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            spool.write(chunk)
        yield spool


@contextmanager
def _database_copy(path: Path, scratch: Path) -> Iterator[IO[bytes]]:
    """One consistent moment of a database; the copy has no name while it is read, so a kill leaves nothing."""
    handle, name = tempfile.mkstemp(prefix=".echo-backup-", dir=scratch)
    with os.fdopen(handle, "rb") as copy:
        try:
            with (
                closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
                closing(sqlite3.connect(name, isolation_level=None)) as target,
            ):
                # Without a journal SQLite makes no second file; a failed copy is thrown away as a whole.
                target.execute("PRAGMA journal_mode = OFF")
                source.backup(target)
        except sqlite3.Error as error:
            raise UnreadableDatabaseError(str(error), path=path.name) from error
        finally:
            os.unlink(name)
        yield copy


@contextmanager
def _compressor(raw: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if name.endswith(".zst"):
        with zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).stream_writer(
            raw, closefd=False
        ) as packed:
            yield packed
    else:
        # A fixed time in the header: the same content gives the same archive.
        with gzip.GzipFile(fileobj=raw, filename="", mode="wb", compresslevel=_GZIP_LEVEL, mtime=0) as packed_gzip:
            yield packed_gzip  # type: ignore[misc]  # GzipFile has all that tarfile calls


@contextmanager
def named_when_complete(out: Path) -> Iterator[IO[bytes]]:
    """A file without a name that gets the name `out` at the end; whatever stops us before leaves nothing behind.

    Raises:
        OutputExistsError: somebody made a file of that name meanwhile.
    """
    try:
        handle = os.open(out.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError:  # a file system without unnamed files, for example some overlays
        with _renamed_when_complete(out) as file:
            yield file
        return
    with os.fdopen(handle, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
        folder = os.open(out.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            # Only with a folder's descriptor does Python call linkat(2), which can follow the link in /proc.
            os.link(f"/proc/self/fd/{file.fileno()}", out.name, dst_dir_fd=folder, follow_symlinks=True)
        except FileExistsError as error:
            raise OutputExistsError(path=str(out)) from error
        finally:
            os.close(folder)


@contextmanager
def _renamed_when_complete(out: Path) -> Iterator[IO[bytes]]:
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, out)
        except FileExistsError as error:
            raise OutputExistsError(path=str(out)) from error
    finally:
        partial.unlink(missing_ok=True)
