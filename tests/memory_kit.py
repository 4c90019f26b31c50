"""What tests of memory share: a desk over real files and the real engine, and a clock."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from echo_core.memories import TRIVIAL, Fact, MemoryOrigin, Provenance
from echo_core.ports import Embedder
from echo_memory import EdgeEngine, PassageStore
from echo_memory.keeping import Kept, Proposal
from echo_paths import EchoPaths
from echo_runtime.memory_desk import MemoryDesk
from echo_state_manager.memories import MemoryStores
from passage_kit import WordEmbedder
from store_kit import ManualClock

DAY_S = 86_400


class Memories:
    """A desk and its surroundings.

    Attributes:
        redacted: (user, ids) of what was taken out of the records of chats.
    """

    def __init__(self, folder: Path, clock: ManualClock, embedder: Embedder | None = None) -> None:
        self.paths = EchoPaths(folder)
        self.clock = clock
        self.store = PassageStore(EdgeEngine(self.paths.qdrant_dir), embedder or WordEmbedder())
        self.redacted: list[tuple[str, list[str]]] = []
        self.desk = MemoryDesk(MemoryStores(self.paths, clock), lambda: self.store, clock, self._redact)

    async def _redact(self, user_id: str, ids: Collection[str]) -> int:
        self.redacted.append((user_id, sorted(ids)))
        return 0

    async def tell(
        self, user_id: str, text: str, topic: str = "", value: str = "", origin: MemoryOrigin = "order",
        importance: int = TRIVIAL,
    ) -> Kept:  # fmt: skip
        """The user has something remembered."""
        fact = Fact(text=text, topic=topic, value=value)
        source = Provenance(chat_id="c1", message_id="q1", at_s=int(self.clock.now_s()))
        return await self.desk.keep(user_id, Proposal(fact=fact, origin=origin, importance=importance, source=source))

    async def recalled(self, user_id: str, query: str, limit: int = 5) -> list[str]:
        """The texts that a question brings back."""
        return [one.memory.text for one in await self.desk.recall(user_id, query, limit)]


@asynccontextmanager
async def memories(folder: Path, clock: ManualClock, embedder: Embedder | None = None) -> AsyncIterator[Memories]:
    """A desk that is closed at the end."""
    made = Memories(folder, clock, embedder)
    try:
        yield made
    finally:
        await made.desk.close()
        await made.store.close()
