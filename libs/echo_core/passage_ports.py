"""Ports for embeddings and vectors; `echo_core.ports` offers them with the others."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from echo_core.passages import (
    ANYWHERE,
    CollectionName,
    EmbeddingModel,
    FoundPassage,
    MetaValue,
    Passage,
    PassageFilter,
    PassagePage,
    SearchMode,
    Vector,
)


class Embedder(Protocol):
    """Turns texts into vectors. Any method may raise ConfigError or UpstreamError."""

    async def model(self) -> EmbeddingModel:
        """What it embeds with; the same for the life of the embedder."""
        ...

    async def embed_queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector of length 1 for each text, as something that is asked; shape (len(texts), dimension)."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector of length 1 for each text, as something that is found; shape (len(texts), dimension)."""
        ...


class UserPassages(Protocol):
    """One user's passages in one collection; nobody else's can be named. Any method may raise EchoError."""

    async def put(self, passages: Sequence[Passage]) -> None:
        """Embed and keep; a passage of the same id is replaced."""
        ...

    async def search(
        self, query: str, *, where: PassageFilter = ANYWHERE, limit: int = 8, mode: SearchMode = "hybrid"
    ) -> Sequence[FoundPassage]:
        """The passages that bear on a query, best first.

        What only resembles the query by less than the model's floor is left out, unless it shares rare words with it.
        """
        ...

    async def scan(self, where: PassageFilter = ANYWHERE, *, limit: int = 256, after: str | None = None) -> PassagePage:
        """Passages page by page, in an order without meaning."""
        ...

    async def count(self, where: PassageFilter = ANYWHERE) -> int:
        """How many there are."""
        ...

    async def annotate(self, passage_ids: Sequence[str], meta: Mapping[str, MetaValue]) -> None:
        """Write these values into the meta of passages; other values stay, ids that are not there are ignored."""
        ...

    async def delete(self, where: PassageFilter) -> None:
        """Remove passages; `ANYWHERE` removes all of the user's."""
        ...


class VectorStore(Protocol):
    """Where passages are kept. The user is named once, in `of`, and every request is bound to him from then on."""

    def of(self, user_id: str, collection: CollectionName) -> UserPassages:
        """A user's passages; touches nothing.

        Raises:
            StateError: the id is empty.
        """
        ...

    async def relevance_floor(self) -> float:
        """Cosine below which a passage has nothing to do with a query, of the model that embeds."""
        ...

    async def delete_user(self, user_id: str) -> None:
        """Remove everything of a user, from all collections."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
