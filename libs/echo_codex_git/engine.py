"""What can be done in a working tree; each function is one finished step. All of it blocks; callers hold the lock."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dulwich.index import IndexEntry
from dulwich.objects import ObjectID

from echo_codex_git.errors import (
    CodexLimitError,
    FileMissingError,
    NotTextError,
    UnsafePathError,
)
from echo_codex_git.naming import file_path, path_text
from echo_codex_git.patches import Version, apply_patch, file_diff
from echo_codex_git.repository import Author, ChangeKind, Repository
from echo_codex_git.trees import SUBMODULE, Entry, Flat, commit_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a workspace stands.

    Args:
        branch: the current one; None when HEAD is detached.
        head: the last commit's hash, None before the first.
        changes: path -> what happened since that commit.
        merging: a merge waits for its commit.
    """

    branch: str | None
    head: str | None
    changes: dict[str, ChangeKind]
    merging: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """One line of the log; `when` is ISO 8601 in UTC."""

    hash: str
    parents: tuple[str, ...]
    author: str
    when: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPage:
    """A part of a file: characters [offset, offset + len(text)) of `total_chars`."""

    text: str
    offset: int
    total_chars: int


def status(repo: Repository) -> Status:
    """How the working tree differs from the last commit."""
    head = repo.head()
    return Status(
        branch=repo.branch(),
        head=None if head is None else head.decode(),
        changes={path_text(path): kind for path, kind in repo.changes().items()},
        merging=repo.merge_head() is not None,
    )


def list_files(repo: Repository) -> list[str]:
    """All files that are tracked or not ignored."""
    return sorted(path_text(path) for path in repo.on_disk(dict(repo.index().items())))


def read_text(repo: Repository, path: str, offset: int = 0, revision: str | None = None) -> TextPage:
    """A file's text, from the working tree or from a commit.

    Raises:
        FileMissingError, NotTextError, UnsafePathError, RevisionMissingError, CodexLimitError
    """
    name = file_path(path)
    if revision is None:
        data = repo.folder.read(name, repo.limits.file_bytes)
    else:
        entry = repo.flat(repo.resolve(revision)).get(name)
        if entry is None:
            raise FileMissingError(path=path)
        data = repo.data(entry[1])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotTextError(path=path) from error
    start = max(0, offset)
    return TextPage(text=text[start : start + repo.limits.read_chars], offset=start, total_chars=len(text))


def write_file(repo: Repository, path: str, data: bytes) -> None:
    """Make or replace a file.

    Raises:
        UnsafePathError: out of the workspace, a link, or `.git`.
        CodexLimitError: larger than a file may be, or the workspace is full.
    """
    name = file_path(path)
    if len(data) > repo.limits.file_bytes:
        raise CodexLimitError(what=path, limit=f"{repo.limits.file_bytes} bytes")
    entry = dict(repo.index().items()).get(name)
    if isinstance(entry, IndexEntry) and (entry.mode & 0o170000) != 0o100000:
        raise UnsafePathError("a link or submodule of the repository", path=path)
    _require_room(repo, name, len(data))
    repo.folder.write(name, data)


def delete_file(repo: Repository, path: str) -> None:
    """Remove a file from the working tree. Raises FileMissingError, UnsafePathError."""
    repo.folder.delete(file_path(path))


def commit(repo: Repository, message: str, author: Author, when_s: int) -> CommitInfo:
    """Commit everything that changed, as `git add --all` and `git commit` do.

    Raises:
        NothingToCommitError, ConflictsLeftError, UnsafePathError, CodexLimitError
    """
    require_space(repo)
    flat = repo.stage_all()
    return _info(repo, repo.commit(flat, message, author, when_s))


def log(repo: Repository, revision: str | None, count: int, path: str | None = None) -> list[CommitInfo]:
    """The history from a revision (default: the current commit), newest first; only commits that changed `path`.

    Raises:
        RevisionMissingError, UnsafePathError
    """
    start = repo.head() if revision is None else repo.resolve(revision)
    if start is None:
        return []
    wanted = min(max(1, count), repo.limits.log_entries)
    paths = None if path is None else [file_path(path)]
    walker = repo.repo.get_walker(include=[start], max_entries=wanted, paths=paths)
    return [_info(repo, entry.commit.id) for entry in walker]


