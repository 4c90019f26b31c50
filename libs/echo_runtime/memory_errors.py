"""Why something is not remembered, or not found in memory.

EchoError
├── MemoryRefusedError        something may not be remembered
│   ├── MemorySecretError       a password, a key, a number of a card or account
│   ├── MemoryNotSaidError      the user did not say it
│   ├── MemoryOfOthersError     something private of somebody else
│   ├── MemoryOrderError        an order that no user would give
│   ├── MemoryTooLongError      longer than a memory
│   └── MemoryEmptyError        nothing
├── NoSuchMemoryError         the user has no memory of that id
└── MemoryBusyError           others keep changing the memory
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from echo_constants import Bilingual, EchoError, StateError
from echo_constants.errors import Audience
from echo_memory.screening import Refusal


class MemoryRefusedError(EchoError):
    """Something may not be remembered; nothing was changed."""

    code = "memory_refused"
    audience: ClassVar[Audience] = "user"
    api_status: ClassVar[int] = 422
    message = Bilingual(en="ECHO does not remember this.", fr="ECHO ne retient pas ceci.")
    remedy = Bilingual(
        en="Say in one plain sentence of your own what is to be remembered, without secrets.",
        fr="Dites en une phrase simple, avec vos mots et sans secret, ce qui doit être retenu.",
    )


class MemorySecretError(MemoryRefusedError):
    """It holds a password, a key, or a number of a card or account."""

    code = "memory_secret"
    message = Bilingual(
        en="ECHO does not remember passwords, keys, or numbers of cards and accounts.",
        fr="ECHO ne retient ni mots de passe, ni clés, ni numéros de carte ou de compte.",
    )
    remedy = Bilingual(
        en="Keep secrets in a password manager.", fr="Gardez vos secrets dans un gestionnaire de mots de passe."
    )


class MemoryNotSaidError(MemoryRefusedError):
    """The user did not say it in his own words."""

    code = "memory_not_said"
    message = Bilingual(
        en="ECHO remembers only what you said yourself.", fr="ECHO ne retient que ce que vous avez dit vous-même."
    )


class MemoryOfOthersError(MemoryRefusedError):
    """It is something private of another person."""

    code = "memory_of_others"
    message = Bilingual(
        en="ECHO does not remember private things of other people.",
        fr="ECHO ne retient pas les informations privées d'autres personnes.",
    )


class MemoryOrderError(MemoryRefusedError):
    """It is an order to the assistant such as documents and web pages hide."""

    code = "memory_order"
    message = Bilingual(
        en="ECHO does not remember orders of this kind: they come from documents and pages, not from you.",
        fr="ECHO ne retient pas les ordres de ce genre : ils viennent de documents ou de pages, pas de vous.",
    )


class MemoryTooLongError(MemoryRefusedError):
    """It is longer than a memory may be."""

    code = "memory_too_long"
    message = Bilingual(en="This is too long for a memory.", fr="C'est trop long pour un souvenir.")
    remedy = Bilingual(
        en="Put it into one or two sentences, or attach it as a file.",
        fr="Résumez-le en une ou deux phrases, ou joignez-le comme fichier.",
    )


class MemoryEmptyError(MemoryRefusedError):
    """It says nothing."""

    code = "memory_empty"
    message = Bilingual(en="There is nothing to remember.", fr="Il n'y a rien à retenir.")


REFUSALS: Final[Mapping[Refusal, type[MemoryRefusedError]]] = MappingProxyType(
    {
        "secret": MemorySecretError,
        "not_said": MemoryNotSaidError,
        "other_person": MemoryOfOthersError,
        "instruction": MemoryOrderError,
        "too_long": MemoryTooLongError,
        "empty": MemoryEmptyError,
    }
)


class NoSuchMemoryError(EchoError):
    """The user has no memory of that id, or it holds no longer."""

    code = "memory_unknown"
    audience: ClassVar[Audience] = "user"
    api_status: ClassVar[int] = 404
    message = Bilingual(en="There is no such memory.", fr="Ce souvenir n'existe pas.")
    remedy = Bilingual(
        en="Look at the list of memories again: this one was changed or forgotten meanwhile.",
        fr="Consultez de nouveau la liste des souvenirs : celui-ci a été modifié ou oublié entre-temps.",
    )


class MemoryBusyError(StateError):
    """The user's memory was changed by others each time it was to be written."""

    code = "memory_busy"
    audience: ClassVar[Audience] = "user"
    retryable = True
    message = Bilingual(
        en="Your memory is being changed elsewhere.", fr="Votre mémoire est en cours de modification ailleurs."
    )
    remedy = Bilingual(en="Try again in a moment.", fr="Réessayez dans un instant.")
