"""Qdrant's REST interface, as far as ECHO uses it, over the embedded engine: a stand-in for a server's binary.

What it proves: that ECHO's requests have the shape of Qdrant's interface (each is read with the official client's own
models, which refuse unknown fields) and that the engine does with them what the embedded adapter gets. What it does not
prove: a real server's clustering, limits and timing.
"""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from qdrant_client import models
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_TAKEN = object()


class QdrantShim:
    """An ASGI application, `app`, that keeps collections in a folder.

    Args:
        folder: one subfolder a collection.
        api_key: what `api-key` must say, "" = anything.
    """

    def __init__(self, folder: Path, api_key: str = "") -> None:
        self._folder = folder
        self._api_key = api_key
        self._shards: dict[str, edge.EdgeShard] = {}
        self._configs: dict[str, models.CreateCollection] = {}
        self._indexes: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        #: (method, path, body) of every request.
        self.requests: list[tuple[str, str, Any]] = []
        #: Answer everything with this status, 0 = normally.
        self.broken_status = 0
        base = "/collections/{name}"
        routes = [
            ("/collections", "GET", self._list),
            (base, "GET", self._info),
            (base, "PUT", self._create),
            (base, "DELETE", self._drop),
            (f"{base}/exists", "GET", self._exists),
            (f"{base}/index", "PUT", self._index),
            (f"{base}/points", "PUT", self._upsert),
            (f"{base}/points/query", "POST", self._query),
            (f"{base}/points/scroll", "POST", self._scroll),
            (f"{base}/points/count", "POST", self._count),
            (f"{base}/points/payload", "POST", self._set_payload),
            (f"{base}/points/delete", "POST", self._delete),
        ]
        self.app = Starlette(routes=[Route(path, self._endpoint(work), methods=[verb]) for path, verb, work in routes])

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()
        self._shards.clear()

    def indexes(self, name: str) -> dict[str, Any]:
        return self._indexes[name]

    def _endpoint(self, work: Any) -> Any:
        async def answer(request: Request) -> Response:
            raw = await request.body()
            body = json.loads(raw) if raw else None
            self.requests.append((request.method, request.url.path, body))
            if self._api_key and request.headers.get("api-key") != self._api_key:
                return JSONResponse({"status": {"error": "Invalid API key"}, "time": 0.0}, 401)
            if self.broken_status:
                return JSONResponse({"status": {"error": "broken"}, "time": 0.0}, self.broken_status)
            name = request.path_params.get("name", "")
            if name and work not in (self._create, self._exists, self._drop) and name not in self._shards:
                return JSONResponse({"status": {"error": f"Collection `{name}` doesn't exist!"}, "time": 0.0}, 404)
            result = await run_in_threadpool(work, name, body)
            if result is _TAKEN:
                return JSONResponse({"status": {"error": f"Collection `{name}` already exists!"}, "time": 0.0}, 409)
            return JSONResponse({"result": result, "status": "ok", "time": 0.0})

        return answer

    def _list(self, name: str, body: Any) -> Any:
        return {"collections": [{"name": one} for one in self._shards]}

    def _exists(self, name: str, body: Any) -> Any:
        return {"exists": name in self._shards}

    def _info(self, name: str, body: Any) -> Any:
        config = self._configs[name]
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "config": {
                "params": {"vectors": config.model_dump(mode="json", exclude_none=True)["vectors"]},
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
                "optimizer_config": {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000,
                                     "default_segment_number": 0, "flush_interval_sec": 5},
                "metadata": config.metadata,
            },
            "payload_schema": {},
        }  # fmt: skip

    def _create(self, name: str, body: Any) -> Any:
        config = models.CreateCollection(**body)
        dense = {
            key: edge.EdgeVectorParams(size=one.size, distance=getattr(edge.Distance, one.distance.value))
            for key, one in config.vectors.items()
        }
        sparse = {
            key: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if one.modifier == "idf" else None)
            for key, one in (config.sparse_vectors or {}).items()
        }
        with self._lock:
            if name in self._shards:
                return _TAKEN
            folder = self._folder / name
            folder.mkdir(parents=True)
            made = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=dense, sparse_vectors=sparse))
            self._configs[name], self._indexes[name], self._shards[name] = config, {}, made
        return True

    def _drop(self, name: str, body: Any) -> Any:
        shard = self._shards.pop(name, None)
        if shard is None:
            return False
        shard.close()
        shutil.rmtree(self._folder / name)
        return True

    def _index(self, name: str, body: Any) -> Any:
        wanted = models.CreateFieldIndex(**body)
        assert isinstance(wanted.field_schema, models.KeywordIndexParams)
        schema = edge.KeywordIndexParams(is_tenant=wanted.field_schema.is_tenant)
        self._update(name, edge.UpdateOperation.create_field_index(wanted.field_name, schema))
        self._indexes[name][wanted.field_name] = wanted.field_schema
        return _done()

    def _upsert(self, name: str, body: Any) -> Any:
        wanted = models.PointsList(**body)
        mode = edge.UpdateMode.InsertOnly if wanted.update_mode == "insert_only" else edge.UpdateMode.Upsert
        self._update(name, edge.UpdateOperation.upsert_points([_point(one) for one in wanted.points], update_mode=mode))
        return _done()

    def _query(self, name: str, body: Any) -> Any:
        wanted = models.QueryRequest(**body)
        assert wanted.filter is not None
        assert isinstance(wanted.query, models.NearestQuery)
        query, params = wanted.query.nearest, edge.SearchParams()
        if isinstance(query, models.SparseVector):
            asked: Any = edge.SparseVector(query.indices, query.values)
            assert wanted.params is not None and wanted.params.idf is not None and wanted.params.idf.corpus is not None
            params = edge.SearchParams(idf=edge.IdfParams(corpus=_filter(wanted.params.idf.corpus)))
        else:
            asked = query
        found = self._shards[name].search(
            edge.SearchRequest(
                query=edge.Query.Nearest(asked, using=wanted.using),
                limit=wanted.limit or 10,
                filter=_filter(wanted.filter),
                params=params,
                with_payload=True,
                with_vector=False,
            )
        )
        points = [{"id": str(one.id), "version": 0, "score": one.score, "payload": one.payload} for one in found]
        return {"points": points}

    def _scroll(self, name: str, body: Any) -> Any:
        wanted = models.ScrollRequest(**body)
        where = None if wanted.filter is None else _filter(wanted.filter)
        records, following = self._shards[name].scroll(
            edge.ScrollRequest(
                offset=wanted.offset, limit=wanted.limit, filter=where, with_payload=True, with_vector=False
            )
        )
        points = [{"id": str(one.id), "payload": one.payload} for one in records]
        return {"points": points, "next_page_offset": None if following is None else str(following)}

    def _count(self, name: str, body: Any) -> Any:
        wanted = models.CountRequest(**body)
        assert wanted.filter is not None
        return {"count": self._shards[name].count(edge.CountRequest(exact=True, filter=_filter(wanted.filter)))}

    def _set_payload(self, name: str, body: Any) -> Any:
        wanted = models.SetPayload(**body)
        assert wanted.filter is not None
        change = edge.UpdateOperation.set_payload_by_filter(_filter(wanted.filter), wanted.payload, key=wanted.key)
        self._update(name, change)
        return _done()

    def _delete(self, name: str, body: Any) -> Any:
        if "points" in body:
            change = edge.UpdateOperation.delete_points([str(one) for one in models.PointIdsList(**body).points])
        else:
            change = edge.UpdateOperation.delete_points_by_filter(_filter(models.FilterSelector(**body).filter))
        self._update(name, change)
        return _done()

    def _update(self, name: str, change: Any) -> None:
        with self._lock:
            self._shards[name].update(change)


