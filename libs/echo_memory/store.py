"""The vector store: embeds, keeps, searches by meaning and by words, and re-indexes when the model changes.

Vectors of two models are never compared. Each model has its own generation of a collection; while an older one is being
re-indexed, its passages are found by words only, and nothing of it is lost.
"""

import asyncio
import logging
from collections.abc import Sequence

from echo_core.passages import COLLECTIONS, CollectionName, EmbeddingModel, PassageFilter, Vector
from echo_core.ports import Embedder
from echo_memory.errors import EmbeddingMismatch, TenantMissing
from echo_memory.lexical import sparse_documents
from echo_memory.points import Generation, Point, PointStore, scope
from echo_memory.user_passages import BATCH, StoredPassages

log = logging.getLogger(__name__)


class PassageStore:
    """`VectorStore` over an engine and an embedder.

    Args:
        engine: the embedded one or a server's.
        embedder: its model decides which generation is written.
    """

    def __init__(self, engine: PointStore, embedder: Embedder) -> None:
        self.engine = engine
        self.embedder = embedder
        #: Held while points move between generations, so that what is deleted meanwhile stays deleted.
        self.moving = asyncio.Lock()
        self._opening = asyncio.Lock()
        self._known: dict[CollectionName, tuple[Generation, ...]] = {}

    def of(self, user_id: str, collection: CollectionName) -> StoredPassages:
        """A user's passages in a collection; touches nothing.

        Raises:
            TenantMissing: the id is empty.
        """
        if not user_id:
            raise TenantMissing("no user")
        return StoredPassages(self, user_id, collection)

    async def relevance_floor(self) -> float:
        """See `VectorStore`."""
        return (await self.embedder.model()).relevance_floor

    async def delete_user(self, user_id: str) -> None:
        """Remove everything of a user, from all collections."""
        for collection in COLLECTIONS:
            await self.of(user_id, collection).delete(PassageFilter())

    async def close(self) -> None:
        """Let go of files and connections."""
        await self.engine.close()

    async def generations(self, collection: CollectionName) -> tuple[Generation, ...]:
        """The generation of the present model first, made when it was not there, then those to be re-indexed."""
        known = self._known.get(collection)
        if known is not None:
            return known
        async with self._opening:
            if (known := self._known.get(collection)) is not None:
                return known
            model = await self.embedder.model()
            current = Generation(collection, model.name, model.dimension)
            await self.engine.create(current)
            there = await self.engine.generations(collection)
            former = tuple(one for one in there if one.key != current.key)
            known = self._known[collection] = (current, *former)
        return known

    async def embed(self, texts: Sequence[str], model: EmbeddingModel) -> Sequence[Vector]:
        """Vectors of documents, checked against the model.

        Raises:
            EmbeddingMismatch: the embedder gave another number of vectors, or of another dimension.
        """
        vectors = await self.embedder.embed_documents(texts)
        return checked(vectors, len(texts), model)

    async def embed_query(self, query: str) -> Vector:
        """The vector of a query, checked against the model.

        Raises:
            EmbeddingMismatch: as `embed`.
        """
        vectors = await self.embedder.embed_queries([query])
        return checked(vectors, 1, await self.embedder.model())[0]

    async def reindex(self) -> int:
        """Move every passage of older generations to the present one; returns how many were moved.

        Can be cut off at any time and goes on where it was.
        """
        moved = 0
        for collection in COLLECTIONS:
            current, *former = await self.generations(collection)
            for old in former:
                while points := await self.engine.some_of_anybody(old, BATCH):
                    await self._move(old, current, points)
                    moved += len(points)
                async with self.moving:
                    await self.engine.drop(old)
                log.info("Re-indexed %s for model %s", collection, current.model)
            self._known[collection] = (current,)
        return moved

    async def _move(self, old: Generation, current: Generation, points: Sequence[Point]) -> None:
        model = await self.embedder.model()
        texts = [str(point.payload["text"]) for point in points]
        vectors = await self.embed(texts, model)
        words = await asyncio.to_thread(sparse_documents, texts)
        renewed = [
            Point(point_id=point.point_id, payload=point.payload, dense=vector, lexical=sparse)
            for point, vector, sparse in zip(points, vectors, words, strict=True)
        ]
        async with self.moving:
            # What was deleted or written anew while it was being embedded is no longer in the old generation.
            living = {one for point in renewed for one in await self._living(old, point)}
            kept = [point for point in renewed if point.point_id in living]
            if kept:
                await self.engine.upsert(current, kept, only_new=True)
            await self.engine.delete_exactly(old, [point.point_id for point in points])

    async def _living(self, old: Generation, point: Point) -> list[str]:
        where = scope(str(point.payload["user"]), PassageFilter(passage_ids=(str(point.payload["id"]),)))
        found, _ = await self.engine.page(old, where, 1, None)
        return [one.point_id for one in found]


def checked(vectors: Sequence[Vector], count: int, model: EmbeddingModel) -> Sequence[Vector]:
    """The vectors, if there are as many as there were texts and each has the model's dimension.

    Raises:
        EmbeddingMismatch: otherwise.
    """
    if len(vectors) != count:
        raise EmbeddingMismatch(found=f"{len(vectors)} vectors", wanted=f"{count}")
    for vector in vectors:
        if len(vector) != model.dimension:
            raise EmbeddingMismatch(found=f"{len(vector)} dimensions", wanted=f"{model.dimension} ({model.name})")
    return vectors
