"""What turns texts into vectors: a checkpoint from a path, or the packaged model."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer

from echo_memory import PackagedEmbedder
from echo_workers.embedding.core.errors import CheckpointUnfit
from echo_workers.embedding.core.gguf_file import load_file
from echo_workers.embedding.core.qwen3 import Qwen3Weights, embed
from echo_workers.embedding.core.safetensors_file import load_folder


class EmbeddingBackend(Protocol):
    """Turns texts into vectors of length 1."""

    @property
    def dimension(self) -> int:
        """Numbers in one vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """One vector a text, and how many tokens were read."""
        ...


class CheckpointBackend:
    """A Qwen3 checkpoint, run on one thread of its own; NumPy uses the processors inside.

    Args:
        weights: the model.
        tokenizer: its tokenizer, with what it adds to each text.
        max_tokens: longer texts lose their end, but keep the closing token.
    """

    def __init__(self, weights: Qwen3Weights, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._weights = weights
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(max_tokens, weights.shape.max_tokens))
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")

    @property
    def dimension(self) -> int:
        """Width of the model's state."""
        return self._weights.shape.hidden

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """One vector a text, and how many tokens were read."""
        loop, vectors, read = asyncio.get_running_loop(), [], 0
        for text in texts:
            vector, tokens = await loop.run_in_executor(self._thread, partial(self._one, text))
            vectors.append(vector)
            read += tokens
        return vectors, read

    def _one(self, text: str) -> tuple[list[float], int]:
        ids = self._tokenizer.encode(text).ids or [0]
        vector: list[float] = embed(self._weights, ids).tolist()
        return vector, len(ids)


class PackagedBackend:
    """The packaged model; its prefixes say whether a text is asked or found."""

    def __init__(self) -> None:
        self._embedder = PackagedEmbedder()

    @property
    def dimension(self) -> int:
        """That of multilingual-e5-small."""
        return 384

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """One vector a text; the tokens are estimated, because the engine does not tell them."""
        model = await self._embedder.model()
        vectors: list[list[float]] = []
        for text in texts:
            if text.startswith(model.query_prefix):
                (vector,) = await self._embedder.embed_queries([text.removeprefix(model.query_prefix)])
            else:
                (vector,) = await self._embedder.embed_documents([text.removeprefix(model.document_prefix)])
            vectors.append(list(vector))
        return vectors, sum(len(text) // 4 + 1 for text in texts)


def open_backend(path: str, max_tokens: int) -> EmbeddingBackend:
    """The backend for a path: a checkpoint folder, a GGUF file, or "" for the packaged model; reads it all.

    Raises:
        CheckpointUnfit: what is there cannot be used.
    """
    if not path:
        return PackagedBackend()
    place = Path(path)
    if place.is_dir():
        return CheckpointBackend(*load_folder(place), max_tokens)
    if place.suffix == ".gguf" and place.is_file():
        return CheckpointBackend(*load_file(place), max_tokens)
    raise CheckpointUnfit(f"{path}: neither a folder with config.json nor a .gguf file")
