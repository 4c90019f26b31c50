"""Reads unified diffs as people and models write them: Git's headers or none, and counts that may be wrong. Pure."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from echo_codex_git.errors import PatchRejectedError, UnsafePathError

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_GIT_NAMES = re.compile(r"diff --git (?:a/)?(.+) (?:b/)?\1$")
_DEV_NULL: Final = "/dev/null"
_FILE_MODES: Final = {"100644": False, "100755": True}


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place: the line number it names (from 1), the lines it expects and those it leaves, with their ends."""

    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(slots=True)
class FilePatch:
    """What a diff says about one file.

    Args:
        old: name before, None = it is made.
        new: name after, None = it is deleted.
        executable: None = as it was.
        copies: the old file stays.
    """

    old: str | None = None
    new: str | None = None
    executable: bool | None = None
    copies: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def parse(text: str) -> list[FilePatch]:
    """The files of a diff, in its order.

    Raises:
        PatchRejectedError: nothing that looks like a diff, or a binary one.
        UnsafePathError: it would make a symbolic link or a submodule.
    """
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            patches.append(_named(line))
        elif _starts_file(lines, at):
            old, new = _name(line[4:]), _name(lines[at + 1][4:])
            # After Git's own header the two lines only repeat the names, and tell what is made or deleted.
            if patches and not patches[-1].hunks and _fresh(lines, at):
                patches[-1].old, patches[-1].new = old, new
            else:
                patches.append(FilePatch(old, new))
            at += 1
        elif patches and (match := _HUNK.match(line)):
            at = _read_hunk(lines, at + 1, match, patches[-1])
            continue
        elif patches:
            _read_header(line, patches[-1])
        at += 1
    if not any(patch.hunks or patch.old != patch.new or patch.executable is not None for patch in patches):
        raise PatchRejectedError("no change in the diff", place="-")
    return patches


def _starts_file(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _fresh(lines: Sequence[str], at: int) -> bool:
    """Whether a `diff --git` header, and no other file, is what comes before."""
    before = next((line for line in reversed(lines[:at]) if line.startswith(("diff --git ", "@@ ", "+++ "))), "")
    return before.startswith("diff --git ")


def _named(line: str) -> FilePatch:
    match = _GIT_NAMES.match(line)
    return FilePatch(match[1], match[1]) if match else FilePatch()


def _name(text: str) -> str | None:
    """A name of a `---` or `+++` line: a time may follow a tab, odd names are in C quotes."""
    name = text.split("\t")[0].rstrip()
    if name.startswith('"') and name.endswith('"'):
        raw, _ = codecs.escape_decode(name[1:-1].encode())
        name = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else name
    if name == _DEV_NULL:
        return None
    return name[2:] if name[:2] in ("a/", "b/") else name


def _read_header(line: str, patch: FilePatch) -> None:
    word, _, value = line.rpartition(" ")
    match word:
        case "new file mode":
            patch.old, patch.executable = None, _executable(value, line)
        case "new mode":
            patch.executable = _executable(value, line)
        case "deleted file mode":
            patch.new = None
        case _ if line.startswith(("GIT binary patch", "Binary files ")):
            raise PatchRejectedError("binary", place=patch.new or patch.old or "-")
        case _:
            _read_rename(line, patch)


def _read_rename(line: str, patch: FilePatch) -> None:
    for verb in ("rename", "copy"):
        if line.startswith(f"{verb} from "):
            patch.old = _name(line.removeprefix(f"{verb} from "))
            patch.copies = verb == "copy"
        elif line.startswith(f"{verb} to "):
            patch.new = _name(line.removeprefix(f"{verb} to "))


def _executable(mode: str, line: str) -> bool:
    if mode not in _FILE_MODES:
        raise UnsafePathError(line, path=line)
    return _FILE_MODES[mode]


def _read_hunk(lines: Sequence[str], at: int, header: re.Match[str], patch: FilePatch) -> int:
    """Read one hunk's lines; returns where the next thing begins."""
    old: list[bytes] = []
    new: list[bytes] = []
    sign = ""
    while at < len(lines) and not _ends_hunk(lines, at):
        line = lines[at] or " "  # editors strip the blank of an empty context line
        if line[0] == "\\":  # "No newline at end of file" is about the line before
            for side, signs in ((old, "- "), (new, "+ ")):
                if side and sign in signs:
                    side[-1] = side[-1].removesuffix(b"\n")
            at += 1
            continue
        sign = line[0]
        data = line[1:].encode("utf-8", "surrogateescape") + b"\n"
        old += [data] * (sign in "- ")
        new += [data] * (sign in "+ ")
        at += 1
    promised, blank = int(header[2] or 1), at
    while lines[blank - 1] == "" and len(old) > promised:  # blank lines behind the diff
        blank, old, new = blank - 1, old[:-1], new[:-1]
    patch.hunks.append(Hunk(int(header[1]), tuple(old), tuple(new)))
    return at


def _ends_hunk(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    begins_file = _starts_file(lines, at) and at + 2 < len(lines) and lines[at + 2].startswith("@@ ")
    return begins_file or bool(line and line[0] not in " +-\\")
