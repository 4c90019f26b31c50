"""What ECHO remembers of its users: kept, found, corrected, forgotten. The first argument of every method is whose.

The errors are in `memory_errors`.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import uuid4

from anyio import to_thread

from echo_constants import EchoError
from echo_core.memories import Fact, Memory, MemoryOrigin, Recalled, ranked
from echo_core.passages import META_ARTIFACTS, Passage, PassageFilter
from echo_core.ports import Clock, UserPassages, VectorStore
from echo_memory.keeping import Kept, Proposal, fuse_trivial, keep
from echo_memory.lexical import fold
from echo_memory.screening import refusal
from echo_runtime.memory_errors import REFUSALS, MemoryBusyError, NoSuchMemoryError
from echo_state_manager.memories import MemoryStore, MemoryStores

log = logging.getLogger(__name__)

MEMORY_KIND: Final = "memory"

#: Candidates of a recall before importance weighs. Source: our choice.
_CANDIDATES: Final = 40
#: Attempts to change a memory that others are changing. Source: our choice.
_TRIES: Final = 20
#: Memories that are embedded at once. Source: our choice.
_BATCH: Final = 64

#: Removes from the user's chats what they were told of memories; gives how many answers there were.
Redact = Callable[[str, Collection[str]], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Some of a user's memories.

    Args:
        memories: of this page.
        total: how many there are in all.
    """

    memories: tuple[Memory, ...]
    total: int


