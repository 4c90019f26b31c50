"""Documents in the session memory: cut along their structure, embedded in the background, found again by tools."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from echo_constants import EchoError
from echo_core.passages import SESSION_RAG, FoundPassage, Passage, PassageFilter
from echo_core.ports import UserPassages, VectorStore
from echo_memory.chunks import Stretch, chunks
from echo_memory.user_passages import BATCH
from echo_paths.layout import TEMPORARY_PREFIXES

log = logging.getLogger(__name__)

DOCUMENT_KIND: Final = "document"

#: A search waits this long for a document that is being indexed, then finds what is there. Source: our choice.
WAIT_S: Final = 20.0

#: What is indexed of one document: a book of 1,500 pages, some 4,200 passages, which the packaged model embeds in half
#: an hour of one processor. Source: our choice; the speed is that of tests/bench/bench_retrieval.py.
MOST_INDEXED_CHARS: Final = 5_000_000

#: What is read and cut at once. Source: our choice; bounds memory.
WINDOW_CHARS: Final = 131_072


async def _nothing() -> None:
    """What is done at the end where nothing is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexable:
    """A document of a chat.

    Args:
        document_id: unique among the user's documents.
        name: how the user calls it.
        chars: the length of its text.
        read: gives characters from, to of its text.
        stretches: its pages, sheets and sections.
        done: called when all that is to be indexed of it is.
    """

    document_id: str
    name: str
    chars: int
    read: Callable[[int, int], Awaitable[str]]
    stretches: Sequence[Stretch] = ()
    done: Callable[[], Awaitable[None]] = _nothing

    @property
    def reach_chars(self) -> int:
        """As far as it is indexed."""
        return min(self.chars, MOST_INDEXED_CHARS)


@dataclass(slots=True, kw_only=True)
class Indexing:
    """A document that is being indexed.

    Args:
        reached_chars: as far as it can be searched.
        unwanted: whether it is to stop, because the chat or the document is gone.
    """

    document: Indexable
    reached_chars: int = 0
    unwanted: bool = False


@dataclass(frozen=True, slots=True)
class _Work:
    state: Indexing
    task: asyncio.Task[None]


_Key = tuple[str, str, str]

#: Told what became of a document: chat id, document, and why it is not indexed.
Tell = Callable[[str, Indexable, EchoError | None], Awaitable[None]]


