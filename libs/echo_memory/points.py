"""The shape of a point, and the only place where a request is bound to a user.

Adapters take `Scoped`, never a bare filter, and nothing else makes one: a request without a user cannot be written.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol
from uuid import UUID, uuid5

from echo_core.passages import CollectionName, MetaValue, Passage, PassageFilter, Vector
from echo_memory.errors import TenantMissing, UnsafeFilter
from echo_memory.lexical import SparseText

#: Names of a point's two vectors.
DENSE: Final = "dense"
LEXICAL: Final = "lexical"

#: Payload fields that are indexed; `user` is the tenant.
USER_FIELD: Final = "user"
INDEXED_FIELDS: Final = (USER_FIELD, "chat", "source", "kind")

_NAMESPACE: Final = UUID("6d1f3a52-6f0c-5c8e-9a53-0b1f6a7b4f10")
_META_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Generation:
    """One physical collection: the vectors of one model. A change of model begins another generation.

    Args:
        collection: the name that the product knows.
        model: the embedding model's name.
        dimension: of its vectors.
    """

    collection: CollectionName
    model: str
    dimension: int

    @property
    def key(self) -> str:
        """A name for folders and servers; model and dimension can be read from it."""
        return f"{self.collection}--{re.sub(r'[^A-Za-z0-9._-]+', '-', self.model)}--{self.dimension}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition on a payload field: one of some values, or a number in a range."""

    key: str
    any_of: tuple[MetaValue, ...] | None = None
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Scoped:
    """A filter that is bound to one user; only `scope` makes one.

    Args:
        user_id: whose points.
        must: hold all.
        must_not: hold none.
        point_ids: only these points, None = any.
    """

    user_id: str
    must: tuple[Condition, ...]
    must_not: tuple[Condition, ...] = ()
    point_ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A passage as it is stored."""

    point_id: str
    payload: Mapping[str, Any]
    dense: Vector = field(default=(), repr=False)
    lexical: SparseText = field(default=SparseText((), ()), repr=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """A point that a query brought up."""

    point: Point
    score: float


class PointStore(Protocol):
    """An engine. Any method may raise StateError, ConfigError or UpstreamError."""

    async def generations(self, collection: CollectionName) -> Sequence[Generation]:
        """What exists of a collection."""
        ...

    async def create(self, generation: Generation) -> None:
        """Make it with its indexes; nothing happens when it exists."""
        ...

    async def drop(self, generation: Generation) -> None:
        """Remove it with all its points."""
        ...

    async def upsert(self, generation: Generation, points: Sequence[Point], *, only_new: bool = False) -> None:
        """Write points; with `only_new`, leave alone those whose id is there."""
        ...

    async def nearest(
        self, generation: Generation, query: Vector | SparseText, where: Scoped, limit: int
    ) -> Sequence[Hit]:
        """The best points, best first: by cosine for a dense query, by BM25 over the user's own points for a sparse."""
        ...

    async def page(
        self, generation: Generation, where: Scoped, limit: int, after: str | None
    ) -> tuple[Sequence[Point], str | None]:
        """Points in the order of their ids, without vectors, and where the next page begins."""
        ...

    async def count(self, generation: Generation, where: Scoped) -> int:
        """How many points there are, exactly."""
        ...

    async def write_meta(self, generation: Generation, where: Scoped, meta: Mapping[str, MetaValue]) -> None:
        """Merge values into the payload's `meta`."""
        ...

    async def delete(self, generation: Generation, where: Scoped) -> None:
        """Remove points."""
        ...

    async def some_of_anybody(self, generation: Generation, limit: int) -> Sequence[Point]:
        """Points of any user, without vectors: for re-indexing, which shows them to nobody."""
        ...

    async def delete_exactly(self, generation: Generation, point_ids: Sequence[str]) -> None:
        """Remove points that `some_of_anybody` gave."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...


def point_id(user_id: str, passage_id: str) -> str:
    """The point of a user's passage; two users' passages never share one, whatever ids they choose."""
    return str(uuid5(_NAMESPACE, f"{len(user_id)}:{user_id}:{passage_id}"))


def scope(user_id: str, where: PassageFilter) -> Scoped:
    """Bind a filter to a user.

    Raises:
        TenantMissing: no user is named.
        UnsafeFilter: a meta name is not a plain name.
    """
    if not user_id:
        raise TenantMissing("a filter without a user")
    listed: tuple[tuple[Literal["chat", "source", "kind"], tuple[str, ...] | None], ...] = (
        ("chat", where.chat_ids),
        ("source", where.source_ids),
        ("kind", where.kinds),
    )
    conditions = [Condition(key=USER_FIELD, any_of=(user_id,))]
    conditions += [Condition(key=key, any_of=values) for key, values in listed if values is not None]
    conditions += [Condition(key=meta_key(name), any_of=(value,)) for name, value in where.meta.items()]
    conditions += [Condition(key=meta_key(name), at_least=value) for name, value in where.at_least.items()]
    conditions += [Condition(key=meta_key(name), at_most=value) for name, value in where.at_most.items()]
    ids = where.passage_ids
    return Scoped(
        user_id,
        tuple(conditions),
        (Condition(key="chat", any_of=where.without_chat_ids),) if where.without_chat_ids else (),
        None if ids is None else tuple(point_id(user_id, one) for one in ids),
    )


def matches_nothing(where: Scoped) -> bool:
    """Whether an empty list of values stands in the filter: engines read that as no condition at all."""
    return where.point_ids == () or any(condition.any_of == () for condition in where.must)


def meta_key(name: str) -> str:
    """Where a value of meta lies in the payload.

    Raises:
        UnsafeFilter: the name could reach another field.
    """
    if not _META_NAME.fullmatch(name):
        raise UnsafeFilter(f"meta name {name[:80]!r}")
    return f"meta.{name}"


def payload_of(user_id: str, passage: Passage) -> dict[str, Any]:
    """What is stored of a passage.

    Raises:
        TenantMissing: no user is named.
        UnsafeFilter: a meta name is not a plain name.
    """
    if not user_id:
        raise TenantMissing("a passage without a user")
    for name in passage.meta:
        meta_key(name)
    return {
        USER_FIELD: user_id,
        "id": passage.passage_id,
        "chat": passage.chat_id,
        "source": passage.source_id,
        "kind": passage.kind,
        "position": passage.position,
        "text": passage.text,
        "meta": dict(passage.meta),
    }


def passage_of(user_id: str, point: Point) -> Passage:
    """The passage of a point that is the user's.

    Raises:
        TenantMissing: it is somebody else's; the engine did not keep to its filter.
    """
    payload = point.payload
    if payload.get(USER_FIELD) != user_id:
        raise TenantMissing("the engine gave a point of another user")
    return Passage(
        passage_id=payload["id"],
        text=payload["text"],
        kind=payload["kind"],
        chat_id=payload["chat"],
        source_id=payload["source"],
        position=payload["position"],
        meta=payload["meta"],
    )


def passages_of(user_id: str, points: Iterable[Point]) -> tuple[Passage, ...]:
    """`passage_of` for several."""
    return tuple(passage_of(user_id, point) for point in points)
