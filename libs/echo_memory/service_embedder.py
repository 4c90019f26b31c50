"""Embeddings from an OpenAI-compatible service, such as ECHO's own embedding worker."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Final

import httpx

from echo_core.passages import EmbeddingModel, Vector
from echo_memory.catalogue import find_model, unknown_model
from echo_memory.errors import EmbeddingMismatch, EmbeddingServerDown, EmbeddingServerRefused

#: Texts in one request. Source: our choice; OpenAI takes 2,048, small services far fewer.
BATCH: Final = 16

#: A request may take this long: a processor without a graphics card reads some 100 tokens a second of a large model.
TIMEOUT_S: Final = 120.0
_CONNECT_S: Final = 5.0

#: Tries of one request whose connection broke before an answer came.
_TRIES: Final = 2

_PROBE: Final = "ECHO"


class ServiceEmbedder:
    """`Embedder` over `POST {url}/embeddings`.

    Args:
        url: such as `http://echo-embedding:7997/v1`.
        model_name: what the service calls its model; the catalogue finds its prefixes by it.
        api_key: "" for a service without.
    """

    def __init__(self, url: str, model_name: str, api_key: str = "") -> None:
        self._url = f"{url.rstrip('/')}/embeddings"
        self._name = model_name
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(TIMEOUT_S, connect=_CONNECT_S))
        self._known = find_model(model_name)
        self._asking = asyncio.Lock()

    async def model(self) -> EmbeddingModel:
        """The catalogue's entry; a model that it does not list has the dimension that the service answers with.

        Raises:
            EmbeddingServerDown: the service must be asked and does not answer.
            EmbeddingServerRefused: it does not accept the request.
        """
        if self._known is None:
            async with self._asking:
                if self._known is None:
                    (vector,) = await self._request([_PROBE])
                    self._known = unknown_model(self._name, len(vector))
        return self._known

    async def embed_queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector of length 1 a text. Raises as `model`, and EmbeddingMismatch for an answer of another shape."""
        prefix = (await self.model()).query_prefix
        return await self._embed([prefix + text for text in texts])

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector of length 1 a text. Raises as `embed_queries`."""
        prefix = (await self.model()).document_prefix
        return await self._embed([prefix + text for text in texts])

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _embed(self, texts: list[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for begin in range(0, len(texts), BATCH):
            vectors += await self._request(texts[begin : begin + BATCH])
        return vectors

    async def _request(self, texts: list[str]) -> list[Vector]:
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        answer = await self._post({"model": self._name, "input": clean, "encoding_format": "float"})
        if answer.is_error:
            status = answer.status_code
            kind = EmbeddingServerRefused if status < 500 and status not in (408, 429) else EmbeddingServerDown
            raise kind(f"status {status}: {answer.text[:200]!r}", status=status)
        try:
            entries = sorted(answer.json()["data"], key=lambda entry: entry["index"])
            vectors: list[Vector] = [_unit([float(value) for value in entry["embedding"]]) for entry in entries]
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingMismatch(f"{type(error).__name__}: {error}", found="another shape", wanted="data") from error
        if len(vectors) != len(texts):
            raise EmbeddingMismatch(found=f"{len(vectors)} vectors", wanted=f"{len(texts)}")
        return vectors

    async def _post(self, body: dict[str, Any]) -> httpx.Response:
        tries = 0
        while True:
            tries += 1
            try:
                return await self._client.post(self._url, json=body)
            except (httpx.ConnectError, httpx.RemoteProtocolError) as error:
                if tries == _TRIES:
                    raise EmbeddingServerDown(f"{type(error).__name__}: {error}") from error
            except httpx.HTTPError as error:
                raise EmbeddingServerDown(f"{type(error).__name__}: {error}") from error


def _unit(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0.0:
        raise ValueError("a vector without a direction")
    return [value / length for value in vector]
