"""Agent Skills: found by what they are for, read when they are needed, written by the model, every version kept."""

from echo_skills.document import SkillDocument, compose_skill, parse_skill
from echo_skills.errors import SkillError
from echo_skills.library import SkillLibrary
from echo_skills.ports import NativeSkills, NoNativeSkills, SkillEntry
from echo_skills.space import Forged, SkillDraft, SkillLimits, SkillPage

__all__ = [
    "Forged",
    "NativeSkills",
    "NoNativeSkills",
    "SkillDocument",
    "SkillDraft",
    "SkillEntry",
    "SkillError",
    "SkillLibrary",
    "SkillLimits",
    "SkillPage",
    "compose_skill",
    "parse_skill",
]
