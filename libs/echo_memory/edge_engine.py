"""The embedded vector engine: Qdrant's own, in this process. One process at a time may have a folder open."""

import asyncio
import fcntl
import json
import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from echo_core.passages import CollectionName, MetaValue, Vector
from echo_memory.errors import EngineMissing, VectorsDamaged, VectorsInUse
from echo_memory.lexical import SparseText
from echo_memory.points import DENSE, INDEXED_FIELDS, LEXICAL, USER_FIELD, Condition, Generation, Hit, Point, Scoped

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

T = TypeVar("T")

ABOUT_FILE: Final = "about.json"
LOCK_FILE: Final = "owner.lock"
_SHARD: Final = "shard"


class EdgeEngine:
    """`PointStore` over qdrant-edge; opens what is asked for, at the first request.

    Args:
        folder: ECHO's folder for vectors.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, EdgeShard] = {}
        self._owner: int | None = None
        self._opening = threading.Lock()

    async def generations(self, collection: CollectionName) -> Sequence[Generation]:
        """What exists of a collection."""
        return await asyncio.to_thread(self._generations, collection)

    def _generations(self, collection: CollectionName) -> list[Generation]:
        found = []
        for about in sorted(self._folder.glob(f"{collection}--*/{ABOUT_FILE}")):
            said = json.loads(about.read_text(encoding="utf-8"))
            found.append(Generation(collection, said["model"], said["dimension"]))
        return found

    async def create(self, generation: Generation) -> None:
        """Make it with its indexes; nothing happens when it exists."""
        await self._with(generation, lambda shard: None)

    async def drop(self, generation: Generation) -> None:
        """Remove it with all its points."""

        def remove() -> None:
            with self._opening:
                shard = self._shards.pop(generation.key, None)
                if shard is not None:
                    shard.close()
                shutil.rmtree(self._folder / generation.key, ignore_errors=True)

        await asyncio.to_thread(remove)

    async def upsert(self, generation: Generation, points: Sequence[Point], *, only_new: bool = False) -> None:
        """Write points; with `only_new`, leave alone those whose id is there."""
        import qdrant_edge as edge

        def write(shard: "EdgeShard") -> None:
            mode = edge.UpdateMode.InsertOnly if only_new else edge.UpdateMode.Upsert
            shard.update(edge.UpdateOperation.upsert_points([_edge_point(point) for point in points], update_mode=mode))

        await self._with(generation, write)

    async def nearest(
        self, generation: Generation, query: Vector | SparseText, where: Scoped, limit: int
    ) -> Sequence[Hit]:
        """The best points, best first: by cosine for a dense query, by BM25 over the user's own points for a sparse."""
        import qdrant_edge as edge

        if isinstance(query, SparseText):
            own = edge.Filter(must=[_condition(where.must[0])])
            asked: Any = edge.SparseVector(list(query.indices), list(query.weights))
            using, params = LEXICAL, edge.SearchParams(idf=edge.IdfParams(corpus=own))
        else:
            asked, using, params = list(query), DENSE, edge.SearchParams()
        request = edge.SearchRequest(
            query=edge.Query.Nearest(asked, using=using),
            limit=limit,
            filter=_filter(where),
            params=params,
            with_payload=True,
            with_vector=False,
        )
        found = await self._with(generation, lambda shard: shard.search(request))
        return [Hit(Point(point_id=str(one.id), payload=one.payload or {}), one.score) for one in found]

    async def page(
        self, generation: Generation, where: Scoped, limit: int, after: str | None
    ) -> tuple[Sequence[Point], str | None]:
        """Points in the order of their ids, without vectors, and where the next page begins."""
        return await self._scroll(generation, _filter(where), limit, after)

    async def count(self, generation: Generation, where: Scoped) -> int:
        """How many points there are, exactly."""
        import qdrant_edge as edge

        request = edge.CountRequest(exact=True, filter=_filter(where))
        return await self._with(generation, lambda shard: shard.count(request))

    async def write_meta(self, generation: Generation, where: Scoped, meta: Mapping[str, MetaValue]) -> None:
        """Merge values into the payload's `meta`."""
        import qdrant_edge as edge

        change = edge.UpdateOperation.set_payload_by_filter(_filter(where), dict(meta), key="meta")
        await self._with(generation, lambda shard: shard.update(change))

    async def delete(self, generation: Generation, where: Scoped) -> None:
        """Remove points."""
        import qdrant_edge as edge

        change = edge.UpdateOperation.delete_points_by_filter(_filter(where))
        await self._with(generation, lambda shard: shard.update(change))

    async def some_of_anybody(self, generation: Generation, limit: int) -> Sequence[Point]:
        """Points of any user, without vectors: for re-indexing, which shows them to nobody."""
        points, _ = await self._scroll(generation, None, limit, None)
        return points

    async def delete_exactly(self, generation: Generation, point_ids: Sequence[str]) -> None:
        """Remove points that `some_of_anybody` gave."""
        import qdrant_edge as edge

        change = edge.UpdateOperation.delete_points(list(point_ids))
        await self._with(generation, lambda shard: shard.update(change))

    async def close(self) -> None:
        """Write everything down and let go of the folder; a later request opens it again."""

        def shut() -> None:
            with self._opening:
                for shard in self._shards.values():
                    shard.close()
                self._shards.clear()
                if self._owner is not None:
                    os.close(self._owner)
                    self._owner = None

        await asyncio.to_thread(shut)

    async def _scroll(
        self, generation: Generation, where: Any, limit: int, after: str | None
    ) -> tuple[Sequence[Point], str | None]:
        import qdrant_edge as edge

        request = edge.ScrollRequest(offset=after, limit=limit, filter=where, with_payload=True, with_vector=False)
        records, following = await self._with(generation, lambda shard: shard.scroll(request))
        points = [Point(point_id=str(one.id), payload=one.payload or {}) for one in records]
        return points, None if following is None else str(following)

    async def _with(self, generation: Generation, work: "Callable[[EdgeShard], T]") -> T:
        def run() -> T:
            shard = self._shard(generation)
            try:
                return work(shard)
            except Exception as error:  # the engine raises plain Exception for whatever goes wrong in it
                raise VectorsDamaged(f"{type(error).__name__}: {error}", folder=self._folder) from error

        return await asyncio.to_thread(run)

    def _shard(self, generation: Generation) -> "EdgeShard":
        found = self._shards.get(generation.key)
        if found is None:
            with self._opening:
                found = self._shards.get(generation.key)
                if found is None:
                    self._own_folder()
                    found = self._shards[generation.key] = _open(self._folder / generation.key, generation)
        return found

    def _own_folder(self) -> None:
        """Take the folder for this process. Raises VectorsInUse when another one has it."""
        if self._owner is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        owner = os.open(self._folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(owner)
            raise VectorsInUse from error
        self._owner = owner


def _open(folder: Path, generation: Generation) -> "EdgeShard":
    """The shard in a folder, made when it is not there.

    Raises:
        EngineMissing: the engine is not installed.
        VectorsDamaged: the engine cannot read its files.
    """
    try:
        import qdrant_edge as edge
    except ImportError as error:
        raise EngineMissing(str(error)) from error

    shard_folder = folder / _SHARD
    about = folder / ABOUT_FILE
    try:
        if about.exists():
            return edge.EdgeShard.load(str(shard_folder))
        # A crash between the shard and its description leaves a shard that nobody wrote to.
        shutil.rmtree(folder, ignore_errors=True)
        shard_folder.mkdir(parents=True, mode=0o700)
        dense = edge.EdgeVectorParams(size=generation.dimension, distance=edge.Distance.Cosine)
        lexical = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)
        config = edge.EdgeConfig(vectors={DENSE: dense}, sparse_vectors={LEXICAL: lexical})
        shard = edge.EdgeShard.create(str(shard_folder), config)
        for field in INDEXED_FIELDS:
            schema = edge.KeywordIndexParams(is_tenant=field == USER_FIELD)
            shard.update(edge.UpdateOperation.create_field_index(field, schema))
        shard.flush()
    except Exception as error:  # the engine raises plain Exception for whatever goes wrong in it
        raise VectorsDamaged(f"{type(error).__name__}: {error}", folder=folder) from error
    said = {"model": generation.model, "dimension": generation.dimension}
    draft = about.with_suffix(".new")
    draft.write_text(json.dumps(said), encoding="utf-8")
    draft.replace(about)
    return shard


