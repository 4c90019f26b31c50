"""`PassageRecall` by meaning and by words: what the session memory holds of a chain, and the rest by its stems."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from echo_constants import EchoError
from echo_core.passages import FoundPassage, PassageFilter, SearchMode
from echo_core.ports import Passage, ShadowStore, UserPassages
from echo_runtime.history_recall import StemRecall
from echo_runtime.turn_index import QUESTION_KIND, TURN_KIND

log = logging.getLogger(__name__)

#: Passages that are asked for in place of each that is wanted: some lie on other branches of the chat or are of a
#: text that was changed since. Source: our choice.
_SPARE: Final = 4

#: A search that takes longer is given up, and words alone decide. Source: our choice; the first one loads the model.
WAIT_S: Final = 0.4

#: How and in what it is searched: all, what the user told, and what was only asked. A name or number in a long message
#: stands out by its words and drowns in the meaning of the rest; earlier questions, and answers that repeat them, are
#: most like a question and would come before what the user told.
_RANKINGS: Final[tuple[tuple[SearchMode, PassageFilter], ...]] = (
    ("hybrid", PassageFilter(kinds=(TURN_KIND,))),
    ("lexical", PassageFilter(kinds=(TURN_KIND,), meta={"role": "user"})),
    ("lexical", PassageFilter(kinds=(QUESTION_KIND,))),
)


class PastRecall:
    """Finds passages of one chain.

    Args:
        mine: the session memory of the chat's owner.
        store: the chat's records.
        chain: ids of the messages that may be found.
        wait_s: longest time that the session memory may take.
    """

    def __init__(self, mine: UserPassages, store: ShadowStore, chain: Sequence[str], *, wait_s: float = WAIT_S) -> None:
        self._mine = mine
        self._store = store
        self._chain = chain
        self._wait_s = wait_s

    async def recall(self, *, user_id: str, chat_id: str, text: str, limit: int) -> Sequence[Passage]:
        """See `PassageRecall`."""
        found = await self._indexed(chat_id, text, limit)
        waiting = self._chain
        if found is not None:
            unembedded = set(await self._store.unembedded())
            waiting = [message_id for message_id in self._chain if message_id in unembedded]
        by_words: Sequence[Passage] = ()
        if waiting:
            by_words = await StemRecall(self._store, waiting).recall(
                user_id=user_id, chat_id=chat_id, text=text, limit=limit
            )
        return _merged([*(found or ()), by_words], limit)

    async def _indexed(self, chat_id: str, text: str, limit: int) -> Sequence[Sequence[Passage]] | None:
        """What the session memory finds, in several rankings; None where it does not answer."""
        wheres = [(mode, replace(where, chat_ids=(chat_id,))) for mode, where in _RANKINGS]
        found = await asyncio.gather(*(self._ranking(text, mode, where, _SPARE * limit) for mode, where in wheres))
        answered = [ranking for ranking in found if ranking is not None]
        return [await self._current(ranking) for ranking in answered] if answered else None

    async def _ranking(
        self, text: str, mode: SearchMode, where: PassageFilter, limit: int
    ) -> Sequence[FoundPassage] | None:
        """One search; where the embedder is slow, those by words answer all the same."""
        try:
            async with asyncio.timeout(self._wait_s):
                return await self._mine.search(text, where=where, limit=limit, mode=mode)
        except (EchoError, TimeoutError) as error:
            log.warning("The session memory did not answer: %s", error or type(error).__name__)
            return None

    async def _current(self, found: Sequence[FoundPassage]) -> list[Passage]:
        """Those whose message is on the chain and still says so."""
        chain = frozenset(self._chain)
        ids = {one.passage.source_id for one in found} & chain
        shadows = await self._store.get_message_shadows(sorted(ids))
        best = max((one.score for one in found), default=0.0) or 1.0
        return [
            Passage(
                text=one.passage.text,
                chat_id=one.passage.chat_id,
                message_id=one.passage.source_id,
                score=max(0.0, min(1.0, one.score / best)),
            )
            for one in found
            if (shadow := shadows.get(one.passage.source_id)) is not None
            and shadow.invariant_hash == one.passage.meta.get("hash")
        ]


def _merged(rankings: Sequence[Sequence[Passage]], limit: int) -> list[Passage]:
    """The best of each in turn, what says the same once: their scores say nothing of one another."""
    out: dict[str, Passage] = {}
    for place in range(limit):
        for one in (ranking[place] for ranking in rankings if place < len(ranking)):
            out.setdefault(one.text, one)
    return list(out.values())[:limit]
