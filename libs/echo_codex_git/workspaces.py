"""The workspaces of one user: which there are, and their locks. Blocks on the disk."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dulwich.errors import ChecksumMismatch, NotGitRepository, ObjectFormatException

from echo_codex_git.errors import (
    CodexError,
    CodexLimitError,
    WorkspaceDamagedError,
    WorkspaceExistsError,
    WorkspaceMissingError,
)
from echo_codex_git.limits import CodexLimits
from echo_codex_git.locks import locked
from echo_codex_git.naming import workspace_name
from echo_codex_git.repository import Repository

#: Our own folder beside the workspaces; no workspace name begins with a dot.
_OWN: Final = ".echo"

_DAMAGE: Final = (ChecksumMismatch, NotGitRepository, ObjectFormatException, KeyError, ValueError, AssertionError)


class Workspaces:
    """All workspaces below one folder.

    Args:
        root: the user's codex folder; made when the first workspace is.
        limits: bounds.
    """

    def __init__(self, root: Path, limits: CodexLimits) -> None:
        self._root = root
        self._limits = limits

    def names(self) -> list[str]:
        """All workspaces, sorted."""
        if not self._root.is_dir():
            return []
        return sorted(path.name for path in self._root.iterdir() if path.name != _OWN and _is_workspace(path))

    @contextmanager
    def open(self, name: str, *, exclusive: bool) -> Iterator[Repository]:
        """A workspace under its lock.

        Raises:
            WorkspaceNameError, WorkspaceMissingError, WorkspaceBusyError
            WorkspaceDamagedError: also for whatever of the repository turns out to be broken inside the block.
        """
        path = self._path(name)
        if not _is_workspace(path):
            raise WorkspaceMissingError(name=name)
        with self._lock(name, exclusive=exclusive):
            if not _is_workspace(path):
                raise WorkspaceMissingError(name=name)
            with as_damage(), Repository(path, self._limits) as repository:
                yield repository

    @contextmanager
    def new(self, name: str) -> Iterator[Repository]:
        """An empty repository that becomes the workspace when the block ends well; else nothing stays.

        Raises:
            WorkspaceNameError, WorkspaceExistsError, WorkspaceBusyError
            CodexLimitError: there are too many.
        """
        path = self._path(name)
        self._root.mkdir(parents=True, exist_ok=True)
        with self._lock(name, exclusive=True):
            if os.path.lexists(path):
                raise WorkspaceExistsError(name=name)
            if len(self.names()) >= self._limits.workspaces:
                raise CodexLimitError(what="workspaces", limit=self._limits.workspaces)
            draft = self._own("drafts") / secrets.token_hex(8)
            draft.mkdir()
            try:
                with as_damage(), Repository.create(draft, self._limits) as repository:
                    yield repository
                draft.rename(path)
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise

    def delete(self, name: str) -> None:
        """Remove a workspace with its history. Raises as `open`."""
        path = self._path(name)
        if not _is_workspace(path):
            raise WorkspaceMissingError(name=name)
        with self._lock(name, exclusive=True):
            gone = self._own("drafts") / secrets.token_hex(8)
            try:
                path.rename(gone)
            except FileNotFoundError as error:
                raise WorkspaceMissingError(name=name) from error
        shutil.rmtree(gone)

    def _path(self, name: str) -> Path:
        return self._root / workspace_name(name)

    def _own(self, name: str) -> Path:
        folder = self._root / _OWN / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @contextmanager
    def _lock(self, name: str, *, exclusive: bool) -> Iterator[None]:
        with locked(self._own("locks") / name, exclusive=exclusive, wait_s=self._limits.wait_s):
            yield


@contextmanager
def versioned_folder(root: Path, limits: CodexLimits) -> Iterator[Repository]:
    """A folder of files whose versions are kept, under its lock; both are made when they are not there.

    Args:
        root: the folder; the lock lies beside it.
        limits: bounds.

    Raises:
        WorkspaceBusyError, WorkspaceDamagedError
    """
    root.mkdir(parents=True, exist_ok=True)
    with locked(root.parent / f".{root.name}.lock", exclusive=True, wait_s=limits.wait_s), as_damage():
        is_new = not os.path.lexists(root / ".git")
        with Repository.create(root, limits) if is_new else Repository(root, limits) as repository:
            yield repository


@contextmanager
def as_damage() -> Iterator[None]:
    """What Dulwich raises over a broken repository, as our own error."""
    try:
        yield
    except CodexError:
        raise
    except _DAMAGE as error:
        raise WorkspaceDamagedError(f"{type(error).__name__}: {error}") from error


def _is_workspace(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False
