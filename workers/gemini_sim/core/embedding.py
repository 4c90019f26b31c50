"""Deterministic embeddings: texts that share words get vectors that lie close, also after cutting dimensions."""

import hashlib
import math
import re
from typing import Final

#: Source: gemini-embedding, documented (128 to 3,072, default 3,072).
DIMENSIONS_MAX: Final = 3_072
DIMENSIONS_MIN: Final = 128
#: A word marks some places in every range that a shorter vector keeps, as Matryoshka embeddings do.
_RANGES: Final = (128, 768, DIMENSIONS_MAX)
_PLACES: Final = 4
_WORD: Final = re.compile(r"\w+")


def embed(text: str, dimensions: int) -> list[float]:
    """A vector of `dimensions` numbers; of full size it has length 1, shorter ones are cut and not normalised again.

    Source: vectors below 3,072 dimensions are not normalised by gemini-embedding-001, documented.
    """
    vector = [0.0] * DIMENSIONS_MAX
    for word in _WORD.findall(text.lower()) or [""]:
        digest = hashlib.shake_256(word.encode("utf-8", "replace")).digest(_PLACES * len(_RANGES) * 3)
        for at in range(0, len(digest), 3):
            limit = _RANGES[at // 3 // _PLACES]
            place = int.from_bytes(digest[at : at + 2], "big") % limit
            vector[place] += 1.0 if digest[at + 2] & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [round(value / length, 8) for value in vector[:dimensions]]
