"""All skills that one user sees, asynchronous: their own, everybody's, and Open WebUI's."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from echo_codex_git.codex import in_worker
from echo_codex_git.repository import Author
from echo_core.ports import Clock
from echo_paths import EchoPaths
from echo_skills.document import SKILL_FILE
from echo_skills.errors import SharedSkillsError, SkillFileMissingError, SkillMissingError, SkillNameError
from echo_skills.ports import NativeSkills, NoNativeSkills, SkillEntry, Source
from echo_skills.space import Forged, SkillDraft, SkillLimits, SkillPage, SkillSpace, page

#: Entries in one listing.
MAX_LISTED: Final = 25

#: Where a skill of one name is looked for first.
_ORDER: Final[tuple[Source, ...]] = ("user", "shared", "open-webui")


@dataclass(frozen=True, slots=True)
class SkillLibrary:
    """Skills by user.

    Args:
        paths: where users' folders are.
        clock: dates versions.
        native: Open WebUI's own skills.
        limits: bounds.
    """

    paths: EchoPaths
    clock: Clock
    native: NativeSkills = field(default_factory=NoNativeSkills)
    limits: SkillLimits = field(default_factory=SkillLimits)

    async def search(self, user: Mapping[str, Any], query: str = "") -> list[SkillEntry]:
        """The skills that fit some words best, at most 25; names and descriptions only.

        Args:
            user: Open WebUI's user, with its `id`.
            query: words in any language; empty lists all.
        """
        own, shared = self._space(user, "user"), self._space(user, "shared")
        entries = await in_worker(lambda: own.entries() + shared.entries())
        entries += await self.native.entries(user)
        words = _words(query)
        scored = [(_score(words, entry), entry) for entry in entries]
        fitting = [(score, entry) for score, entry in scored if score > 0 or not words]
        fitting.sort(key=lambda found: (-found[0], _ORDER.index(found[1].source), found[1].name))
        return [entry for _, entry in fitting[:MAX_LISTED]]

    async def read(
        self, user: Mapping[str, Any], name: str, *, path: str = SKILL_FILE, offset: int = 0, source: str = ""
    ) -> SkillPage:
        """A part of one of a skill's files.

        Args:
            user: Open WebUI's user, with its `id`.
            name: of the skill.
            path: inside the skill's folder.
            offset: first character.
            source: "user", "shared" or "open-webui" when several skills have the name; else the first of these.

        Raises:
            SkillMissingError, SkillFileMissingError, UnsafePathError
        """
        for place in _ORDER:
            if source in ("", place):
                found = await self._read_from(place, user, name, path, offset)
                if found is not None:
                    return found
        raise SkillMissingError(name=name[:100])

    async def _read_from(
        self, place: Source, user: Mapping[str, Any], name: str, path: str, offset: int
    ) -> SkillPage | None:
        if place == "open-webui":
            files = await self.native.files(user, name)
            if files is None:
                return None
            if path not in files:
                raise SkillFileMissingError(name=name, path=path)
            return page(name, place, path, files[path], offset, sorted(files), self.limits)
        space = self._space(user, place)
        try:
            return await in_worker(lambda: space.read(name, path, offset))
        except (SkillMissingError, SkillNameError):
            return None

    async def forge(self, user: Mapping[str, Any], draft: SkillDraft, *, shared: bool = False) -> Forged:
        """Write a skill of this user, or, as an administrator, one for everybody.

        Raises:
            SharedSkillsError: not an administrator.
            SkillNameError, SkillFormatError, SkillExistsError, SkillLimitError, UnsafePathError
        """
        if shared and user.get("role") != "admin":
            raise SharedSkillsError
        space = self._space(user, "shared" if shared else "user")
        author = Author(str(user.get("name") or "user"), str(user.get("email") or "user@localhost"))
        when_s = int(self.clock.now_s())
        return await in_worker(lambda: space.forge(draft, author, when_s))

    def _space(self, user: Mapping[str, Any], source: Source) -> SkillSpace:
        folder = self.paths.shared_skills_dir if source == "shared" else self.paths.skills_dir(str(user["id"]))
        return SkillSpace(folder, source, self.limits)


def _words(text: str) -> list[str]:
    """Words without case, accents and punctuation."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))
    return "".join(char if char.isalnum() else " " for char in bare).split()


def _score(words: Sequence[str], entry: SkillEntry) -> int:
    """How well an entry fits: a word of the name counts three times one of the description; beginnings count too."""
    name, description = _words(entry.name), _words(entry.description)
    return sum(3 * _hits(word, name) + _hits(word, description) for word in words)


def _hits(word: str, among: Sequence[str]) -> int:
    alike = (word == other or (len(word) > 3 and other.startswith(word[:-1])) for other in among)
    return int(any(alike))
