"""What is still to be done after a bundle was imported through the admin panel, and how it is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from echo_constants import Bilingual

#: Key of ECHO's mark in the `meta` of a function or toolkit (Open WebUI keeps unknown keys: its forms allow extra).
MARK: Final = "echo"

_DONE: Final = Bilingual(
    en="ECHO is set up. API keys: /echo/hud/keys",
    fr="ECHO est en place. Clés API : /echo/hud/keys",
)
_HEAD: Final = Bilingual(en="Left to do:", fr="Reste à faire :")
_IMPORT: Final = Bilingual(en="import {ids} (the whole bundle)", fr="importer {ids} (le lot entier)")
_SWITCH_ON: Final = Bilingual(en="switch on {ids}", fr="activer {ids}")
_GLOBAL: Final = Bilingual(en="make global (… menu): {ids}", fr="rendre globaux (menu …) : {ids}")

#: What the admin panel shows for the lifecycle function right after the import.
FIRST_STEP: Final = Bilingual(
    en="Switch this function on first; reload this page, and it tells here what is left to do.",
    fr="Activez d'abord cette fonction ; rechargez cette page, elle dira ici ce qui reste à faire.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledFunction:
    """One function of the bundle, as the bundle lists it."""

    id: str
    kind: str
    scope: str

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """From the list in the bundle: `{"id", "kind", "scope"}`."""
        return cls(id=fields["id"], kind=fields["kind"], scope=fields["scope"])


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFunction:
    """What Open WebUI has of it."""

    is_active: bool
    is_global: bool


def left_to_do(functions: Sequence[BundledFunction], stored: Mapping[str, StoredFunction]) -> Bilingual:
    """The steps that only an administrator can take, as one text in the order in which to take them.

    Args:
        functions: what the bundle brought.
        stored: what Open WebUI has, by id; missing = not imported.
    """
    steps = (
        (_IMPORT, [item.id for item in functions if item.id not in stored]),
        (_SWITCH_ON, [item.id for item in functions if item.id in stored and not stored[item.id].is_active]),
        (
            _GLOBAL,
            [
                item.id
                for item in functions
                if item.scope == "global" and item.id in stored and not stored[item.id].is_global
            ],
        ),
    )
    due = [(text, ", ".join(ids)) for text, ids in steps if ids]
    if not due:
        return _DONE
    lines = {locale: "; ".join(text.render(locale, ids=ids) for text, ids in due) for locale in ("en", "fr")}
    return Bilingual(en=f"{_HEAD.en} {lines['en']}.", fr=f"{_HEAD.fr} {lines['fr']}.")


def is_own_start(event_name: str, event: Mapping[str, Any], own_id: str) -> bool:
    """Whether ECHO starts with this event: Open WebUI did, or the lifecycle function was switched on."""
    subject = event.get("subject")
    about = subject.get("id") if isinstance(subject, Mapping) else None
    return event_name == "system.startup.started" or (event_name == "function.enable_started" and about == own_id)
