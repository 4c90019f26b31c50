import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_memory import EmbeddingMismatch, EmbeddingServerDown, EmbeddingServerRefused, ServiceEmbedder
from http_servers.asgi import AsgiServer


class Service:
    """An embedding service that answers with a vector of a text's length, last text first."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answer: Response | None = None
        self.dimension = 1024
        self.app = Starlette(routes=[Route("/v1/embeddings", self._embed, methods=["POST"])])

    async def _embed(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.bodies.append(body)
        self.keys.append(request.headers.get("authorization", ""))
        if self.answer is not None:
            return self.answer
        data = [
            {"index": n, "object": "embedding", "embedding": [float(len(text)), *[2.0] * (self.dimension - 1)]}
            for n, text in enumerate(body["input"])
        ]
        return JSONResponse({"object": "list", "data": data[::-1], "model": body["model"]})


@pytest.fixture
async def service() -> AsyncIterator[tuple[Service, str]]:
    service = Service()
    async with AsgiServer(service.app) as server:
        yield service, f"{server.url}/v1/"


@pytest.fixture
async def embedder(service: tuple[Service, str]) -> AsyncIterator[ServiceEmbedder]:
    embedder = ServiceEmbedder(service[1], "microsoft/harrier-oss-v1-0.6b", "secret")
    yield embedder
    await embedder.close()


async def test_vectors_come_in_the_order_of_the_texts_and_have_length_one(service, embedder) -> None:
    vectors = await embedder.embed_documents(["a" * n for n in range(1, 41)])
    assert all(math.isclose(math.hypot(*vector), 1.0) for vector in vectors)
    ratios = [vector[0] / vector[1] for vector in vectors]
    assert ratios == sorted(ratios)
    assert [len(body["input"]) for body in service[0].bodies] == [16, 16, 8]
    assert set(service[0].keys) == {"Bearer secret"}
    assert (await embedder.model()).dimension == 1024


async def test_only_questions_carry_the_models_instruction(service, embedder) -> None:
    await embedder.embed_queries(["why"])
    await embedder.embed_documents(["because", "\ud800"])
    asked, found = [body["input"] for body in service[0].bodies]
    assert asked[0].startswith("Instruct: ")
    assert asked[0].endswith("Query: why")
    assert found == ["because", "?"]


async def test_an_unknown_model_has_the_dimension_that_it_answers_with(service) -> None:
    service[0].dimension = 12
    embedder = ServiceEmbedder(service[1], "house-model")
    model = await embedder.model()
    assert (model.name, model.dimension, model.query_prefix, model.relevance_floor) == ("house-model", 12, "", 0.0)
    await embedder.embed_queries(["x"])
    assert service[0].bodies[-1]["input"] == ["x"]
    assert set(service[0].keys) == {""}
    await embedder.close()


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, EmbeddingServerRefused),
        (404, EmbeddingServerRefused),
        (429, EmbeddingServerDown),
        (500, EmbeddingServerDown),
    ],
)
async def test_the_status_decides_who_can_act(service, embedder, status: int, error: type[Exception]) -> None:
    service[0].answer = JSONResponse({"error": "no"}, status)
    with pytest.raises(error):
        await embedder.embed_queries(["x"])


@pytest.mark.parametrize(
    "answer",
    [
        b"no json",
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 0, "embedding": ["x"]}]}',
        b'{"data": [{"index": 0, "embedding": [0, 0]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
        b'{"data": 3}',
        b"[]",
    ],
)
async def test_an_answer_of_another_shape_is_told(service, embedder, answer: bytes) -> None:
    service[0].answer = Response(answer, media_type="application/json")
    with pytest.raises(EmbeddingMismatch):
        await embedder.embed_queries(["x"])


async def test_a_service_that_is_not_there_is_told() -> None:
    embedder = ServiceEmbedder("http://127.0.0.1:1/v1", "harrier-oss-v1-0.6b")
    with pytest.raises(EmbeddingServerDown):
        await embedder.embed_documents(["x"])
    await embedder.close()