class MemoryDesk:
    """The memories of all users. One an event loop.

    Args:
        stores: where they are kept.
        passages: gives the vector store, by which they are found; called at the first use.
        clock: time.
        redact: takes what is forgotten out of the records of chats.
    """

    def __init__(
        self, stores: MemoryStores, passages: Callable[[], VectorStore], clock: Clock, redact: Redact | None = None
    ) -> None:
        self.stores = stores
        self._passages = passages
        self._clock = clock
        self._redact = redact

    async def keep(self, user_id: str, proposal: Proposal, said: Sequence[str] | None = None) -> Kept:
        """Remember a fact: as a new memory, as one told again, or in the place of what it contradicts.

        Args:
            user_id: whose.
            proposal: the fact.
            said: the user's own words that it must come from; None where he wrote it himself.

        Raises:
            MemoryRefusedError: it may not be remembered.
            MemoryBusyError: others kept changing this user's memory.
            StoreError: the file cannot be used.
        """
        why = await to_thread.run_sync(refusal, proposal.fact, said)
        if why is not None:
            raise REFUSALS[why]
        store = await self.stores.of(user_id)
        for _ in range(_TRIES):
            seen = await store.snapshot()
            plan = partial(keep, seen.current, proposal, _new_id(), int(self._clock.now_s()))
            kept = await to_thread.run_sync(plan)
            if await store.change(seen.revision, kept.written):
                await self._index(user_id, store, [former.id for former in kept.former])
                return kept
        raise MemoryBusyError

    async def recall(self, user_id: str, query: str, limit: int) -> list[Recalled]:
        """The memories that bear on a question, best first; none where nothing can be searched, told in the log."""
        store = await self.stores.of(user_id)
        if not await store.holds_any():
            return []
        try:
            await self._index(user_id, store)
            where = PassageFilter(kinds=(MEMORY_KIND,))
            found = await self._mine(user_id).search(query, where=where, limit=_CANDIDATES)
            floor = await self._passages().relevance_floor()
        except EchoError as error:
            log.warning("Memories cannot be searched: %s", error)
            return []
        known = await store.by_id([one.passage.passage_id for one in found])
        now_s = self._clock.now_s()
        near = [
            (memory, max(one.cosine or floor, floor))
            for one in found
            if (memory := known.get(one.passage.passage_id)) is not None and not memory.has_expired(now_s)
        ]
        return ranked([pair for pair in near if not pair[0].superseded_by], floor, limit)

    async def forget(self, user_id: str, memory_ids: Collection[str]) -> list[str]:
        """Forget memories with all that they took the place of, also where answers were told of them.

        Returns:
            The ids of all that is gone; ids that are not the user's are no error.
        """
        store = await self.stores.of(user_id)
        gone = await store.delete(memory_ids)
        if gone:
            await self._mine(user_id).delete(PassageFilter(passage_ids=tuple(gone)))
            if self._redact is not None:
                await self._redact(user_id, gone)
        return gone

    async def get(self, user_id: str, memory_id: str) -> Memory:
        """One memory. Raises NoSuchMemoryError."""
        found = await (await self.stores.of(user_id)).by_id([memory_id])
        if memory_id not in found:
            raise NoSuchMemoryError
        return found[memory_id]

    async def edit(self, user_id: str, memory_id: str, text: str, importance: int) -> Memory:
        """Put the user's own words and level in the place of a memory; what it was is kept as its history.

        Raises:
            NoSuchMemoryError: there is none of that id, or it holds no longer.
            MemoryRefusedError: the words may not be remembered.
        """
        former = await self.get(user_id, memory_id)
        if former.superseded_by:
            raise NoSuchMemoryError
        now_s = int(self._clock.now_s())
        if text.strip() == former.text:
            return await self._rewritten(user_id, replace(former, importance=importance))
        fact = Fact(text=text.strip(), kind=former.fact.kind)
        if (why := await to_thread.run_sync(refusal, fact, None)) is not None:
            raise REFUSALS[why]
        own: MemoryOrigin = "page"
        memory = replace(
            former,
            id=_new_id(),
            fact=fact,
            importance=importance,
            origin=own,
            created_at_s=now_s,
            reinforced_at_s=now_s,
        )
        return await self._rewritten(user_id, memory, replace(former, superseded_by=memory.id))

    async def pin(self, user_id: str, memory_id: str, pinned: bool) -> Memory:
        """Keep a memory for good, or no longer. Raises NoSuchMemoryError."""
        return await self._rewritten(user_id, replace(await self.get(user_id, memory_id), pinned=pinned))

    async def list_memories(self, user_id: str, query: str = "", offset: int = 0, limit: int = 50) -> MemoryPage:
        """The user's memories that hold, the newest first; of a query, those that have its words."""
        words = fold(query).split()
        current = (await (await self.stores.of(user_id)).snapshot()).current
        matching = [memory for memory in current if all(word in fold(memory.text) for word in words)]
        matching.sort(key=lambda memory: (not memory.pinned, -memory.reinforced_at_s, memory.id))
        return MemoryPage(memories=tuple(matching[offset : offset + limit]), total=len(matching))

    async def history(self, user_id: str, memory_id: str) -> list[Memory]:
        """A memory and what it took the place of, newest first. Raises NoSuchMemoryError."""
        line = await (await self.stores.of(user_id)).line(memory_id)
        if not line:
            raise NoSuchMemoryError
        return line

    async def everything(self, user_id: str) -> list[Memory]:
        """All of a user's memories with their history, oldest first: what an export holds."""
        return await (await self.stores.of(user_id)).everything()

    async def tidy(self, user_id: str) -> tuple[int, int]:
        """The nightly work for one user: forget what has expired, fuse what was observed; how many of each."""
        store = await self.stores.of(user_id)
        now_s = int(self._clock.now_s())
        expired = [memory.id for memory in (await store.snapshot()).current if memory.has_expired(now_s)]
        if expired:
            gone = await store.delete(expired)
            await self._mine(user_id).delete(PassageFilter(passage_ids=tuple(gone)))
        for _ in range(_TRIES):
            seen = await store.snapshot()
            fused = await to_thread.run_sync(fuse_trivial, seen.current, _new_id, now_s)
            if not fused:
                return len(expired), 0
            if await store.change(seen.revision, [memory for kept in fused for memory in kept.written]):
                await self._index(user_id, store, [former.id for kept in fused for former in kept.former])
                return len(expired), len(fused)
        raise MemoryBusyError

    async def purge_user(self, user_id: str) -> None:
        """Let go of a user who is gone; his folder and vectors are removed by others."""
        await self.stores.purge_user(user_id)

    async def users(self) -> list[str]:
        """Everybody of whom anything is remembered."""
        return await self.stores.users()

    async def close(self) -> None:
        """Close the files."""
        await self.stores.close()

    def _mine(self, user_id: str) -> UserPassages:
        return self._passages().of(user_id, META_ARTIFACTS)

    async def _rewritten(self, user_id: str, memory: Memory, *former: Memory) -> Memory:
        store = await self.stores.of(user_id)
        for _ in range(_TRIES):
            seen = await store.snapshot()
            if await store.change(seen.revision, [memory, *former]):
                await self._index(user_id, store, [one.id for one in former])
                return memory
        raise MemoryBusyError

    async def _index(self, user_id: str, store: MemoryStore, gone: Sequence[str] = ()) -> None:
        """Bring the vectors up to what is kept; where they cannot be written now, the next use does it."""
        try:
            if gone:
                await self._mine(user_id).delete(PassageFilter(passage_ids=tuple(gone)))
            while missing := await store.not_embedded(_BATCH):
                await self._mine(user_id).put([_passage(memory) for memory in missing])
                await store.mark_embedded(missing)
        except EchoError as error:
            log.warning("Memories are not searchable yet: %s", error)


def _passage(memory: Memory) -> Passage:
    return Passage(
        passage_id=memory.id,
        text=memory.text,
        kind=MEMORY_KIND,
        chat_id=memory.source.chat_id,
        source_id=memory.source.message_id,
    )


def _new_id() -> str:
    return f"m_{uuid4().hex[:16]}"