def _edge_point(point: Point) -> Any:
    import qdrant_edge as edge

    vectors: dict[str, Any] = {DENSE: list(point.dense)}
    vectors[LEXICAL] = edge.SparseVector(list(point.lexical.indices), list(point.lexical.weights))
    return edge.Point(id=point.point_id, vector=vectors, payload=dict(point.payload))


def _condition(condition: Condition) -> Any:
    import qdrant_edge as edge

    if condition.any_of is None:
        return edge.FieldCondition(
            key=condition.key, range=edge.RangeFloat(gte=condition.at_least, lte=condition.at_most)
        )
    if len(condition.any_of) == 1:
        value = condition.any_of[0]
        if isinstance(value, float):
            return edge.FieldCondition(key=condition.key, range=edge.RangeFloat(gte=value, lte=value))
        return edge.FieldCondition(key=condition.key, match=edge.MatchValue(value))
    return edge.FieldCondition(key=condition.key, match=edge.MatchAny([str(value) for value in condition.any_of]))


def _filter(where: Scoped) -> Any:
    import qdrant_edge as edge

    must = [_condition(condition) for condition in where.must]
    if where.point_ids is not None:
        must.append(edge.HasIdCondition(set(where.point_ids)))
    return edge.Filter(must=must, must_not=[_condition(condition) for condition in where.must_not])
