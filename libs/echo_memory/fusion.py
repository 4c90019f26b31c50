"""Two rankings made one: by meaning (cosine) and by words (BM25).

A match by words says something only where it stands out: a name or a number that few passages have. Where ten passages
match equally well, it is a common word, and would only push away what the question means.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

#: What the best match by words adds when nothing else matches, on the scale of the spread of the cosines of a result.
#: Source: tests/bench/bench_retrieval.py --tune, the half of the pairs that the judging half shares nothing with.
LEXICAL_WEIGHT: Final = 1.2

#: The match by words that the better ones must stand out from. Source: as LEXICAL_WEIGHT.
COMMON_RANK: Final = 10

#: A match by words counts by itself from this share of the best one's score. Source: our choice.
STRONG_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Fused:
    """One candidate.

    Args:
        score: comparable only within one result.
        cosine: None when no vector could be compared.
        relevant: the cosine reaches the floor.
        strong_words: it is among the matches by words that stand out.
    """

    point_id: str
    score: float
    cosine: float | None
    relevant: bool
    strong_words: bool


def fuse(cosines: Mapping[str, float], words: Mapping[str, float], floor: float) -> list[Fused]:
    """Order candidates by both rankings, best first; what is below the floor and shares no rare words is left out.

    Args:
        cosines: by point id; candidates of `words` that are not in it could not be compared.
        words: BM25 scores by point id.
        floor: the model's relevance floor.
    """
    low = min(cosines.values(), default=0.0)
    spread = max(cosines.values(), default=0.0) - low or 1.0
    best = max(words.values(), default=0.0) or 1.0
    common = sorted(words.values(), reverse=True)[COMMON_RANK - 1 : COMMON_RANK] or [0.0]
    found = []
    for point_id in cosines.keys() | words.keys():
        cosine, by_words = cosines.get(point_id), words.get(point_id, 0.0)
        # What cannot be compared has only its words.
        share = (by_words if cosine is None else max(0.0, by_words - common[0])) / best
        meaning = 0.0 if cosine is None else (cosine - low) / spread
        relevant = cosine is not None and cosine >= floor
        strong = share >= STRONG_SHARE
        if relevant or strong:
            found.append(Fused(point_id, meaning + LEXICAL_WEIGHT * share, cosine, relevant, strong))
    # The id settles ties, so that the same search gives the same order.
    return sorted(found, key=lambda one: (-one.score, one.point_id))
