"""What each kind of break in a chat's records means, in words."""

from typing import Final

from echo_constants import Bilingual
from echo_state_manager import Break, BreakKind

BREAKS: Final[dict[BreakKind, Bilingual]] = {
    "file": Bilingual(
        en="SQLite finds the file itself damaged.",
        fr="SQLite trouve le fichier lui-même abîmé.",
    ),
    "blob": Bilingual(
        en="A large value (image, signature) is not the one that was stored.",
        fr="Une grande valeur (image, signature) n'est pas celle qui a été enregistrée.",
    ),
    "lost": Bilingual(
        en="A large value (image, signature) that belongs to the message is gone.",
        fr="Une grande valeur (image, signature) du message a disparu.",
    ),
    "unreadable": Bilingual(
        en="The record is not a message of Gemini.",
        fr="L'enregistrement n'est pas un message de Gemini.",
    ),
    "bytes": Bilingual(
        en="The record is not what was sealed: it was changed afterwards.",
        fr="L'enregistrement n'est pas ce qui a été scellé : il a été modifié ensuite.",
    ),
    "invariant": Bilingual(
        en="The hash of the content does not follow from the content.",
        fr="L'empreinte du contenu ne découle pas du contenu.",
    ),
    "cumulative": Bilingual(
        en="The hash of the chain does not follow from the message and the one before it.",
        fr="L'empreinte de la chaîne ne découle pas du message et du précédent.",
    ),
    "link": Bilingual(
        en="An entry of the chain's index does not follow from its parent.",
        fr="Une entrée de l'index de la chaîne ne découle pas de son parent.",
    ),
    "parent": Bilingual(
        en="The message before this one is missing from the chain's index.",
        fr="Le message précédent manque dans l'index de la chaîne.",
    ),
    "index": Bilingual(
        en="The message is not in the chain's index as it was sealed.",
        fr="Le message n'est pas dans l'index de la chaîne tel qu'il a été scellé.",
    ),
    "signatures": Bilingual(
        en="The stored signatures are not those of the message's parts.",
        fr="Les signatures enregistrées ne sont pas celles des parties du message.",
    ),
    "tool_io": Bilingual(
        en="The journal of the message's tool calls cannot be read.",
        fr="Le journal des appels d'outils du message est illisible.",
    ),
    "former": Bilingual(
        en="A former version of the message is not what was sealed.",
        fr="Une version antérieure du message n'est pas ce qui a été scellé.",
    ),
}


def words_of(found: Break) -> Bilingual:
    """A break in words."""
    return BREAKS[found.kind]
