"""Three-way merge of flat trees. Reads objects, writes nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dulwich.objects import Blob, ObjectID

from echo_codex_git.errors import MergeRefusedError
from echo_codex_git.lines import is_binary, merge_lines, split_lines
from echo_codex_git.naming import path_text
from echo_codex_git.trees import FILE, PROGRAM, Entry, Flat, Mode, file_and_folder

Reader = Callable[[ObjectID], bytes]


@dataclass(frozen=True, slots=True)
class Sides:
    """What a path is in the common ancestor, on the current branch and on the other one; None = not there."""

    base: Entry | None
    ours: Entry | None
    theirs: Entry | None


@dataclass(slots=True)
class Merged:
    """A merge's outcome.

    Args:
        flat: what the files become; where a path conflicts, what is put into the working tree.
        conflicts: paths that nobody but a reader can settle.
        blobs: new contents, by their ids.
    """

    flat: Flat = field(default_factory=dict)
    conflicts: dict[bytes, Sides] = field(default_factory=dict)
    blobs: dict[ObjectID, Blob] = field(default_factory=dict)


def merge_flats(base: Flat, ours: Flat, theirs: Flat, read: Reader, *, label: str, max_bytes: int) -> Merged:
    """Merge two trees.

    Renames are not followed: a file that one side renamed and the other changed conflicts.

    Args:
        base: the common ancestor; empty when there is none.
        ours: of the current branch.
        theirs: of the other branch.
        read: gives a blob's bytes.
        label: name of the other branch.
        max_bytes: larger files are not merged line by line.

    Raises:
        MergeRefusedError: a file meets a folder of the same name.
    """
    merged = Merged()
    for path in sorted(base.keys() | ours.keys() | theirs.keys()):
        sides = Sides(base.get(path), ours.get(path), theirs.get(path))
        simple = _simple(sides)
        if simple is not None:
            _keep(merged, path, simple[0])
        else:
            _merge_path(merged, path, sides, read, label, max_bytes)
    clash = file_and_folder(merged.flat)
    if clash is not None:
        raise MergeRefusedError(path=path_text(clash))
    return merged


def _simple(sides: Sides) -> tuple[Entry | None] | None:
    """The answer when one side at most changed the path, in a tuple; None when both did, differently."""
    if sides.ours == sides.theirs or sides.base == sides.theirs:
        return (sides.ours,)
    if sides.base == sides.ours:
        return (sides.theirs,)
    return None


def _keep(merged: Merged, path: bytes, entry: Entry | None) -> None:
    if entry is not None:
        merged.flat[path] = entry


def _merge_path(merged: Merged, path: bytes, sides: Sides, read: Reader, label: str, max_bytes: int) -> None:
    ours, theirs, base = sides.ours, sides.theirs, sides.base
    if ours is None or theirs is None or not _regular((ours, theirs)):
        merged.conflicts[path] = sides
        _keep(merged, path, ours or theirs)
        return
    mode, mode_conflicts = _mode(base, ours, theirs)
    sha, content_conflicts = ours[1], False
    if ours[1] != theirs[1]:
        before = read(base[1]) if base is not None and _regular((base,)) else b""
        data, content_conflicts = _merge_contents(before, read(ours[1]), read(theirs[1]), label, max_bytes)
        if base is not None and base[1] == ours[1]:
            data, content_conflicts = read(theirs[1]), False
        blob = Blob.from_string(data)
        merged.blobs[blob.id] = blob
        sha = blob.id
    merged.flat[path] = (mode, sha)
    if mode_conflicts or content_conflicts:
        merged.conflicts[path] = sides


def _regular(entries: Iterable[Entry]) -> bool:
    return all(mode in (FILE, PROGRAM) for mode, _ in entries)


def _mode(base: Entry | None, ours: Entry, theirs: Entry) -> tuple[Mode, bool]:
    if ours[0] == theirs[0]:
        return ours[0], False
    if base is not None and base[0] == ours[0]:
        return theirs[0], False
    return ours[0], base is None


def _merge_contents(before: bytes, ours: bytes, theirs: bytes, label: str, max_bytes: int) -> tuple[bytes, bool]:
    """The merged bytes and whether they conflict; of binary and very large files ours stays."""
    if before == theirs:
        return ours, False
    versions = (before, ours, theirs)
    if any(is_binary(version) or len(version) > max_bytes for version in versions):
        return ours, True
    result = merge_lines(split_lines(before), split_lines(ours), split_lines(theirs), label.encode())
    return b"".join(result.lines), result.conflicts > 0
