"""OpenAI's interface for embeddings, and the health check."""

import base64
import hmac
import struct
from typing import Any, Literal

from fastapi import APIRouter, Header, HTTPException
from pydantic import BaseModel, ConfigDict, Field

from echo_workers.embedding.services.backends import EmbeddingBackend

#: Texts and characters of one request. Source: our choice; ECHO itself sends 16 texts.
MAX_TEXTS = 256
MAX_CHARS = 2_000_000


class EmbeddingsRequest(BaseModel):
    """The body of `POST /v1/embeddings`; token lists are not taken.

    Source: https://platform.openai.com/docs/api-reference/embeddings.
    """

    model_config = ConfigDict(extra="ignore")

    input: str | list[str] = Field(min_length=1)
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


def build_router(backend: EmbeddingBackend, model_name: str, api_key: str) -> APIRouter:
    """The service's routes.

    Args:
        backend: turns texts into vectors.
        model_name: what the service calls its model.
        api_key: what callers must give as bearer token, "" = nothing.
    """
    router = APIRouter()

    def allow(authorization: str) -> None:
        if api_key and not hmac.compare_digest(authorization.encode(), f"Bearer {api_key}".encode()):
            raise HTTPException(401, "the API key is missing or wrong")

    @router.get("/health")
    async def health() -> dict[str, Any]:
        return {"status": "ok", "model": model_name, "dimension": backend.dimension}

    @router.get("/v1/models")
    async def models(authorization: str = Header("")) -> dict[str, Any]:
        allow(authorization)
        return {"object": "list", "data": [{"id": model_name, "object": "model", "owned_by": "echo"}]}

    @router.post("/v1/embeddings")
    async def embeddings(body: EmbeddingsRequest, authorization: str = Header("")) -> dict[str, Any]:
        allow(authorization)
        texts = [body.input] if isinstance(body.input, str) else body.input
        if len(texts) > MAX_TEXTS or sum(map(len, texts)) > MAX_CHARS:
            raise HTTPException(413, f"at most {MAX_TEXTS} texts and {MAX_CHARS} characters in one request")
        if body.dimensions not in (None, backend.dimension):
            raise HTTPException(400, f"this model has {backend.dimension} dimensions")
        vectors, tokens = await backend.embed(texts)
        return {
            "object": "list",
            "model": model_name,
            "data": [
                {"object": "embedding", "index": n, "embedding": _coded(vector, body.encoding_format)}
                for n, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    return router


def _coded(vector: list[float], form: str) -> list[float] | str:
    return vector if form == "float" else base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
