"""Open WebUI's own skills, read with a user's rights (imports `open_webui`)."""

import base64
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from echo_skills import SkillEntry

logger = logging.getLogger(__name__)


class OwuiSkills:
    """The `NativeSkills` of the running Open WebUI; a release without skills has none."""

    async def entries(self, user: Mapping[str, Any]) -> Sequence[SkillEntry]:
        """Those that are switched on and that the user owns or was granted."""
        return [
            SkillEntry(name=skill.id, description=_about(skill), source="open-webui") for skill in await _readable(user)
        ]

    async def files(self, user: Mapping[str, Any], name: str) -> Mapping[str, str] | None:
        """The text files of one of these, by the id that the entries name, or by its title."""
        for skill in await _readable(user):
            if name in (skill.id, skill.name):
                return _texts(skill)
        return None


async def _readable(user: Mapping[str, Any]) -> list[Any]:
    try:
        from open_webui.models.skills import Skills
    except ImportError:
        logger.debug("This Open WebUI has no skills")
        return []
    user_id = str(user.get("id") or "")
    if not user_id:
        return []
    return [skill for skill in await _of(Skills, user_id) if skill.is_active]


async def _of(skills: Any, user_id: str) -> list[Any]:
    """Releases before 0.12 have no filter in `get_skills`, but a method of its own for it."""
    if hasattr(skills, "get_skills_by_user_id"):
        return list(await skills.get_skills_by_user_id(user_id, "read"))
    return list(await skills.get_skills(user_id=user_id))


def _about(skill: Any) -> str:
    title = "" if skill.name == skill.id else f"{skill.name}: "
    return f"{title}{skill.description or ''}".strip()


def _texts(skill: Any) -> dict[str, str]:
    stored = getattr(skill, "data", None) or {}
    texts = {"SKILL.md": str(skill.content or "")}
    for file in stored.get("files") or []:
        content = file.get("content") or ""
        if file.get("encoding") == "base64":
            try:
                content = base64.b64decode(content).decode("utf-8")
            except ValueError:
                continue  # a picture or the like, which is not read as text
        texts[str(file.get("path"))] = str(content)
    return texts
