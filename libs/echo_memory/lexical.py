"""Texts as sparse vectors of word stems, French and English at once; the engine weighs them by rarity (BM25).

A text rarely says which language it is in, and technical French is half English: each word counts under its French and
its English stem, which are one where both languages cut it the same way.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from zlib import crc32

#: Saturation and length normalisation of BM25, and the length of a usual passage in stems.
#: Source: Robertson & Zaragoza, The Probabilistic Relevance Framework (2009); the length is that of our chunks.
_K1: Final = 1.2
_B: Final = 0.75
_USUAL_LENGTH: Final = 200.0

_WORD: Final = re.compile(r"[^\W_]+", re.UNICODE)
_MAX_WORD_CHARS: Final = 64

#: Words that say nothing about the matter.
_FRENCH: Final = (
    "a à ai ait au aux avec avoir c ce ceci cela ces cet cette chez ci comme d dans de des donc du elle elles en est "
    "et été être eu il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne ni nos notre nous on ont ou "
    "où par pas pour qu que quel quelle quelles quels qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tu "
    "un une vos votre vous y "
)
_ENGLISH: Final = (
    "an and are as at be been being but by can could did do does for from had has have having he her him his how i if "
    "in into is it its my no not of or our she should so than that the their them then there these they this those to "
    "us was we were what when where which who whom why will with would you your"
)
_EMPTY_WORDS: Final = frozenset((_FRENCH + _ENGLISH).split())


@dataclass(frozen=True, slots=True)
class SparseText:
    """A text as (index, weight) pairs, ascending by index; both of the same length."""

    indices: tuple[int, ...]
    weights: tuple[float, ...]

    def __bool__(self) -> bool:
        return bool(self.indices)


def fold(text: str) -> str:
    """Lower case without accents, so that `Éléphant` and `elephant` are one."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


@lru_cache(maxsize=65_536)
def _stems(word: str) -> tuple[int, ...]:
    import snowballstemmer

    # A stemmer keeps the word at work on itself: one a call, so that threads never share one.
    french = fold(snowballstemmer.stemmer("french").stemWord(word))
    english = fold(snowballstemmer.stemmer("english").stemWord(word))
    return tuple(sorted({crc32(stem.encode()) for stem in (french, english, fold(word)[:_MAX_WORD_CHARS]) if stem}))


def _counts(text: str) -> Counter[int]:
    words = (word[:_MAX_WORD_CHARS] for word in _WORD.findall(text.casefold()))
    return Counter(stem for word in words if word not in _EMPTY_WORDS for stem in _stems(word))


def words_of(text: str) -> list[frozenset[int]]:
    """The stems of each word that says something, in order; two words are one where they share a stem.

    Not for an event loop, as `sparse_document`.
    """
    words = (word[:_MAX_WORD_CHARS] for word in _WORD.findall(text.casefold()))
    return [frozenset(_stems(word)) for word in words if word not in _EMPTY_WORDS]


def sparse_document(text: str) -> SparseText:
    """What is found: each stem with BM25's term weight, which the engine multiplies by the stem's rarity.

    Takes milliseconds a passage, and the first call loads the stemmers: not for an event loop.
    """
    counts = _counts(text)
    length = sum(counts.values())
    scale = _K1 * (1 - _B + _B * length / _USUAL_LENGTH)
    indices = sorted(counts)
    return SparseText(tuple(indices), tuple(counts[i] * (_K1 + 1) / (counts[i] + scale) for i in indices))


def sparse_documents(texts: Sequence[str]) -> list[SparseText]:
    """`sparse_document` for several."""
    return [sparse_document(text) for text in texts]


def sparse_query(text: str) -> SparseText:
    """What is asked: each stem once. Not for an event loop, as `sparse_document`."""
    indices = sorted(_counts(text))
    return SparseText(tuple(indices), (1.0,) * len(indices))
