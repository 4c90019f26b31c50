"""SKILL.md: YAML front matter and instructions. Pure.

Source: https://agentskills.io/specification, read 2026-11-30.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from echo_skills.errors import SkillFormatError, SkillNameError

SKILL_FILE: Final = "SKILL.md"
MAX_NAME_CHARS: Final = 64
MAX_DESCRIPTION_CHARS: Final = 1024
MAX_COMPATIBILITY_CHARS: Final = 500
#: Our bound; the format has none.
MAX_FRONT_MATTER_CHARS: Final = 16_384

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDocument:
    """What a SKILL.md says.

    Args:
        name: also the name of its folder.
        description: what it does and when to use it.
        body: the instructions, Markdown.
        license: name of a licence or of a bundled file.
        compatibility: what it needs around it.
        allowed_tools: tools that it may use; ECHO shows them and grants nothing by them.
        metadata: further words of the author.
    """

    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def skill_name(name: str) -> str:
    """The name, when a skill can have it. Raises SkillNameError."""
    if len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise SkillNameError(repr(name[:100]))
    return name


def parse_skill(text: str) -> SkillDocument:
    """Read a SKILL.md; keys that the format does not name are left out.

    Raises:
        SkillFormatError: no front matter, no plain YAML, or a field that is missing, of the wrong kind or too long.
        SkillNameError: the name.
    """
    match = _FRONT.match(text)
    if match is None or len(match[1]) > MAX_FRONT_MATTER_CHARS:
        raise SkillFormatError("no front matter, or too long", field="---")
    fields = _yaml(match[1])
    tools = fields.get("allowed-tools") or ""
    if isinstance(tools, list):  # some tools write a list where the format has a string
        tools = " ".join(map(str, tools))
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise SkillFormatError("not a mapping", field="metadata")
    return SkillDocument(
        name=skill_name(_text(fields, "name", MAX_NAME_CHARS + 1, needed=True)),
        description=_text(fields, "description", MAX_DESCRIPTION_CHARS, needed=True),
        body=text[match.end() :].strip("\r\n"),
        license=_text(fields, "license", MAX_COMPATIBILITY_CHARS),
        compatibility=_text(fields, "compatibility", MAX_COMPATIBILITY_CHARS),
        allowed_tools=tuple(str(tools).split()),
        metadata={str(key): str(value) for key, value in metadata.items()},
    )


def compose_skill(document: SkillDocument) -> str:
    """Write a SKILL.md that `parse_skill` reads back as the same document.

    Raises:
        SkillFormatError, SkillNameError: as `parse_skill`, for what could not be read back.
    """
    skill_name(document.name)
    fields: dict[str, Any] = {"name": document.name, "description": document.description}
    optional = {
        "license": document.license,
        "compatibility": document.compatibility,
        "allowed-tools": " ".join(document.allowed_tools),
        "metadata": dict(document.metadata),
    }
    fields |= {key: value for key, value in optional.items() if value}
    front = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=100)
    text = f"---\n{front}---\n\n{document.body.strip(chr(10) + chr(13))}\n"
    parse_skill(text)
    return text


def _yaml(text: str) -> dict[str, Any]:
    try:
        # Aliases could make a few lines unfold into gigabytes.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise SkillFormatError("YAML aliases", field="---")
        fields = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SkillFormatError(str(error)[:200], field="---") from error
    if not isinstance(fields, dict):
        raise SkillFormatError("not a mapping", field="---")
    return fields


def _text(fields: Mapping[str, Any], name: str, limit: int, *, needed: bool = False) -> str:
    value = fields.get(name)
    if value is None:
        value = ""
    text = " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
    if len(text) > limit or (needed and not text) or isinstance(value, dict | list | bool):
        raise SkillFormatError(f"{name}: {type(value).__name__}", field=name)
    return text
