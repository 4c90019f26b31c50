"""Files below one folder, reached without ever following a symbolic link.

Each step of a path is opened relative to the folder before it (`openat` with `O_NOFOLLOW`), so that a link that
somebody plants between a check and its use leads nowhere.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from echo_codex_git.errors import CodexLimitError, FileMissingError, UnsafePathError
from echo_codex_git.naming import path_text

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: O_NONBLOCK: opening a pipe that somebody planted must not wait for its other end.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

GIT_DIR: Final = b".git"
EXECUTABLE: Final = 0o755
PLAIN: Final = 0o644


class Folder:
    """The files of one folder, `.git` apart; a context manager. All methods block on the disk.

    Args:
        root: the folder; must be there and be no link.
    """

    def __init__(self, root: Path) -> None:
        try:
            self._root = os.open(root, _DIRECTORY)
        except OSError as error:
            raise UnsafePathError(f"{root.name}: {error.strerror}", path=ascii(root.name)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._root)

    def stat(self, path: bytes) -> os.stat_result | None:
        """What is there, links not followed; None when nothing is, or a file stands where a folder should."""
        try:
            with self._parent(path) as (parent, name):
                return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileMissingError:
            return None
        except FileNotFoundError:
            return None

    def read(self, path: bytes, limit_bytes: int) -> bytes:
        """A regular file's content.

        Raises:
            FileMissingError: no regular file there.
            UnsafePathError: a link on the way or at the end.
            CodexLimitError: it is larger.
        """
        with self._parent(path) as (parent, name):
            try:
                descriptor = os.open(name, _FILE, dir_fd=parent)
            except OSError as error:
                raise _refusal(error, path) from error
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise FileMissingError(path=path_text(path))
            data = file.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise CodexLimitError(what=path_text(path), limit=f"{limit_bytes} bytes")
        return data

    def write(self, path: bytes, data: bytes, *, executable: bool | None = None) -> os.stat_result:
        """Replace or make a file in one step; missing folders are made.

        Args:
            path: below the folder.
            data: the whole content.
            executable: None keeps what an existing file has.

        Raises:
            UnsafePathError: a link on the way or at the end, or a folder is there.
        """
        with self._parent(path, make=True) as (parent, name):
            mode = EXECUTABLE if executable else PLAIN
            with suppress(FileNotFoundError):
                present = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISREG(present.st_mode):
                    raise UnsafePathError(f"{path!r} is no plain file", path=path_text(path))
                if executable is None and present.st_mode & stat.S_IXUSR:
                    mode = EXECUTABLE
            with self._git_dir() as spare:
                return _put(spare, parent, name, data, mode)

    def delete(self, path: bytes) -> None:
        """Remove a file or link, and folders that are empty then.

        Raises:
            FileMissingError: nothing there, or a folder.
            UnsafePathError: a link on the way.
        """
        with self._parent(path) as (parent, name):
            try:
                os.unlink(name, dir_fd=parent)
            except OSError as error:
                raise FileMissingError(path=path_text(path)) from error
        self._prune(path)

    def make_dir(self, path: bytes) -> None:
        """Make a folder and those above it; one that exists is left as it is."""
        with self._parent(path, make=True) as (parent, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)

    def walk(self, limit: int) -> Iterator[tuple[bytes, os.stat_result]]:
        """Everything but folders, sorted in each folder; `.git` in any spelling is left out, at any depth.

        Args:
            limit: how many files may be there.

        Raises:
            CodexLimitError: there are more.
        """
        for count, (path, found) in enumerate(self._walk(self._root, b""), 1):
            if count > limit:
                raise CodexLimitError(what="files", limit=limit)
            yield path, found

    def _walk(self, folder: int, prefix: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
        with os.scandir(folder) as entries:
            names = sorted(os.fsencode(entry.name) for entry in entries)
        for name in names:
            if name.lower() == GIT_DIR:
                continue
            try:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if not stat.S_ISDIR(found.st_mode):
                yield prefix + name, found
                continue
            try:
                inner = os.open(name, _DIRECTORY, dir_fd=folder)
            except OSError:
                continue
            try:
                yield from self._walk(inner, prefix + name + b"/")
            finally:
                os.close(inner)

    @contextmanager
    def _parent(self, path: bytes, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        """The opened folder that holds a path, and the path's last name."""
        *above, name = path.split(b"/")
        current = os.dup(self._root)
        try:
            for part in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=current)
                try:
                    deeper = os.open(part, _DIRECTORY, dir_fd=current)
                except OSError as error:
                    raise _folder_refusal(error, current, part, path, make=make) from error
                os.close(current)
                current = deeper
            yield current, name
        finally:
            os.close(current)

    @contextmanager
    def _git_dir(self) -> Iterator[int]:
        descriptor = os.open(GIT_DIR, _DIRECTORY, dir_fd=self._root)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _prune(self, path: bytes) -> None:
        folder = path.rpartition(b"/")[0]
        while folder:
            try:
                with self._parent(folder) as (parent, name):
                    os.rmdir(name, dir_fd=parent)
            except (OSError, FileMissingError):
                return  # not empty: other files live there
            folder = folder.rpartition(b"/")[0]


def _put(spare: int, parent: int, name: bytes, data: bytes, mode: int) -> os.stat_result:
    """Write beside, in `.git`, then move: a reader sees the old content or the new, a crash leaves no stray file."""
    draft = b"echo-" + secrets.token_hex(8).encode()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=spare)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
        os.rename(draft, name, src_dir_fd=spare, dst_dir_fd=parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=spare)
        raise
    return os.stat(name, dir_fd=parent, follow_symlinks=False)


def _refusal(error: OSError, path: bytes) -> FileMissingError | UnsafePathError:
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return UnsafePathError(f"{path!r} is a link", path=path_text(path))
    return FileMissingError(error.strerror or "", path=path_text(path))


def _folder_refusal(
    error: OSError, current: int, part: bytes, path: bytes, *, make: bool
) -> FileMissingError | UnsafePathError:
    """A link or, when writing, a file in the way is unsafe; a folder that is not there means no such file."""
    is_link = False
    with suppress(OSError):
        is_link = stat.S_ISLNK(os.stat(part, dir_fd=current, follow_symlinks=False).st_mode)
    if is_link or make or error.errno == errno.ELOOP:
        return UnsafePathError(f"{part!r} in {path!r}", path=path_text(path))
    return FileMissingError(path=path_text(path))
