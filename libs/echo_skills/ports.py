"""What skills need from outside: the skills that the host application keeps itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Source = Literal["user", "shared", "open-webui"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEntry:
    """A skill as listings show it: enough to decide whether to read it.

    Args:
        name: what it is read by.
        description: what it does and when to use it.
        source: whose it is: the user's, everybody's, or Open WebUI's own.
    """

    name: str
    description: str
    source: Source


class NativeSkills(Protocol):
    """Open WebUI's own skills, with the rights of one user."""

    async def entries(self, user: Mapping[str, Any]) -> Sequence[SkillEntry]:
        """Those that this user may read and that are switched on.

        Args:
            user: Open WebUI's user, with its `id`.
        """
        ...

    async def files(self, user: Mapping[str, Any], name: str) -> Mapping[str, str] | None:
        """The text files of a skill by path, SKILL.md among them; None when this user may not read it.

        Args:
            user: Open WebUI's user, with its `id`.
            name: as in the entry.
        """
        ...


class NoNativeSkills:
    """A host without skills."""

    async def entries(self, user: Mapping[str, Any]) -> Sequence[SkillEntry]:
        """None."""
        return ()

    async def files(self, user: Mapping[str, Any], name: str) -> Mapping[str, str] | None:
        """None."""
        return None
