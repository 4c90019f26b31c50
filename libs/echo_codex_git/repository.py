"""One working tree and its repository, as stock Git would leave them. All of it blocks; callers hold the lock.

Only Dulwich's objects, refs and index are used, never its porcelain: no hook, filter, merge driver, credential helper
or external program is ever run, and files are reached through `Folder` alone.
"""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from dulwich.ignore import IgnoreFilter, IgnoreFilterManager
from dulwich.index import ConflictedIndexEntry, Index, IndexEntry, commit_tree, index_entry_from_stat
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo, sanitize_user_identity

from echo_codex_git.errors import (
    BranchExistsError,
    BranchMissingError,
    ConflictsLeftError,
    FileMissingError,
    NothingToCommitError,
    RevisionMissingError,
    UnsafePathError,
    WorkspaceDamagedError,
)
from echo_codex_git.folder import GIT_DIR, Folder
from echo_codex_git.limits import CodexLimits
from echo_codex_git.naming import branch_ref, path_text
from echo_codex_git.trees import FILE, LINK, PROGRAM, SUBMODULE, Entry, Flat, Mode, commit_of, content, flatten

ChangeKind = Literal["added", "modified", "deleted", "untracked", "conflicted"]
Cached = IndexEntry | ConflictedIndexEntry

MERGE_HEAD: Final = "MERGE_HEAD"
MERGE_MSG: Final = "MERGE_MSG"
COMMITTER: Final = b"ECHO <echo@localhost>"
_HEADS: Final = b"refs/heads/"


@dataclass(frozen=True, slots=True)
class Author:
    """Whose work a commit is."""

    name: str
    email: str

    def identity(self) -> bytes:
        """As Git writes it, without the characters that would break the commit."""
        name = " ".join(self.name.split()) or "user"
        return sanitize_user_identity(name.encode("utf-8", "replace"), self.email.encode("utf-8", "replace"))