def _done() -> Any:
    return {"operation_id": 1, "status": "completed"}


def _point(point: models.PointStruct) -> Any:
    vectors = {
        key: edge.SparseVector(one.indices, one.values) if isinstance(one, models.SparseVector) else one
        for key, one in point.vector.items()  # type: ignore[union-attr]
    }
    return edge.Point(id=str(point.id), vector=vectors, payload=point.payload)


def _filter(where: models.Filter) -> Any:
    assert where.should is None and where.min_should is None
    return edge.Filter(
        must=[_condition(one) for one in _list_of(where.must)],
        must_not=[_condition(one) for one in _list_of(where.must_not)],
    )


def _list_of(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _condition(one: Any) -> Any:
    if isinstance(one, models.HasIdCondition):
        return edge.HasIdCondition({str(point_id) for point_id in one.has_id})
    assert isinstance(one, models.FieldCondition), one
    if one.range is not None:
        return edge.FieldCondition(key=one.key, range=edge.RangeFloat(gte=one.range.gte, lte=one.range.lte))
    if isinstance(one.match, models.MatchAny):
        return edge.FieldCondition(key=one.key, match=edge.MatchAny(list(one.match.any)))
    assert isinstance(one.match, models.MatchValue), one
    return edge.FieldCondition(key=one.key, match=edge.MatchValue(one.match.value))
