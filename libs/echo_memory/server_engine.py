"""A Qdrant server as vector engine, for several Open WebUI processes and machines."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from echo_constants import EchoError
from echo_core.passages import CollectionName, MetaValue, Vector
from echo_memory.errors import VectorServerDown, VectorServerRefused
from echo_memory.lexical import SparseText
from echo_memory.points import DENSE, INDEXED_FIELDS, LEXICAL, USER_FIELD, Condition, Generation, Hit, Point, Scoped

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

#: A request that takes longer counts as lost. Source: our choice; a search in 100,000 passages takes well under 1 s.
TIMEOUT_S: Final = 30


class ServerEngine:
    """`PointStore` over Qdrant's REST interface; connects at the first request.

    Args:
        url: such as `http://qdrant:6333`.
        api_key: "" for a server without.
    """

    def __init__(self, url: str, api_key: str = "") -> None:
        self._url = url
        self._api_key = api_key
        self._opened: AsyncQdrantClient | None = None

    @property
    def _client(self) -> "AsyncQdrantClient":
        if self._opened is None:
            from qdrant_client import AsyncQdrantClient

            # As a header: the client warns of a key on http://, which inside one network is meant.
            headers = {"api-key": self._api_key} if self._api_key else None
            # The version check would ask the server in a thread of its own and only warn.
            self._opened = AsyncQdrantClient(
                url=self._url, headers=headers, timeout=TIMEOUT_S, check_compatibility=False
            )
        return self._opened

    async def generations(self, collection: CollectionName) -> Sequence[Generation]:
        """What exists of a collection."""
        found = []
        async with _told():
            there = await self._client.get_collections()
            for name in sorted(one.name for one in there.collections if one.name.startswith(f"{collection}--")):
                info = await self._client.get_collection(name)
                said = info.config.metadata or {}
                if isinstance(said.get("model"), str) and isinstance(said.get("dimension"), int):
                    found.append(Generation(collection, said["model"], said["dimension"]))
        return found

    async def create(self, generation: Generation) -> None:
        """Make it with its indexes; nothing happens when it exists."""
        from qdrant_client import models

        async with _told():
            if not await self._client.collection_exists(generation.key):
                await self._create(generation)
            # Also where it exists: the process that made it may have been cut off before this.
            for field in INDEXED_FIELDS:
                schema = models.KeywordIndexParams(
                    type=models.KeywordIndexType.KEYWORD, is_tenant=True if field == USER_FIELD else None
                )
                await self._client.create_payload_index(generation.key, field, field_schema=schema)

    async def _create(self, generation: Generation) -> None:
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        try:
            await self._client.create_collection(
                generation.key,
                vectors_config={DENSE: models.VectorParams(size=generation.dimension, distance=models.Distance.COSINE)},
                sparse_vectors_config={LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                metadata={"model": generation.model, "dimension": generation.dimension},
            )
        except UnexpectedResponse as error:
            # Another process was quicker. Source: Qdrant answers 409 for a collection that exists.
            if error.status_code != 409:
                raise

    async def drop(self, generation: Generation) -> None:
        """Remove it with all its points."""
        async with _told():
            await self._client.delete_collection(generation.key)

    async def upsert(self, generation: Generation, points: Sequence[Point], *, only_new: bool = False) -> None:
        """Write points; with `only_new`, leave alone those whose id is there."""
        from qdrant_client import models

        async with _told():
            await self._client.upsert(
                generation.key,
                [_struct(point) for point in points],
                update_mode=models.UpdateMode.INSERT_ONLY if only_new else models.UpdateMode.UPSERT,
            )

    async def nearest(
        self, generation: Generation, query: Vector | SparseText, where: Scoped, limit: int
    ) -> Sequence[Hit]:
        """The best points, best first: by cosine for a dense query, by BM25 over the user's own points for a sparse."""
        from qdrant_client import models

        if isinstance(query, SparseText):
            own = models.Filter(must=[_condition(where.must[0])])
            asked: Any = models.SparseVector(indices=list(query.indices), values=list(query.weights))
            using, params = LEXICAL, models.SearchParams(idf=models.IdfCorpusParams(corpus=own))
        else:
            asked, using, params = list(query), DENSE, models.SearchParams()
        async with _told():
            answer = await self._client.query_points(
                generation.key,
                query=asked,
                using=using,
                query_filter=_filter(where),
                search_params=params,
                limit=limit,
            )
        return [Hit(Point(point_id=str(one.id), payload=one.payload or {}), one.score) for one in answer.points]

    async def page(
        self, generation: Generation, where: Scoped, limit: int, after: str | None
    ) -> tuple[Sequence[Point], str | None]:
        """Points in the order of their ids, without vectors, and where the next page begins."""
        return await self._scroll(generation, _filter(where), limit, after)

    async def count(self, generation: Generation, where: Scoped) -> int:
        """How many points there are, exactly."""
        async with _told():
            return (await self._client.count(generation.key, count_filter=_filter(where), exact=True)).count

    async def write_meta(self, generation: Generation, where: Scoped, meta: Mapping[str, MetaValue]) -> None:
        """Merge values into the payload's `meta`."""
        async with _told():
            await self._client.set_payload(generation.key, dict(meta), points=_filter(where), key="meta")

    async def delete(self, generation: Generation, where: Scoped) -> None:
        """Remove points."""
        async with _told():
            await self._client.delete(generation.key, _filter(where))

    async def some_of_anybody(self, generation: Generation, limit: int) -> Sequence[Point]:
        """Points of any user, without vectors: for re-indexing, which shows them to nobody."""
        points, _ = await self._scroll(generation, None, limit, None)
        return points

    async def delete_exactly(self, generation: Generation, point_ids: Sequence[str]) -> None:
        """Remove points that `some_of_anybody` gave."""
        async with _told():
            await self._client.delete(generation.key, list(point_ids))

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        if self._opened is not None:
            client, self._opened = self._opened, None
            await client.close()

    async def _scroll(
        self, generation: Generation, where: "models.Filter | None", limit: int, after: str | None
    ) -> tuple[Sequence[Point], str | None]:
        async with _told():
            records, following = await self._client.scroll(generation.key, where, limit=limit, offset=after)
        points = [Point(point_id=str(one.id), payload=one.payload or {}) for one in records]
        return points, None if following is None else str(following)