def diff(repo: Repository, old: str | None = None, new: str | None = None, path: str | None = None) -> str:
    """A unified diff of two revisions; without `new`, of a revision (default: the last commit) and the working tree.

    Raises:
        RevisionMissingError, UnsafePathError
    """
    before = repo.flat(repo.head() if old is None else repo.resolve(old))
    after = None if new is None else repo.flat(repo.resolve(new))
    only = None if path is None else file_path(path)
    parts: list[bytes] = []
    length = 0
    for name in _differing(repo, before, after):
        if only is not None and name != only and not name.startswith(only + b"/"):
            continue
        now = _worktree_version(repo, name) if after is None else _version(repo, after.get(name))
        parts.append(file_diff(name, _version(repo, before.get(name)), now))
        length += len(parts[-1])
        if length > repo.limits.diff_chars:
            break
    text = b"".join(parts).decode("utf-8", "replace")
    if len(text) <= repo.limits.diff_chars:
        return text
    return text[: repo.limits.diff_chars] + "\n[The diff goes on; ask for one path.]\n"


def _differing(repo: Repository, before: Flat, after: Flat | None) -> Iterable[bytes]:
    if after is None:
        return sorted(repo.changes())
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _version(repo: Repository, entry: Entry | None) -> Version | None:
    if entry is None:
        return None
    return Version(entry[0], b"" if entry[0] == SUBMODULE else repo.data(entry[1]))


def _worktree_version(repo: Repository, path: bytes) -> Version | None:
    state = repo.folder.stat(path)
    if state is None:
        return None
    try:
        data = repo.folder.read(path, repo.limits.file_bytes)
    except (FileMissingError, UnsafePathError):
        return None
    return Version(0o100755 if state.st_mode & 0o100 else 0o100644, data)


def patch(repo: Repository, text: str) -> list[str]:
    """Apply a unified diff to the working tree, all of it or nothing; returns the paths that changed.

    Raises:
        PatchRejectedError, UnsafePathError, CodexLimitError
    """

    def read(name: bytes) -> bytes | None:
        try:
            return repo.folder.read(name, repo.limits.file_bytes)
        except FileMissingError:
            return None

    edits = apply_patch(text, read)
    for edit in edits:
        if edit.data is not None and len(edit.data) > repo.limits.file_bytes:
            raise CodexLimitError(what=path_text(edit.path), limit=f"{repo.limits.file_bytes} bytes")
        entry = dict(repo.index().items()).get(edit.path)
        if isinstance(entry, IndexEntry) and (entry.mode & 0o170000) != 0o100000:
            raise UnsafePathError("a link or submodule of the repository", path=path_text(edit.path))
    _require_room(repo, None, sum(len(edit.data or b"") for edit in edits))
    for edit in edits:
        if edit.data is None:
            repo.folder.delete(edit.path)
    for edit in edits:
        if edit.data is not None:
            repo.folder.write(edit.path, edit.data, executable=edit.executable)
    return [path_text(edit.path) for edit in edits]


def _require_room(repo: Repository, replaced: bytes | None, more_bytes: int) -> None:
    count, used_bytes = 0, 0
    is_new = replaced is not None
    for path, state in repo.folder.walk(repo.limits.files):
        count += 1
        used_bytes += 0 if path == replaced else state.st_size
        is_new = is_new and path != replaced
    if count + is_new > repo.limits.files:
        raise CodexLimitError(what="files", limit=repo.limits.files)
    if used_bytes + more_bytes + folder_bytes(Path(repo.repo.controldir())) > repo.limits.workspace_bytes:
        raise CodexLimitError(what="workspace", limit=f"{repo.limits.workspace_bytes} bytes")


def require_space(repo: Repository) -> None:
    """Refuse a workspace that is over its limits. Raises CodexLimitError."""
    _require_room(repo, None, 0)


def folder_bytes(folder: Path) -> int:
    """What a folder's files take, links not followed."""
    return sum(os.lstat(os.path.join(inner, name)).st_size for inner, _, names in os.walk(folder) for name in names)


def _info(repo: Repository, sha: ObjectID) -> CommitInfo:
    commit = commit_of(repo.store, sha)
    return CommitInfo(
        hash=sha.decode(),
        parents=tuple(parent.decode() for parent in commit.parents),
        author=commit.author.decode("utf-8", "replace"),
        when=datetime.fromtimestamp(commit.commit_time, UTC).isoformat(),
        message=commit.message.decode("utf-8", "replace"),
    )
