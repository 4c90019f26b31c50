"""Running text of the demo model: as many words as asked for, and a paragraph that goes on."""

from typing import Final

from echo_constants import Locale

_ENGLISH: Final = (
    "the river keeps its course while every stone remembers a different light and each morning opens another path "
    "through quiet fields where patient hands gather what the season gives"
)
_FRENCH: Final = (
    "la rivière garde son cours tandis que chaque pierre retient une autre lumière et que le matin ouvre un nouveau "
    "chemin parmi des champs calmes où des mains patientes cueillent la saison"
)
_SENTENCES: Final[dict[Locale, tuple[str, ...]]] = {
    "en": (
        "Further on, the path leaves the river and climbs between two old walls.",
        "Nobody hurries here: the light moves slowly from one stone to the next, and the day follows it.",
        "At the top one sees the whole valley, the fields below and the first roofs of the town.",
        "A wind comes up in the afternoon and brings the smell of cut grass.",
        "Whoever has walked so far sits down for a while and counts the bends of the water.",
        "Then the way leads down again, through a wood that keeps the cool of the morning.",
        "Where the trees end, someone has set a bench, and on it lies a book with a dry leaf between its pages.",
    ),
    "fr": (
        "Plus loin, le chemin quitte la rivière et monte entre deux vieux murs.",
        "Personne ne se presse ici : la lumière passe lentement d'une pierre à l'autre, et le jour la suit.",
        "D'en haut, on voit toute la vallée, les champs en contrebas et les premiers toits de la ville.",
        "Un vent se lève dans l'après-midi et apporte l'odeur de l'herbe coupée.",
        "Qui a marché jusque-là s'assied un moment et compte les méandres de l'eau.",
        "Puis la route redescend, à travers un bois qui garde la fraîcheur du matin.",
        "Là où finissent les arbres, quelqu'un a posé un banc, et dessus un livre avec une feuille sèche entre ses "
        "pages.",
    ),
}
_SENTENCES_EACH: Final = 4


def long_text(words: int, locale: Locale) -> str:
    """Markdown of exactly `words` words, in sections of 100: a heading of two words and two paragraphs."""
    source = (_ENGLISH if locale == "en" else _FRENCH).split()
    title = "Part" if locale == "en" else "Partie"
    blocks: list[str] = []
    left = words
    while left > 0:
        section = min(100, left)
        left -= section
        if section > 2:
            blocks.append(f"## {title} {len(blocks) // 3 + 1}")
            section -= 2
        start = words - left
        run = [source[(start + index) % len(source)] for index in range(section)]
        blocks += [" ".join(half) for half in (run[:48], run[48:]) if half]
    return "\n\n".join(blocks)


def paragraph(number: int, locale: Locale) -> str:
    """A paragraph that goes on after an answer; another one for another `number`."""
    sentences = _SENTENCES[locale]
    first = number * _SENTENCES_EACH
    return "\n\n" + " ".join(sentences[(first + index) % len(sentences)] for index in range(_SENTENCES_EACH))
