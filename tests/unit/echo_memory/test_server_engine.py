import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_core.passages import SESSION_RAG
from echo_memory import PassageStore, ServerEngine, VectorServerDown, VectorServerRefused
from echo_memory.points import Generation
from http_servers.asgi import AsgiServer
from passage_kit import WordEmbedder, passage
from qdrant_shim import QdrantShim

KEY = "a-key-of-the-test"


@pytest.fixture
async def shim(tmp_path: Path) -> AsyncIterator[tuple[QdrantShim, str]]:
    shim = QdrantShim(tmp_path, KEY)
    async with AsgiServer(shim.app) as server:
        yield shim, server.url
    shim.close()


@pytest.fixture
async def engine(shim: tuple[QdrantShim, str]) -> AsyncIterator[ServerEngine]:
    engine = ServerEngine(shim[1], KEY)
    yield engine
    await engine.close()


async def test_a_collection_gets_its_indexes_and_records_its_model(shim, engine) -> None:
    await PassageStore(engine, WordEmbedder("some/model", 48)).of("ada", SESSION_RAG).put([passage("1", "x")])
    (generation,) = await engine.generations(SESSION_RAG)
    assert generation == Generation(SESSION_RAG, "some/model", 48)
    assert generation.key == "echo_session_rag--some-model--48"
    indexes = shim[0].indexes(generation.key)
    assert set(indexes) == {"user", "chat", "source", "kind"}
    assert [name for name, index in indexes.items() if index.is_tenant] == ["user"]


async def test_making_it_twice_is_no_error(engine) -> None:
    generation = Generation(SESSION_RAG, "m", 8)
    await engine.create(generation)
    await engine._create(generation)
    await engine.create(generation)
    await engine.drop(generation)
    await engine.drop(generation)
    assert await engine.generations(SESSION_RAG) == []


async def test_passages_are_written_in_batches(shim, engine) -> None:
    await (
        PassageStore(engine, WordEmbedder())
        .of("ada", SESSION_RAG)
        .put([passage(str(n), f"text {n}") for n in range(40)])
    )
    writes = [body for method, path, body in shim[0].requests if (method, path.rsplit("/", 1)[-1]) == ("PUT", "points")]
    assert [len(body["points"]) for body in writes] == [16, 16, 8]


async def test_every_read_names_the_user(shim, engine) -> None:
    mine = PassageStore(engine, WordEmbedder()).of("ada", SESSION_RAG)
    await mine.put([passage("1", "orchard")])
    await mine.search("orchard garden")
    await mine.scan()
    await mine.count()
    reads = [body for _, path, body in shim[0].requests if path.rsplit("/", 1)[-1] in ("query", "scroll", "count")]
    assert len(reads) >= 4
    for body in reads:
        assert {"key": "user", "match": {"value": "ada"}} in body["filter"]["must"]


async def test_a_wrong_key_is_told_apart_from_a_server_that_is_down(shim, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    stranger = ServerEngine(shim[1], "another")
    with pytest.raises(VectorServerRefused) as refused:
        await stranger.generations(SESSION_RAG)
    assert refused.value.fields == {"status": 401}
    await stranger.close()
    nobody = ServerEngine("http://127.0.0.1:1", KEY)
    with pytest.raises(VectorServerDown):
        await nobody.generations(SESSION_RAG)
    await nobody.close()
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("status", "error"), [(500, VectorServerDown), (503, VectorServerDown), (403, VectorServerRefused)]
)
async def test_what_the_server_says_decides_who_can_act(shim, engine, status: int, error: type[Exception]) -> None:
    mine = PassageStore(engine, WordEmbedder()).of("ada", SESSION_RAG)
    await mine.put([passage("1", "orchard")])
    shim[0].broken_status = status
    with pytest.raises(error):
        await mine.search("orchard")
    shim[0].broken_status = 0
    assert await mine.search("orchard")