@asynccontextmanager
async def _told() -> AsyncIterator[None]:
    """Turn what the client raises into our errors."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        status = error.status_code or 0
        raise _of_status(status)(f"status {status}: {error.content[:200]!r}", status=status) from error
    except (ApiException, QdrantException, OSError) as error:
        raise VectorServerDown(f"{type(error).__name__}: {error}") from error


def _of_status(status: int) -> type[EchoError]:
    return VectorServerRefused if 400 <= status < 500 and status not in (408, 429) else VectorServerDown


def _struct(point: Point) -> "models.PointStruct":
    from qdrant_client import models

    sparse = models.SparseVector(indices=list(point.lexical.indices), values=list(point.lexical.weights))
    return models.PointStruct(
        id=point.point_id, vector={DENSE: list(point.dense), LEXICAL: sparse}, payload=dict(point.payload)
    )


def _condition(condition: Condition) -> "models.FieldCondition":
    from qdrant_client import models

    values = condition.any_of
    if values is None:
        limits = models.Range(gte=condition.at_least, lte=condition.at_most)
        return models.FieldCondition(key=condition.key, range=limits)
    if len(values) > 1:
        return models.FieldCondition(key=condition.key, match=models.MatchAny(any=[str(value) for value in values]))
    (value,) = values
    if isinstance(value, float):
        return models.FieldCondition(key=condition.key, range=models.Range(gte=value, lte=value))
    return models.FieldCondition(key=condition.key, match=models.MatchValue(value=value))


def _filter(where: Scoped) -> "models.Filter":
    from qdrant_client import models

    must: list[models.Condition] = [_condition(condition) for condition in where.must]
    if where.point_ids is not None:
        must.append(models.HasIdCondition(has_id=list(where.point_ids)))
    must_not: list[models.Condition] = [_condition(condition) for condition in where.must_not]
    return models.Filter(must=must, must_not=must_not or None)
