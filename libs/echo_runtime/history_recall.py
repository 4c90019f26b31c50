"""`PassageRecall` over the records of one chat: what was said in other forms of the same words, French or English."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from anyio import to_thread

from echo_core.compaction_transcript import said
from echo_core.ports import Passage, ShadowStore
from echo_core.records import Shadow
from echo_memory.lexical import fold, sparse_documents, sparse_query

#: Characters of one passage. Source: our choice, a paragraph or two.
_PASSAGE_CHARS: Final = 800
#: Letters that all forms of a word are taken to begin with; what has none of them is not looked at closely. Source: our
#: choice, about the length of a stem.
_COMMON_LETTERS: Final = 4
#: Passages that fit less than this share of the best one are not told. Source: our choice.
_FLOOR: Final = 0.4

_WORD: Final = re.compile(r"\w+")


class StemRecall:
    """Finds passages by the stems of their words, the rare ones first; needs no model and keeps nothing.

    Args:
        store: the chat's records.
        chain: ids of the messages that may be found.
    """

    def __init__(self, store: ShadowStore, chain: Sequence[str]) -> None:
        self._store = store
        self._chain = chain

    async def recall(self, *, user_id: str, chat_id: str, text: str, limit: int) -> Sequence[Passage]:
        """See `PassageRecall`; the records are those of one chat and user already."""
        shadows = await self._store.get_message_shadows(list(self._chain))
        return await to_thread.run_sync(_best, self._chain, shadows, chat_id, text, limit)


def _best(
    chain: Sequence[str], shadows: Mapping[str, Shadow], chat_id: str, text: str, limit: int
) -> Sequence[Passage]:
    stems = sparse_query(text).indices
    beginnings = [fold(word)[:_COMMON_LETTERS] for word in _WORD.findall(text) if sparse_query(word)]
    near = [
        (message_id, piece)
        for message_id in chain
        if message_id in shadows
        for piece in _pieces(said(shadows[message_id], 0).whole())
        if any(beginning in folded for folded in (fold(piece),) for beginning in beginnings)
    ]
    weights = [dict(zip(d.indices, d.weights, strict=True)) for d in sparse_documents([piece for _, piece in near])]
    found_in = Counter(stem for weight in weights for stem in stems if stem in weight)
    rarity = {stem: math.log(1 + len(near) / count) for stem, count in found_in.items()}
    scores = [sum(rarity[stem] * weight[stem] for stem in rarity if stem in weight) for weight in weights]
    best = max(scores, default=0.0)
    ranked = sorted(zip(scores, near, strict=True), key=lambda one: one[0], reverse=True)
    return [
        Passage(text=piece, chat_id=chat_id, message_id=message_id, score=score / best)
        for score, (message_id, piece) in ranked[:limit]
        if score > 0 and score >= _FLOOR * best
    ]


def _pieces(text: str) -> Iterator[str]:
    """A message in stretches of about a size, cut between lines where it has some."""
    piece = ""
    for line in text.splitlines():
        for start in range(0, len(line), _PASSAGE_CHARS):
            part = line[start : start + _PASSAGE_CHARS]
            if piece and len(piece) + len(part) > _PASSAGE_CHARS:
                yield piece
                piece = ""
            piece = f"{piece}\n{part}" if piece else part
    if piece:
        yield piece
