"""Two rankings made one: by meaning (cosine) and by words (BM25)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

#: What the best match by words adds, measured on the spread of the cosines of one result. With much more, passages that
#: merely repeat the question's words push out its answer. Source: tests/bench/bench_retrieval.py, other seed.
LEXICAL_WEIGHT: Final = 0.25

#: A match by words counts by itself from this share of the best one's score. Source: our choice.
STRONG_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Fused:
    """One candidate.

    Args:
        score: comparable only within one result.
        cosine: None when no vector could be compared.
        relevant: the cosine reaches the floor.
        strong_words: it is among the best matches by words.
    """

    point_id: str
    score: float
    cosine: float | None
    relevant: bool
    strong_words: bool


def fuse(cosines: Mapping[str, float], words: Mapping[str, float], floor: float) -> list[Fused]:
    """Order candidates by both rankings, best first; what is below the floor and shares no rare words is left out.

    Args:
        cosines: by point id; may cover fewer candidates than `words`.
        words: BM25 scores by point id.
        floor: the model's relevance floor.
    """
    low = min(cosines.values(), default=0.0)
    spread = max(cosines.values(), default=0.0) - low or 1.0
    best = max(words.values(), default=0.0) or 1.0
    found = []
    for point_id in cosines.keys() | words.keys():
        cosine, share = cosines.get(point_id), words.get(point_id, 0.0) / best
        meaning = 0.0 if cosine is None else (cosine - low) / spread
        relevant = cosine is not None and cosine >= floor
        strong = share >= STRONG_SHARE
        if relevant or strong:
            found.append(Fused(point_id, meaning + LEXICAL_WEIGHT * share, cosine, relevant, strong))
    # The id settles ties, so that the same search gives the same order.
    return sorted(found, key=lambda one: (-one.score, one.point_id))
