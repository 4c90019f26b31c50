"""When two facts are about the same thing, and whether they agree.

Cosines cannot tell: with the packaged model "J'habite à Lyon" and "Mon bureau est à Grenoble" are closer (0.90) than
two wordings of one fact (0.86, measured). So facts are compared by what they are about and by what they say of it, both
as word stems, French and English alike. A list of concepts makes one topic of the many words that people have for what
they tell assistants most.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from echo_core.memories import Fact
from echo_memory.lexical import fold, words_of

#: How a fact stands to another: it says the same, it takes its place, or it is about something else.
Relation: TypeAlias = Literal["same", "replaces", "other"]

#: One word, as its stems.
Word: TypeAlias = frozenset[int]


@dataclass(frozen=True, slots=True)
class Concept:
    """Words for one topic.

    Args:
        words: French and English, any form.
        exclusive: whether it has one value at a time.
        of_things: whether other things than the user have it, too, so that alone it does not tell what it is said of.
    """

    words: str
    exclusive: bool = True
    of_things: bool = False


#: What people tell assistants of themselves and of their work. Source: our choice.
CONCEPTS: Final[Mapping[str, Concept]] = MappingProxyType(
    {
        "home": Concept(
            "live lives living home hometown reside residence resident address moved move flat house habite habiter "
            "habitation résidence résider domicile vis vit vivre vie logement déménagé demeure"
        ),
        "workplace": Concept("office workplace bureau"),
        "profession": Concept("job profession occupation trade career métier emploi carrière"),
        "employer": Concept("employer company firm employeur entreprise société"),
        "name": Concept("name named called call nom prénom appelle appelé appeler", of_things=True),
        "birthday": Concept("birthday birth born anniversaire naissance né née", of_things=True),
        "age": Concept("age aged âge", of_things=True),
        "editor": Concept("editor edit edits editing ide éditeur éditer"),
        "system": Concept("os distro distribution linux windows macos"),
        "database": Concept("database db données", of_things=True),
        "indentation": Concept("indentation indent indente indenter"),
        "language": Concept("answer answers reply respond réponds répondre réponse language langue"),
        "deadline": Concept("deadline due échéance rendre submit submission", of_things=True),
        "diet": Concept("diet vegetarian vegan régime végétarien végétarienne"),
        "allergy": Concept("allergic allergy allergies allergique allergie", exclusive=False),
        "partner": Concept("wife husband partner spouse femme mari conjoint conjointe épouse compagne compagnon"),
        "car": Concept("car vehicle drive drives voiture véhicule conduis conduit"),
    }
)

#: Words that say neither what a fact is about nor what it says of it. Source: our choice.
_FILLERS: Final = (
    "user users utilisateur utilisatrice me mine always toujours now maintenant currently actuellement please actually "
    "finally instead plutôt prefer prefers preferred preference préfère préféré favourite favorite favori use uses "
    "using utilise utiliser used last week yesterday hier semaine depuis since new nouveau nouvelle town city ville "
    "lieu family famille over other others autres longer plus more still encore correction said just assume really "
    "like likes aime text texte never jamais"
)

_NEGATION: Final = re.compile(
    r"\b(?:not|never|no longer|no more|without|isn t|don t|doesn t|cannot|jamais|sans|ne|n|plus (?:de|du|d))\b"
)


@dataclass(frozen=True, slots=True)
class FactKey:
    """A fact in stems.

    Args:
        concepts: names of the concepts that it is about.
        subject: the rest of its topic: what the concept is said of, or the whole topic where it has no concept.
        values: what it says.
        denies: whether it says so by a negation.
        exclusive: whether another value takes its place.
    """

    concepts: frozenset[str]
    subject: tuple[Word, ...]
    values: tuple[Word, ...]
    denies: bool
    exclusive: bool


def key_of(fact: Fact) -> FactKey:
    """What a fact is about and what it says of it. The first call loads the stemmers: not for an event loop."""
    about = words_of(fact.topic)
    told = words_of(fact.text)
    concepts = _concepts(about) or _concepts(told)
    subject = _without(about, concepts)
    values = words_of(fact.value) or _without([word for word in told if not _any_in(word, about)], concepts)
    return FactKey(
        concepts=concepts,
        subject=tuple(subject),
        values=tuple(values),
        denies=bool(_NEGATION.search(re.sub(r"[^\w]+", " ", fold(fact.text)))),
        exclusive=fact.exclusive or any(_is_exclusive(CONCEPTS[name], topical=bool(about)) for name in concepts),
    )


def relation(new: FactKey, old: FactKey) -> Relation:
    """How a new fact stands to one that is known."""
    if not _is_one_topic(new, old):
        return "other"
    agree = _covers(new.values, old.values) or _covers(old.values, new.values)
    if agree:
        return "same" if new.denies == old.denies else "replaces"
    return "replaces" if new.exclusive or old.exclusive else "other"


def _is_exclusive(concept: Concept, *, topical: bool) -> bool:
    """Whether another value takes the place of one; without a topic nobody knows whose name or deadline it is."""
    return concept.exclusive and (topical or not concept.of_things)


def _is_one_topic(new: FactKey, old: FactKey) -> bool:
    if new.concepts != old.concepts:
        return False
    if not new.concepts and not (new.subject and old.subject):
        # Without a topic only the same words are the same fact.
        return _covers(new.values, old.values) and _covers(old.values, new.values)
    if not (new.subject and old.subject):
        return new.subject == old.subject
    return _covers(new.subject, old.subject) and _covers(old.subject, new.subject)


def _covers(words: Iterable[Word], others: Iterable[Word]) -> bool:
    """Whether each word is among the others; no words cover nothing."""
    listed, among = list(words), list(others)
    return bool(listed) and all(_any_in(word, among) for word in listed)


def _any_in(word: Word, words: Iterable[Word]) -> bool:
    return any(word & other for other in words)


def _concepts(words: Iterable[Word]) -> frozenset[str]:
    listed = list(words)
    return frozenset(name for name, stems in _concept_stems().items() if any(word & stems for word in listed))


def _without(words: Iterable[Word], concepts: frozenset[str]) -> list[Word]:
    """The words that belong to none of the concepts and say something."""
    known = _filler_stems().union(*(_concept_stems()[name] for name in concepts))
    return [word for word in words if not word & known]


@cache
def _concept_stems() -> Mapping[str, Word]:
    return {name: _stems(concept.words) for name, concept in CONCEPTS.items()}


@cache
def _filler_stems() -> Word:
    return _stems(_FILLERS)


def _stems(words: str) -> Word:
    return frozenset().union(*words_of(words))
