"""The kinds of artifacts, and what each may hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

ArtifactId: TypeAlias = Literal[
    "AEC_init",
    "AEC_upgrade",
    "AEC_reminder",
    "AEC_identite",
    "AEC_modele",
    "AEC_temps",
    "AEC_lieu",
    "AEC_smart_context",
    "AEC_context_checkpoint",
    "AEC_event",
    "AEC_memoire",
    "AEC_recall",
]

#: Source: docs/design.md section 7.
ARTIFACT_IDS: Final[tuple[ArtifactId, ...]] = get_args(ArtifactId)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What an artifact of one id is made of.

    Args:
        attributes: attribute names besides `id`, in the order in which they are written.
        items: child elements: attribute names by tag, in the order in which they are written.
    """

    attributes: tuple[str, ...] = ()
    items: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


_PLAIN: Final = Kind()
#: What a checkpoint tells, and what a user may write in place of all that (`note`).
_SECTIONS: Final = (
    "goal",
    "constraints",
    "decisions",
    "facts",
    "artefacts",
    "open_tasks",
    "user_words",
    "note",
)
_VALUES: Final = Kind(items=MappingProxyType({"value": ("name",)}))

SCHEMA: Final[Mapping[ArtifactId, Kind]] = MappingProxyType(
    {
        "AEC_init": _PLAIN,
        "AEC_upgrade": Kind(
            items=MappingProxyType(
                {"echo": ("version",), "instructions": (), "host": ("name", "change"), "tool": ("name", "change")}
            )
        ),
        "AEC_reminder": _PLAIN,
        "AEC_identite": _VALUES,
        "AEC_modele": Kind(attributes=("model", "origin")),
        "AEC_temps": _VALUES,
        "AEC_lieu": _VALUES,
        "AEC_smart_context": Kind(attributes=("name", "type", "document")),
        "AEC_context_checkpoint": Kind(
            attributes=("checkpoint",),
            items=MappingProxyType(
                {
                    **dict.fromkeys(_SECTIONS, ()),
                    "pinned": ("message", "number", "role"),
                }
            ),
        ),
        "AEC_event": Kind(attributes=("name", "at")),
        "AEC_memoire": Kind(attributes=("memory", "since")),
        "AEC_recall": Kind(items=MappingProxyType({"passage": ("number", "role")})),
    }
)