class DocumentIndex:
    """The documents of all users in the session memory. One an event loop.

    Args:
        store: gives the vector store; called at the first use, because opening it takes a while.
        tell: called with (chat id, document, None) when a whole document that was not there has been indexed for a
            chat, and with the error when it could not be.
    """

    def __init__(self, store: Callable[[], VectorStore], tell: Tell | None = None) -> None:
        self._store = store
        self._tell = tell
        self._running: dict[_Key, _Work] = {}

    def soon(self, user_id: str, chat_id: str, document: Indexable) -> None:
        """Index a document in the background, once; a temporary chat leaves nothing behind, so nothing is done.

        Trouble is logged: the document can still be read by its own tools.
        """
        key = (user_id, chat_id, document.document_id)
        if not chat_id or chat_id.startswith(TEMPORARY_PREFIXES) or key in self._running:
            return
        state = Indexing(document=document)
        task = asyncio.create_task(self._guarded(user_id, chat_id, state))
        self._running[key] = _Work(state, task)
        task.add_done_callback(lambda _: self._running.pop(key, None))

    async def take(self, user_id: str, chat_id: str, document: Indexable) -> int:
        """Index a document now, unless it is already; returns how many passages are new. Goes on where it was cut off.

        Raises:
            EchoError: the vector store or the embedder fails.
        """
        return await self._take(user_id, chat_id, Indexing(document=document))

    async def _take(self, user_id: str, chat_id: str, state: Indexing) -> int:
        mine = self._store().of(user_id, SESSION_RAG)
        where = PassageFilter(chat_ids=(chat_id,), source_ids=(state.document.document_id,), kinds=(DOCUMENT_KIND,))
        there = await _ids(mine, where)
        new = 0
        async for made in _passages(chat_id, state.document):
            missing = [one for one in made if one.passage_id not in there]
            for begin in range(0, len(missing), BATCH):
                if state.unwanted:
                    return new
                batch = missing[begin : begin + BATCH]
                await mine.put(batch)
                new += len(batch)
                state.reached_chars = int(batch[-1].meta["end"])
            state.reached_chars = int(made[-1].meta["end"])
        return new

    def in_work(self, user_id: str, chat_id: str = "", document_id: str = "") -> list[Indexing]:
        """The documents of a user that are being indexed; "" = of any chat, any document."""
        return [work.state for work in self._works(user_id, chat_id, document_id)]

    async def forget(self, *, user_id: str = "", chat_id: str = "", document_id: str = "") -> None:
        """Stop indexing what is gone, so that nothing is written behind its removal; "" = of any."""
        works = self._works(user_id, chat_id, document_id)
        for work in works:
            work.state.unwanted = True
        if works:
            await asyncio.wait([work.task for work in works])

    def _works(self, user_id: str, chat_id: str, document_id: str) -> list[_Work]:
        wanted = (user_id, chat_id, document_id)
        return [
            work
            for key, work in self._running.items()
            if all(one in ("", own) for one, own in zip(wanted, key, strict=True))
        ]

    async def search(
        self,
        user_id: str,
        query: str,
        *,
        chat_id: str = "",
        document_id: str = "",
        kinds: tuple[str, ...] = (),
        limit: int,
    ) -> Sequence[FoundPassage]:
        """Passages of the user that bear on a query, after what is being indexed of it is done, or WAIT_S.

        Args:
            user_id: whose.
            query: in words.
            chat_id: of this chat only, "" = of all of the user's chats.
            document_id: of this document only, "" = of all.
            kinds: of these kinds only, () = of all.
            limit: at most so many.

        Raises:
            EchoError: the vector store or the embedder fails.
        """
        waited = [work.task for work in self._works(user_id, chat_id, document_id)] if user_id else []
        if waited:
            await asyncio.wait(waited, timeout=WAIT_S)
        where = PassageFilter(
            chat_ids=(chat_id,) if chat_id else None,
            source_ids=(document_id,) if document_id else None,
            kinds=kinds or None,
        )
        return await self._store().of(user_id, SESSION_RAG).search(query, where=where, limit=limit)

    async def _guarded(self, user_id: str, chat_id: str, state: Indexing) -> None:
        document = state.document
        try:
            new = await self._take(user_id, chat_id, state)
            if state.unwanted:
                return
            await document.done()
            log.info("A document was indexed, with %d new passages", new)
            if new and document.reach_chars == document.chars and self._tell is not None:
                await self._tell(chat_id, document, None)
        except EchoError as error:
            log.warning("A document was not indexed: %s", error)
            if self._tell is not None and not state.unwanted:
                await self._tell(chat_id, document, error)


async def _ids(mine: UserPassages, where: PassageFilter) -> set[str]:
    there: set[str] = set()
    after: str | None = None
    while True:
        page = await mine.scan(where, after=after)
        there |= {one.passage_id for one in page.passages}
        after = page.after
        if after is None:
            return there


async def _passages(chat_id: str, document: Indexable) -> AsyncIterator[list[Passage]]:
    """The passages of a document, window by window, always cut and numbered in the same way; no empty list."""
    start = number = 0
    while start < document.reach_chars:
        stop = min(start + WINDOW_CHARS, document.reach_chars)
        text = await document.read(start, stop)
        near = [
            Stretch(one.start - start, one.end - start, one.label)
            for one in document.stretches
            if one.start < stop and start < one.end
        ]
        made = await asyncio.to_thread(chunks, text, near)
        following = stop
        if stop < document.reach_chars and len(made) > 1:
            # The window may have cut the last passage: it begins the next window.
            following = start + made.pop().start
        passages = [
            Passage(
                passage_id=f"{chat_id}/{document.document_id}/{number + place}",
                text=text[one.start : one.end],
                kind=DOCUMENT_KIND,
                chat_id=chat_id,
                source_id=document.document_id,
                position=number + place,
                meta={"name": document.name, "place": one.label, "start": start + one.start, "end": start + one.end},
            )
            for place, one in enumerate(made)
        ]
        if passages:
            yield passages
        start, number = following, number + len(passages)