class Repository:
    """A context manager around one working tree.

    Args:
        root: the working tree; `.git` inside it is a real folder.
        limits: bounds for files.

    Raises:
        WorkspaceDamagedError: there is no whole repository.
        UnsafePathError: the folder is a link.
    """

    def __init__(self, root: Path, limits: CodexLimits) -> None:
        self.root = root
        self.limits = limits
        self.folder = Folder(root)
        git = self.folder.stat(GIT_DIR)
        if git is None or not stat.S_ISDIR(git.st_mode):
            self.folder.__exit__(None, None, None)
            raise WorkspaceDamagedError("no .git folder")
        try:
            self.repo = Repo(str(root))
        except Exception as error:
            self.folder.__exit__(None, None, None)
            raise WorkspaceDamagedError(str(error)) from error
        self.store = self.repo.object_store

    @classmethod
    def create(cls, root: Path, limits: CodexLimits) -> Self:
        """Make an empty repository in an existing, empty folder; branch `main`."""
        # Links of foreign trees are checked out as plain files, here and by whoever runs Git in this folder.
        Repo.init(str(root), default_branch=b"main", symlinks=False).close()
        return cls(root, limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.repo.close()
        self.folder.__exit__(kind, error, trace)

    # Refs

    def head(self) -> ObjectID | None:
        """The current commit, None before the first one."""
        try:
            return self.repo.refs[HEADREF]
        except KeyError:
            return None

    def branch(self) -> str | None:
        """The current branch, also one without a commit; None when HEAD is detached."""
        target = self.repo.refs.get_symrefs().get(HEADREF, b"")
        return target.removeprefix(_HEADS).decode("utf-8", "replace") if target.startswith(_HEADS) else None

    def branches(self) -> list[str]:
        """Names of all branches that have a commit."""
        return sorted(name.decode("utf-8", "replace") for name in self.repo.refs.keys(base=Ref(_HEADS)))

    def branch_tip(self, name: str) -> ObjectID:
        """A branch's commit. Raises BranchNameError, BranchMissingError."""
        ref = Ref(branch_ref(name))
        if ref not in self.repo.refs:
            raise BranchMissingError(name=name)
        return self.repo.refs[ref]

    def make_branch(self, name: str, sha: ObjectID) -> None:
        """Make a branch. Raises BranchNameError, BranchExistsError."""
        ref = branch_ref(name)
        for other in self.repo.refs.keys(base=Ref(_HEADS)):
            there = _HEADS + other
            if there == ref or there.startswith(ref + b"/") or ref.startswith(there + b"/"):
                raise BranchExistsError(name=name)
        if not self.repo.refs.add_if_new(Ref(ref), sha):
            raise BranchExistsError(name=name)

    def resolve(self, revision: str) -> ObjectID:
        """The commit that `HEAD`, a branch or an abbreviated hash names. Raises RevisionMissingError."""
        head = self.head()
        if revision == "HEAD" and head is not None:
            return head
        names = self.branches()
        if revision in names:
            return self.branch_tip(revision)
        prefix = revision.lower()
        if 4 <= len(prefix) <= 40 and all(char in "0123456789abcdef" for char in prefix):
            found = [sha for sha in self.store.iter_prefix(prefix.encode()) if isinstance(self.store[sha], Commit)]
            if len(found) == 1:
                return found[0]
        raise RevisionMissingError(name=revision[:100])

    # Trees

    def flat(self, commit: ObjectID | None) -> Flat:
        """A commit's files; {} for None."""
        if commit is None:
            return {}
        return flatten(self.store, commit_of(self.store, commit).tree, self.limits.files)

    def data(self, sha: ObjectID) -> bytes:
        """A blob's bytes."""
        return content(self.store, sha)

    def index(self) -> Index:
        """The index as it is on the disk."""
        try:
            return self.repo.open_index()
        except Exception as error:
            raise WorkspaceDamagedError(f"index: {error}") from error

    # The working tree

    def on_disk(self, entries: Mapping[bytes, Cached]) -> dict[bytes, os.stat_result]:
        """What is tracked or not ignored, links included; submodules whose folder exists count as there."""
        ignored = self._ignore()
        found = {
            path: state for path, state in self.folder.walk(self.limits.files) if path in entries or not ignored(path)
        }
        for path, entry in entries.items():
            if isinstance(entry, IndexEntry) and entry.mode == SUBMODULE:
                state = self.folder.stat(path)
                if state is not None and stat.S_ISDIR(state.st_mode):
                    found[path] = state
        return found

    def _ignore(self) -> Callable[[bytes], bool]:
        exclude = os.path.join(self.repo.controldir(), "info", "exclude")
        own = [IgnoreFilter.from_path(exclude)] if os.path.isfile(exclude) else []
        manager = IgnoreFilterManager(str(self.root), own, ignorecase=False)
        return lambda path: bool(manager.is_ignored(os.fsdecode(path)))

    def entry_of(self, path: bytes, state: os.stat_result, cached: Cached | None, written_ns: int) -> Entry:
        """Mode and blob id of a file on the disk; the index is trusted where Git would trust it.

        Args:
            path: of the file.
            state: its stat.
            cached: the index's entry.
            written_ns: when the index was written; a file touched at that moment or later is read again.

        Raises:
            UnsafePathError: a link where a file should be.
        """
        known = cached if isinstance(cached, IndexEntry) else None
        if known is not None and known.mode == SUBMODULE and stat.S_ISDIR(state.st_mode):
            return known.mode, known.sha
        if not stat.S_ISREG(state.st_mode):
            raise UnsafePathError(f"{path!r} is no plain file", path=path_text(path))
        mode = _mode_of(state, known)
        if known is not None and _unchanged(known, state) and state.st_mtime_ns < written_ns:
            return mode, known.sha
        return mode, Blob.from_string(self.folder.read(path, self.limits.file_bytes)).id

    def changes(self) -> dict[bytes, ChangeKind]:
        """How the working tree differs from the current commit; ignored files are left out."""
        index, head = self.index(), self.flat(self.head())
        entries = dict(index.items())
        disk = self.on_disk(entries)
        written_ns = index_time_ns(index)
        found: dict[bytes, ChangeKind] = {}
        for path in sorted(head.keys() | entries.keys() | disk.keys()):
            cached, state = entries.get(path), disk.get(path)
            if isinstance(cached, ConflictedIndexEntry):
                found[path] = "conflicted"
            elif state is None:
                if path in head:
                    found[path] = "deleted"
            elif path not in head:
                found[path] = "added" if cached is not None else "untracked"
            elif stat.S_ISLNK(state.st_mode) or self.entry_of(path, state, cached, written_ns) != head[path]:
                found[path] = "modified"
        return found

    def stage_all(self) -> Flat:
        """Take the whole working tree into the index, as `git add --all` does; untracked links are left out.

        Raises:
            ConflictsLeftError: a file of a merge still has conflict markers.
            UnsafePathError: a link stands where a tracked file was.
            CodexLimitError: a file is too large.
        """
        index = self.index()
        entries = dict(index.items())
        disk = self.on_disk(entries)
        self._refuse_markers(entries, disk)
        staged: dict[bytes, IndexEntry] = {}
        written_ns = index_time_ns(index)
        for path, state in disk.items():
            cached = entries.get(path)
            if cached is None and not stat.S_ISREG(state.st_mode):
                continue
            mode, sha = self.entry_of(path, state, cached, written_ns)
            if mode != SUBMODULE and sha not in self.store:
                self.store.add_object(Blob.from_string(self.folder.read(path, self.limits.file_bytes)))
            staged[path] = index_entry_from_stat(state, sha, mode)
        self.write_index(staged)
        return {path: (entry.mode, entry.sha) for path, entry in staged.items()}

    def _refuse_markers(self, entries: Mapping[bytes, Cached], disk: Mapping[bytes, os.stat_result]) -> None:
        left: list[str] = []
        for path, entry in entries.items():
            if isinstance(entry, ConflictedIndexEntry) and path in disk:
                data = b"\n" + self.folder.read(path, self.limits.file_bytes)
                if b"\n<<<<<<< " in data and b"\n>>>>>>> " in data:
                    left.append(path_text(path))
        if left:
            raise ConflictsLeftError(paths=", ".join(left))

    def write_index(self, entries: Mapping[bytes, Cached]) -> None:
        """Replace the index in one step."""
        index = Index(self.repo.index_path(), read=False)
        for path in sorted(entries):
            index[path] = entries[path]
        index.write()

    def check_out(self, old: Flat, new: Flat, *, force: bool = False) -> None:
        """Bring the working tree and the index from one state to another; equal files are not touched.

        Args:
            old: what the tracked files are now.
            new: what they are to be.
            force: write also what is equal in both, since the files themselves may differ.
        """
        entries = dict(self.index().items())
        for path in sorted(old.keys() - new.keys(), reverse=True):
            state = self.folder.stat(path)
            if state is not None and not stat.S_ISDIR(state.st_mode):
                self.folder.delete(path)
            entries.pop(path, None)
        for path, (mode, sha) in new.items():
            if old.get(path) == (mode, sha) and not force and isinstance(entries.get(path), IndexEntry):
                continue
            entries[path] = index_entry_from_stat(self.put(path, mode, sha), sha, mode)
        self.write_index(entries)

    def put(self, path: bytes, mode: Mode, sha: ObjectID) -> os.stat_result:
        """Write one file of a tree into the working tree; returns its stat."""
        if mode == SUBMODULE:
            self.folder.make_dir(path)
            state = self.folder.stat(path)
            if state is None:
                raise WorkspaceDamagedError(f"no folder for {path!r}")
            return state
        return self.folder.write(path, self.data(sha), executable=mode == PROGRAM)

    # Commits

    def commit(self, flat: Flat, message: str, author: Author, when_s: int) -> ObjectID:
        """Record a state of the files on the current branch; a merge that waits becomes its second parent.

        Raises:
            NothingToCommitError: it is the state of the last commit.
        """
        head, merged = self.head(), self.merge_head()
        tree = commit_tree(self.store, ((path, sha, mode) for path, (mode, sha) in flat.items()))
        parents = [sha for sha in (head, merged) if sha is not None]
        if merged is None and (not flat if head is None else commit_of(self.store, head).tree == tree):
            raise NothingToCommitError
        commit = Commit()
        commit.tree, commit.parents = tree, parents
        commit.author, commit.committer = author.identity(), COMMITTER
        commit.author_time = commit.commit_time = when_s
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = message.strip().encode("utf-8", "replace") + b"\n"
        self.store.add_object(commit)
        self.advance(head, commit.id, when_s, b"commit: " + commit.message.split(b"\n")[0])
        self.end_merge()
        return commit.id

    def advance(self, old: ObjectID | None, new: ObjectID, when_s: int, why: bytes) -> None:
        """Move the current branch, if it is still where it was. Raises WorkspaceDamagedError."""
        log = {"committer": COMMITTER, "timestamp": when_s, "timezone": 0, "message": why}
        refs = self.repo.refs
        moved = (
            refs.add_if_new(HEADREF, new, **log) if old is None else refs.set_if_equals(HEADREF, old, new, **log)  # type: ignore[arg-type]
        )
        if not moved:
            raise WorkspaceDamagedError("somebody else moved the branch")

    def merge_head(self) -> ObjectID | None:
        """The other side of a merge that waits for its commit."""
        try:
            return ObjectID(self.folder.read(b".git/MERGE_HEAD", 100).strip())
        except FileMissingError:
            return None

    def begin_merge(self, other: ObjectID, message: str) -> None:
        """Note, as Git does, that the next commit finishes a merge."""
        control = Path(self.repo.controldir())
        (control / MERGE_MSG).write_bytes(message.encode() + b"\n")
        (control / MERGE_HEAD).write_bytes(other + b"\n")

    def end_merge(self) -> None:
        """The merge is committed or given up."""
        for name in (MERGE_HEAD, MERGE_MSG):
            Path(self.repo.controldir(), name).unlink(missing_ok=True)


def index_time_ns(index: Index) -> int:
    """When the index was written, epoch nanoseconds; 0 when there is none yet."""
    try:
        return os.stat(index.path).st_mtime_ns
    except FileNotFoundError:
        return 0


def _mode_of(state: os.stat_result, known: IndexEntry | None) -> Mode:
    # A link of a foreign tree is a plain file here and stays a link in the history.
    if known is not None and known.mode == LINK:
        return LINK
    return PROGRAM if state.st_mode & stat.S_IXUSR else FILE


def _unchanged(known: IndexEntry, state: os.stat_result) -> bool:
    """Whether size, times and inode are those of the index; Dulwich gives times as (seconds, nanoseconds)."""
    return (
        known.size == state.st_size & 0xFFFFFFFF
        and known.ino == state.st_ino & 0xFFFFFFFF
        and _ns(known.mtime) == state.st_mtime_ns
        and _ns(known.ctime) == state.st_ctime_ns
    )


def _ns(moment: int | float | tuple[int, int]) -> int:
    if isinstance(moment, tuple):
        return moment[0] * 1_000_000_000 + moment[1]
    return round(moment * 1_000_000_000)
