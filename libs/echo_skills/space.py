"""The skills below one folder: found, read and written. Blocks on the disk.

skills/
├── .git/                   all versions; made with the first skill that is forged
└── {name}/SKILL.md         and whatever the skill brings along
"""

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echo_codex_git import engine
from echo_codex_git.errors import CodexError, FileMissingError, NothingToCommitError, UnsafePathError
from echo_codex_git.folder import Folder
from echo_codex_git.limits import KIB, MIB, CodexLimits
from echo_codex_git.naming import file_path
from echo_codex_git.repository import Author
from echo_codex_git.workspaces import versioned_folder
from echo_skills.document import SKILL_FILE, SkillDocument, compose_skill, parse_skill, skill_name
from echo_skills.errors import SkillError, SkillExistsError, SkillFileMissingError, SkillLimitError, SkillMissingError
from echo_skills.ports import SkillEntry, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLimits:
    """Bounds of skills. Source: our choice.

    Args:
        skills: in one folder.
        files: of one skill, SKILL.md included.
        file_bytes: of one file.
        skill_bytes: of all files of one skill.
        page_chars: of one read; the rest is read from an offset.
    """

    skills: int = 200
    files: int = 50
    file_bytes: int = 256 * KIB
    skill_bytes: int = 2 * MIB
    page_chars: int = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPage:
    """A part of a skill's file.

    Args:
        text: characters [offset, offset + len(text)) of `total_chars`.
        files: paths of all the skill's files.
    """

    name: str
    source: Source
    path: str
    text: str
    offset: int
    total_chars: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forged:
    """A skill that was written; `version` is the commit's hash, "" when nothing changed."""

    name: str
    source: Source
    version: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """What is to be written.

    Args:
        document: becomes SKILL.md.
        files: further text files by path inside the skill's folder.
        removed: paths of files that go.
        update: whether a skill of this name may be there already.
    """

    document: SkillDocument
    files: Mapping[str, str]
    removed: Sequence[str] = ()
    update: bool = False


#: (folder, inode, size, mtime in ns) -> what its SKILL.md says; None for one that is not valid.
_Key = tuple[str, int, int, int]
_MAX_INDEXED: Final = 5_000
_index: dict[_Key, SkillEntry | None] = {}


