"""Branches and merges of a working tree; each function is one finished step. Blocks; callers hold the lock."""

from dataclasses import dataclass
from typing import Final, Literal

from dulwich.graph import can_fast_forward, find_merge_base
from dulwich.index import ConflictedIndexEntry, index_entry_from_stat
from dulwich.objects import ObjectID
from dulwich.refs import HEADREF, Ref

from echo_codex_git.errors import MergeUnfinishedError, RevisionMissingError, UncommittedChangesError
from echo_codex_git.merging import Merged, Sides, merge_flats
from echo_codex_git.naming import branch_ref, path_text
from echo_codex_git.repository import Author, Repository
from echo_codex_git.trees import Flat

#: How many names an error gives.
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What a merge did.

    Args:
        outcome: "up_to_date", "fast_forward", "merged" (a merge commit was made) or "conflicts" (nothing is committed:
            the files hold conflict markers).
        head: the current commit's hash.
        conflicts: paths that conflict.
    """

    outcome: Literal["up_to_date", "fast_forward", "merged", "conflicts"]
    head: str | None
    conflicts: tuple[str, ...] = ()


def create_branch(repo: Repository, name: str, start: str | None = None) -> None:
    """Make a branch at a revision (default: the current commit) without switching to it.

    Raises:
        BranchNameError, BranchExistsError, RevisionMissingError
    """
    branch_ref(name)
    sha = repo.head() if start is None else repo.resolve(start)
    if sha is None:
        raise RevisionMissingError(name="HEAD")
    repo.make_branch(name, sha)


def switch(repo: Repository, name: str) -> None:
    """Check another branch out.

    Raises:
        BranchMissingError, BranchNameError
        UncommittedChangesError: files have changes, or an untracked file is in the way.
        MergeUnfinishedError: a merge waits.
    """
    target = repo.branch_tip(name)
    old, new = repo.flat(repo.head()), repo.flat(target)
    _require_clean(repo, old, new)
    repo.check_out(old, new)
    repo.repo.refs.set_symbolic_ref(HEADREF, Ref(branch_ref(name)))


def merge(repo: Repository, name: str, author: Author, when_s: int) -> MergeResult:
    """Merge a branch into the current one.

    Raises:
        BranchMissingError, BranchNameError
        UncommittedChangesError, MergeUnfinishedError: as `switch`.
        MergeRefusedError: a file meets a folder.
    """
    head, other = repo.head(), repo.branch_tip(name)
    old, theirs = repo.flat(head), repo.flat(other)
    if head is not None and (head == other or can_fast_forward(repo.repo, other, head)):
        return MergeResult(outcome="up_to_date", head=head.decode())
    if head is None or can_fast_forward(repo.repo, head, other):
        _require_clean(repo, old, theirs)
        repo.check_out(old, theirs)
        repo.advance(head, other, when_s, b"merge " + name.encode() + b": Fast-forward")
        return MergeResult(outcome="fast_forward", head=other.decode())
    base = _common(repo, find_merge_base(repo.repo, [head, other]))
    merged = merge_flats(base, old, theirs, repo.data, label=name, max_bytes=repo.limits.file_bytes)
    _require_clean(repo, old, merged.flat)
    for blob in merged.blobs.values():
        repo.store.add_object(blob)
    message = f"Merge branch '{name}'"
    repo.check_out(old, merged.flat)
    repo.begin_merge(other, message)
    if merged.conflicts:
        _write_conflicts(repo, merged)
        return MergeResult(
            outcome="conflicts", head=head.decode(), conflicts=tuple(path_text(path) for path in merged.conflicts)
        )
    made = repo.commit(merged.flat, message, author, when_s)
    return MergeResult(outcome="merged", head=made.decode())


def _common(repo: Repository, bases: list[ObjectID]) -> Flat:
    """The common ancestor's files; where histories cross there are several, which are merged themselves, as in Git."""
    if not bases:
        return {}
    flat = repo.flat(bases[0])
    for number, base in enumerate(bases[1:], 1):
        below = _common(repo, find_merge_base(repo.repo, [bases[number - 1], base]))
        merged = merge_flats(below, flat, repo.flat(base), repo.data, label="base", max_bytes=repo.limits.file_bytes)
        for blob in merged.blobs.values():
            repo.store.add_object(blob)
        flat = merged.flat
    return flat


def _write_conflicts(repo: Repository, merged: Merged) -> None:
    entries = dict(repo.index().items())
    for path, sides in merged.conflicts.items():
        entries[path] = _conflicted(repo, path, sides)
    repo.write_index(entries)


def _conflicted(repo: Repository, path: bytes, sides: Sides) -> ConflictedIndexEntry:
    state = repo.folder.stat(path) or repo.folder.stat(b".git")
    made = [
        None if entry is None or state is None else index_entry_from_stat(state, entry[1], entry[0])
        for entry in (sides.base, sides.ours, sides.theirs)
    ]
    return ConflictedIndexEntry(*made)


def abort_merge(repo: Repository) -> None:
    """Give a merge up that waits: tracked files are as in the last commit again. Raises MergeUnfinishedError: none."""
    if repo.merge_head() is None:
        raise MergeUnfinishedError("there is no merge")
    head = repo.flat(repo.head())
    tracked: Flat = {path: (0, ObjectID(b"")) for path in dict(repo.index().items())}
    repo.check_out(tracked | head, head, force=True)
    repo.end_merge()


def _require_clean(repo: Repository, old: Flat, new: Flat) -> None:
    """No work is lost by checking `new` out over `old`."""
    if repo.merge_head() is not None:
        raise MergeUnfinishedError
    changes = repo.changes()
    lost = [path for path, kind in changes.items() if kind != "untracked"]
    touched = new.keys() - old.keys()
    folders = {path[:at] for path in touched for at, char in enumerate(path) if char == 0x2F}
    for path in touched:
        state = repo.folder.stat(path)
        if path not in changes and state is not None and (state.st_mode & 0o170000) != 0o040000:
            lost.append(path)  # an ignored file
    untracked = [path for path, kind in changes.items() if kind == "untracked"]
    lost += [path for path in untracked if path in touched or path in folders]
    lost += [path for path in untracked if any(path.startswith(new_path + b"/") for new_path in touched)]
    if lost:
        names = [path_text(path) for path in sorted(set(lost))]
        raise UncommittedChangesError(paths=", ".join(names[:_SHOWN]))
