"""One user's passages in one collection. Every request goes through `scope`, which binds it to the user."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from echo_constants import UpstreamError
from echo_core.passages import (
    ANYWHERE,
    CollectionName,
    FoundPassage,
    MetaValue,
    Passage,
    PassageFilter,
    PassagePage,
    SearchMode,
    Vector,
)
from echo_memory.errors import UnsafeFilter
from echo_memory.fusion import Fused, fuse
from echo_memory.lexical import SparseText, sparse_documents, sparse_query
from echo_memory.points import (
    Generation,
    Hit,
    Point,
    Scoped,
    matches_nothing,
    meta_key,
    passage_of,
    passages_of,
    payload_of,
    point_id,
    scope,
)

if TYPE_CHECKING:
    from echo_memory.store import PassageStore

log = logging.getLogger(__name__)

#: Candidates that each of the two rankings gives before they are made one.
CANDIDATES: Final = 50

#: Passages that are embedded and written at once: a search that comes meanwhile waits for one batch at most.
BATCH: Final = 16


class StoredPassages:
    """`UserPassages` of a `PassageStore`.

    Args:
        store: the engine, the embedder and the generations.
        user_id: whose passages; not empty.
        collection: which collection.
    """

    def __init__(self, store: "PassageStore", user_id: str, collection: CollectionName) -> None:
        self._store = store
        self._user_id = user_id
        self._collection = collection

    async def put(self, passages: Sequence[Passage]) -> None:
        """Embed and keep; a passage of the same id is replaced."""
        payloads = [payload_of(self._user_id, passage) for passage in passages]
        current, *former = await self._store.generations(self._collection)
        model = await self._store.embedder.model()
        for begin in range(0, len(passages), BATCH):
            part = passages[begin : begin + BATCH]
            texts = [passage.text for passage in part]
            vectors = await self._store.embed(texts, model)
            words = await asyncio.to_thread(sparse_documents, texts)
            points = [
                Point(
                    point_id=point_id(self._user_id, str(payload["id"])), payload=payload, dense=vector, lexical=sparse
                )
                for payload, vector, sparse in zip(payloads[begin : begin + BATCH], vectors, words, strict=True)
            ]
            async with self._store.moving:
                await self._store.engine.upsert(current, points)
                for old in former:
                    where = PassageFilter(passage_ids=tuple(passage.passage_id for passage in part))
                    await self._store.engine.delete(old, self._scope(where))

    async def search(
        self, query: str, *, where: PassageFilter = ANYWHERE, limit: int = 8, mode: SearchMode = "hybrid"
    ) -> Sequence[FoundPassage]:
        """The passages that bear on a query, best first; by words alone when the embedder is out of reach."""
        scoped = self._scope(where)
        if matches_nothing(scoped) or not query.strip() or limit < 1:
            return ()
        count = max(CANDIDATES, 2 * limit)
        words = await asyncio.to_thread(sparse_query, query) if mode != "dense" else SparseText((), ())
        vector = await self._query_vector(query, mode)
        current, *former = await self._store.generations(self._collection)
        by_meaning, by_words = await asyncio.gather(
            self._nearest(current, vector, scoped, count), self._nearest(current, words, scoped, count)
        )
        hits = {hit.point.point_id: hit.point for hit in (*by_meaning, *by_words)}
        cosines = {hit.point.point_id: hit.score for hit in by_meaning}
        scores = {hit.point.point_id: hit.score for hit in by_words}
        if vector is not None and (missing := tuple(scores.keys() - cosines.keys())):
            compared = await self._nearest(current, vector, _only(scoped, missing), len(missing))
            cosines.update((hit.point.point_id, hit.score) for hit in compared)
        for old in former:
            for hit in await self._nearest(old, words, scoped, count):
                hits.setdefault(hit.point.point_id, hit.point)
                scores.setdefault(hit.point.point_id, hit.score)
        floor = (await self._store.embedder.model()).relevance_floor if vector is not None else 0.0
        return tuple(self._found(hits[one.point_id], one) for one in fuse(cosines, scores, floor)[:limit])

    async def scan(self, where: PassageFilter = ANYWHERE, *, limit: int = 256, after: str | None = None) -> PassagePage:
        """Passages page by page, in an order without meaning."""
        scoped = self._scope(where)
        if matches_nothing(scoped):
            return PassagePage(passages=(), after=None)
        generations = await self._store.generations(self._collection)
        number, _, cursor = (after or "0:").partition(":")
        place = int(number) if number.isdecimal() else len(generations)
        if place >= len(generations):
            return PassagePage(passages=(), after=None)
        start = _mark(cursor) if cursor else None
        points, following = await self._store.engine.page(generations[place], scoped, limit, start)
        if following is not None:
            ahead: str | None = f"{place}:{following}"
        else:
            ahead = f"{place + 1}:" if place + 1 < len(generations) else None
        return PassagePage(passages=passages_of(self._user_id, points), after=ahead)

    async def count(self, where: PassageFilter = ANYWHERE) -> int:
        """How many there are."""
        scoped = self._scope(where)
        if matches_nothing(scoped):
            return 0
        generations = await self._store.generations(self._collection)
        return sum([await self._store.engine.count(one, scoped) for one in generations])

    async def annotate(self, passage_ids: Sequence[str], meta: Mapping[str, MetaValue]) -> None:
        """Write these values into the meta of passages; other values stay, ids that are not there are ignored."""
        for name in meta:
            meta_key(name)
        if not passage_ids or not meta:
            return
        scoped = self._scope(PassageFilter(passage_ids=tuple(passage_ids)))
        async with self._store.moving:
            for one in await self._store.generations(self._collection):
                await self._store.engine.write_meta(one, scoped, meta)

    async def delete(self, where: PassageFilter) -> None:
        """Remove passages; `ANYWHERE` removes all of the user's."""
        scoped = self._scope(where)
        if matches_nothing(scoped):
            return
        async with self._store.moving:
            for one in await self._store.generations(self._collection):
                await self._store.engine.delete(one, scoped)

    def _scope(self, where: PassageFilter) -> Scoped:
        return scope(self._user_id, where)

    async def _query_vector(self, query: str, mode: SearchMode) -> Vector | None:
        if mode == "lexical":
            return None
        try:
            return await self._store.embed_query(query)
        except UpstreamError as error:
            if mode == "dense":
                raise
            log.warning("Searching by words alone: %s", error)
            return None

    async def _nearest(
        self, generation: Generation, query: Vector | SparseText | None, where: Scoped, limit: int
    ) -> Sequence[Hit]:
        if not query:
            return ()
        return await self._store.engine.nearest(generation, query, where, limit)

    def _found(self, point: Point, fused: Fused) -> FoundPassage:
        return FoundPassage(
            passage=passage_of(self._user_id, point), score=fused.score, cosine=fused.cosine, relevant=fused.relevant
        )


def _only(where: Scoped, point_ids: tuple[str, ...]) -> Scoped:
    return Scoped(where.user_id, where.must, where.must_not, point_ids)


def _mark(cursor: str) -> str:
    try:
        return str(UUID(cursor))
    except ValueError as error:
        raise UnsafeFilter(f"page mark {cursor[:80]!r}") from error
