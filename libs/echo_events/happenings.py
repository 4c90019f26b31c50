"""What happens between two messages and is told to the model: the catalogue of `AEC_event` names.

Like the events of a turn these are past-tense facts, but their reader is the model. Anything in ECHO may push one; it
is told once on each chain (`docs/uctp.md`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from echo_constants import Bilingual, Locale

HappeningName: TypeAlias = Literal[
    "document_indexed",
    "document_failed",
    "tool_finished",
    "memory_written",
    "memory_refused",
    "quota_low",
    "connection_restored",
    "level_fell",
]

HAPPENING_NAMES: Final[tuple[HappeningName, ...]] = get_args(HappeningName)

#: What the model reads; the names in braces are the fields that a happening must have. The names of documents' events
#: begin with `document_`, which keeps them when the message above is edited.
HAPPENINGS: Final[Mapping[HappeningName, Bilingual]] = MappingProxyType(
    {
        "document_indexed": Bilingual(
            en="The document {document} has been read; all of it can be searched from now on.",
            fr="Le document {document} a été lu ; tout son contenu peut désormais être interrogé.",
        ),
        "document_failed": Bilingual(
            en="The document {document} could not be indexed, so no search finds it: {why} Its own tools read it.",
            fr="Le document {document} n'a pas pu être indexé, la recherche ne le trouve donc pas : {why} Ses propres "
            "outils le lisent.",
        ),
        "tool_finished": Bilingual(
            en="{tool}, which went on in the background, has finished: {result}",
            fr="{tool}, qui continuait en arrière-plan, a terminé : {result}",
        ),
        "memory_written": Bilingual(
            en="ECHO has noted for later conversations: {memory}",
            fr="ECHO a retenu pour les conversations suivantes : {memory}",
        ),
        "memory_refused": Bilingual(
            en="ECHO did not keep something that was said, for this reason: {why}",
            fr="ECHO n'a pas retenu une chose qui a été dite, pour cette raison : {why}",
        ),
        "quota_low": Bilingual(
            en="The Gemini quota of {model} is used up for now; until it returns, lighter models may answer.",
            fr="Le quota Gemini de {model} est épuisé pour le moment ; d'ici son retour, des modèles plus légers "
            "peuvent répondre.",
        ),
        "connection_restored": Bilingual(
            en="The connection to Gemini broke off in the answer before this message, which may be incomplete. It "
            "works again.",
            fr="La connexion à Gemini s'est rompue dans la réponse précédente, peut-être incomplète. Elle est "
            "rétablie.",
        ),
        "level_fell": Bilingual(
            en="{origin} was not available, so {target} gave the answer before this message.",
            fr="{origin} n'était pas disponible ; c'est {target} qui a donné la réponse précédente.",
        ),
    }
)

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def fields_of(name: HappeningName) -> frozenset[str]:
    """The fields that a happening of this name has."""
    return frozenset(key for _, key, _, _ in Formatter().parse(HAPPENINGS[name].en) if key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened.

    Args:
        name: what kind of thing.
        fields: any strings, those that the catalogue asks for.

    Raises:
        ValueError: the catalogue has no such name, or asks for other fields.
    """

    name: HappeningName
    fields: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    def __post_init__(self) -> None:
        if self.name not in HAPPENINGS or self.fields.keys() != fields_of(self.name):
            raise ValueError(f"no happening is called {self.name!r} with {sorted(self.fields)}")

    def words(self, locale: Locale) -> str:
        """What the model reads."""
        return HAPPENINGS[self.name].render(locale, **self.fields)

    def to_json(self) -> str:
        """As it waits."""
        return json.dumps({"name": self.name, "fields": dict(self.fields)})

    @classmethod
    def from_json(cls, text: str) -> "Happening":
        """Read `to_json`.

        Raises:
            ValueError: it is none, or one that this version does not know.
        """
        match json.loads(text):
            case {"name": name, "fields": dict(fields)}:
                return cls(name=name, fields=fields)
            case _:
                raise ValueError("no happening is written so")
