"""Unified diffs as text: showing what changed, and applying what the model wrote."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from echo_codex_git.errors import PatchRejectedError
from echo_codex_git.lines import is_binary, split_lines, unified
from echo_codex_git.naming import file_path, path_text
from echo_codex_git.patch_text import FilePatch, Hunk, parse

DEV_NULL: Final = b"/dev/null"


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a file: its Git mode and bytes."""

    mode: int
    data: bytes


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What a patch does to one file: its new bytes, None = it goes."""

    path: bytes
    data: bytes | None
    executable: bool | None = None


def file_diff(path: bytes, old: Version | None, new: Version | None) -> bytes:
    """One file's part of `git diff`, which `git apply` takes; None = the file is not there."""
    head = [b"diff --git a/%s b/%s\n" % (path, path)]
    if old is None and new is not None:
        head.append(b"new file mode %o\n" % new.mode)
    elif new is None and old is not None:
        head.append(b"deleted file mode %o\n" % old.mode)
    elif old is not None and new is not None and old.mode != new.mode:
        head.append(b"old mode %o\nnew mode %o\n" % (old.mode, new.mode))
    before, after = (old.data if old else b""), (new.data if new else b"")
    if before == after:
        return b"".join(head)
    names = (b"a/" + path if old else DEV_NULL, b"b/" + path if new else DEV_NULL)
    if is_binary(before) or is_binary(after):
        return b"".join([*head, b"Binary files %s and %s differ\n" % names])
    hunks = unified(split_lines(before), split_lines(after))
    return b"".join([*head, b"--- %s\n+++ %s\n" % names, *hunks])


def apply_patch(text: str, read: Callable[[bytes], bytes | None]) -> list[FileEdit]:
    """What a unified diff makes of the files; nothing is written.

    A hunk is looked for nearest to the line that it names, since models count badly; its lines must fit exactly.

    Args:
        text: one or more files in `diff -u` or `git diff` format, with or without a/ and b/.
        read: gives a file's bytes, None when there is none.

    Raises:
        PatchRejectedError: not a diff, binary, or a hunk that fits nowhere.
        UnsafePathError: a path or kind of file that may not be written.
    """
    edits: dict[bytes, FileEdit] = {}

    def current(path: bytes) -> bytes | None:
        return edits[path].data if path in edits else read(path)

    for patch in parse(text):
        for edit in _edits_of(patch, current):
            edits[edit.path] = edit
    return list(edits.values())


def _edits_of(patch: FilePatch, read: Callable[[bytes], bytes | None]) -> list[FileEdit]:
    old = None if patch.old is None else file_path(patch.old)
    new = None if patch.new is None else file_path(patch.new)
    target = new or old
    if target is None:
        raise PatchRejectedError("no name", place="-")
    before = b"" if old is None else read(old)
    if before is None:
        raise PatchRejectedError("no such file", place=_shown(old))
    if old != target and read(target) is not None:
        raise PatchRejectedError("to be made, but is there", place=_shown(target))
    lines = _apply(patch.hunks, split_lines(before), _shown(target))
    if new is None:
        if lines:
            raise PatchRejectedError("to be deleted, but lines stay", place=_shown(target))
        return [FileEdit(target, None)]
    kept = FileEdit(target, b"".join(lines), patch.executable)
    return [FileEdit(old, None), kept] if old is not None and old != new and not patch.copies else [kept]


def _apply(hunks: Sequence[Hunk], lines: list[bytes], place: str) -> list[bytes]:
    result = list(lines)
    shift, floor = 0, 0
    for number, hunk in enumerate(hunks, 1):
        wanted = hunk.start + shift - (1 if hunk.old else 0)
        at = _find(hunk.old, result, wanted, floor)
        if at is None:
            raise PatchRejectedError(f"hunk {number}", place=f"{place}, hunk {number}")
        result[at : at + len(hunk.old)] = hunk.new
        shift += at - wanted + len(hunk.new) - len(hunk.old)
        floor = at + len(hunk.new)
    return result


def _find(old: Sequence[bytes], lines: list[bytes], wanted: int, floor: int) -> int | None:
    """Where the expected lines stand, nearest to `wanted` and not before `floor`; None = nowhere."""
    if not old:
        return min(max(wanted, floor), len(lines))
    last = len(lines) - len(old)
    found = (at for at in range(floor, last + 1) if lines[at] == old[0] and lines[at : at + len(old)] == list(old))
    return min(found, key=lambda at: abs(at - wanted), default=None)


def _shown(path: bytes | None) -> str:
    return "-" if path is None else path_text(path)
