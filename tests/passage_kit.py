"""What tests of passages share: an embedder that needs no model, and passages."""

import math
from collections.abc import Sequence
from zlib import crc32

from echo_core.passages import EmbeddingModel, Passage, Vector
from echo_memory.lexical import fold
from echo_runtime.document_index import Indexable


class WordEmbedder:
    """An embedder whose vectors are counts of hashed words: texts with the same words are alike.

    Args:
        name: of its model.
        dimension: of its vectors.
        floor: of its model.
    """

    def __init__(self, name: str = "words", dimension: int = 64, floor: float = 0.2) -> None:
        self._model = EmbeddingModel(name=name, dimension=dimension, relevance_floor=floor, max_tokens=512)
        self.embedded: list[str] = []

    async def model(self) -> EmbeddingModel:
        return self._model

    async def embed_queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [self._vector(text) for text in texts]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        vector = [0.0] * self._model.dimension
        for word in fold(text).split():
            vector[crc32(word.encode()) % self._model.dimension] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector] if length else [1.0, *vector[1:]]


def passage(passage_id: str, text: str, **more: object) -> Passage:
    return Passage(**{"kind": "document", "passage_id": passage_id, "text": text, **more})  # type: ignore[arg-type]


def indexable(document_id: str, name: str, text: str, **more: object) -> Indexable:
    """A document whose text is given."""

    async def read(start: int, end: int) -> str:
        return text[start:end]

    return Indexable(document_id=document_id, name=name, chars=len(text), read=read, **more)  # type: ignore[arg-type]