@dataclass(frozen=True, slots=True)
class SkillSpace:
    """One folder of skills.

    Args:
        root: need not exist.
        source: whose it is.
        limits: bounds.
    """

    root: Path
    source: Source
    limits: SkillLimits

    def entries(self) -> list[SkillEntry]:
        """All valid skills, sorted; SKILL.md files are read again only when they changed."""
        if not self.root.is_dir():
            return []
        found: list[SkillEntry] = []
        with Folder(self.root) as folder:
            for path in sorted(self.root.iterdir())[: self.limits.skills * 2]:
                entry = self._entry(folder, path.name)
                if entry is not None:
                    found.append(entry)
        return found[: self.limits.skills]

    def _entry(self, folder: Folder, name: str) -> SkillEntry | None:
        try:
            path = file_path(f"{name}/{SKILL_FILE}")
            state = folder.stat(path)
        except CodexError:
            return None
        if state is None or not stat.S_ISREG(state.st_mode):
            return None
        key = (str(self.root / name), state.st_ino, state.st_size, state.st_mtime_ns)
        if key not in _index:
            if len(_index) >= _MAX_INDEXED:
                _index.clear()
            _index[key] = self._read_entry(folder, name, path)
        return _index[key]

    def _read_entry(self, folder: Folder, name: str, path: bytes) -> SkillEntry | None:
        try:
            document = parse_skill(folder.read(path, self.limits.file_bytes).decode("utf-8"))
        except (SkillError, CodexError, UnicodeDecodeError):
            return None  # a folder that is no skill; `forge_skill` never makes one
        if document.name != name:
            return None
        return SkillEntry(name=name, description=document.description, source=self.source)

    def read(self, name: str, path: str, offset: int) -> SkillPage:
        """A part of one file.

        Raises:
            SkillNameError, SkillMissingError, SkillFileMissingError
            UnsafePathError: the path leaves the skill's folder.
        """
        skill_name(name)
        inner = file_path(path)
        if not self.root.is_dir():
            raise SkillMissingError(name=name)
        with Folder(self.root) as folder:
            if self._entry(folder, name) is None:
                raise SkillMissingError(name=name)
            try:
                data = folder.read(name.encode() + b"/" + inner, self.limits.file_bytes)
                text = data.decode("utf-8")
            except (FileMissingError, UnicodeDecodeError) as error:
                raise SkillFileMissingError(name=name, path=path) from error
            files = self._files(folder, name)
        return page(name, self.source, path, text, offset, files, self.limits)

    def _files(self, folder: Folder, name: str) -> list[str]:
        with Folder(self.root / name) as inner:
            found = [path for path, _ in inner.walk(self.limits.files * 4)]
        return [path.decode("utf-8", "backslashreplace") for path in found]

    def forge(self, draft: SkillDraft, author: Author, when_s: int) -> Forged:
        """Write a skill and keep the version; nothing is written unless all of it is valid.

        Raises:
            SkillNameError, SkillFormatError, SkillExistsError, SkillLimitError
            UnsafePathError: a file outside of the skill's folder, or through a link.
        """
        contents = self._contents(draft)
        name = draft.document.name
        removed = [file_path(path) for path in draft.removed]
        if any(path == SKILL_FILE for path in draft.removed):
            raise SkillFileMissingError(name=name, path=SKILL_FILE)
        with versioned_folder(self.root, CodexLimits()) as repo:
            present = self._entry(repo.folder, name)
            if not draft.update and repo.folder.stat(name.encode()) is not None:
                raise SkillExistsError(name=name)
            if present is None and len(self.entries()) >= self.limits.skills:
                raise SkillLimitError(what="skills", limit=self.limits.skills)
            prefix = name.encode() + b"/"
            kept = dict(_sizes(repo.folder, prefix)) if present is not None else {}
            for path in removed:
                kept.pop(prefix + path, None)
            self._require_fitting(kept | {prefix + path: len(data) for path, data in contents.items()})
            for path in removed:
                if repo.folder.stat(prefix + path) is not None:
                    repo.folder.delete(prefix + path)
            for path, data in contents.items():
                repo.folder.write(prefix + path, data)
            try:
                version = engine.commit(repo, f"Forge {name}", author, when_s).hash
            except NothingToCommitError:
                version = ""
            files = [path.removeprefix(prefix).decode() for path, _ in _sizes(repo.folder, prefix)]
        return Forged(name=name, source=self.source, version=version, files=tuple(files))

    def _contents(self, draft: SkillDraft) -> dict[bytes, bytes]:
        contents = {SKILL_FILE.encode(): compose_skill(draft.document).encode("utf-8", "replace")}
        for path, text in draft.files.items():
            inner = file_path(path)
            if inner.lower() == SKILL_FILE.lower().encode():
                raise UnsafePathError("SKILL.md comes from the other fields", path=path)
            contents[inner] = text.encode("utf-8", "replace")
        for inner, data in contents.items():
            if len(data) > self.limits.file_bytes:
                raise SkillLimitError(what=inner.decode(), limit=f"{self.limits.file_bytes} bytes")
        return contents

    def _require_fitting(self, sizes: Mapping[bytes, int]) -> None:
        if len(sizes) > self.limits.files:
            raise SkillLimitError(what="files", limit=self.limits.files)
        if sum(sizes.values()) > self.limits.skill_bytes:
            raise SkillLimitError(what="skill", limit=f"{self.limits.skill_bytes} bytes")


def page(
    name: str, source: Source, path: str, text: str, offset: int, files: Sequence[str], limits: SkillLimits
) -> SkillPage:
    """The part of a text that begins at a character."""
    start = max(0, offset)
    return SkillPage(
        name=name,
        source=source,
        path=path,
        text=text[start : start + limits.page_chars],
        offset=start,
        total_chars=len(text),
        files=tuple(files[: limits.files]),
    )


def _sizes(folder: Folder, prefix: bytes) -> list[tuple[bytes, int]]:
    return [(path, state.st_size) for path, state in folder.walk(CodexLimits().files) if path.startswith(prefix)]
