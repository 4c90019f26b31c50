"""Documents in the session memory: cut along their structure, embedded in the background, found again by tools."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from echo_constants import EchoError
from echo_core.passages import SESSION_RAG, FoundPassage, Passage, PassageFilter
from echo_core.ports import VectorStore
from echo_memory.chunks import Stretch, chunks
from echo_paths.layout import TEMPORARY_PREFIXES

log = logging.getLogger(__name__)

DOCUMENT_KIND: Final = "document"

#: A search waits this long for a document that is being indexed, then finds what is there. Source: our choice.
WAIT_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexable:
    """A document of a chat.

    Args:
        document_id: unique among the user's documents.
        name: how the user calls it.
        text: all of it.
        stretches: its pages, sheets and sections.
        whole: False where the text is only the beginning of it.
    """

    document_id: str
    name: str
    text: str
    stretches: Sequence[Stretch] = ()
    whole: bool = True


class DocumentIndex:
    """The documents of all users in the session memory. One an event loop.

    Args:
        store: gives the vector store; called at the first use, because opening it takes a while.
        tell: called with (chat id, document) when a whole document that was not there has been indexed for a chat.
    """

    def __init__(
        self, store: Callable[[], VectorStore], tell: Callable[[str, Indexable], Awaitable[None]] | None = None
    ) -> None:
        self._store = store
        self._tell = tell
        self._running: dict[tuple[str, str, str], asyncio.Task[None]] = {}

    def soon(self, user_id: str, chat_id: str, document: Indexable) -> None:
        """Index a document in the background, once; a temporary chat leaves nothing behind, so nothing is done.

        Trouble is logged: the document can still be read by its own tools.
        """
        key = (user_id, chat_id, document.document_id)
        if not chat_id or chat_id.startswith(TEMPORARY_PREFIXES) or key in self._running:
            return
        task = asyncio.create_task(self._guarded(user_id, chat_id, document))
        self._running[key] = task
        task.add_done_callback(lambda _: self._running.pop(key, None))

    async def take(self, user_id: str, chat_id: str, document: Indexable) -> int:
        """Index a document now, unless it is already; returns how many passages it has. Goes on where it was cut off.

        Raises:
            EchoError: the vector store or the embedder fails.
        """
        made, _ = await self._take(user_id, chat_id, document)
        return made

    async def _take(self, user_id: str, chat_id: str, document: Indexable) -> tuple[int, int]:
        """How many passages a document has, and how many of them are new."""
        made = await asyncio.to_thread(_passages, chat_id, document)
        mine = self._store().of(user_id, SESSION_RAG)
        where = PassageFilter(chat_ids=(chat_id,), source_ids=(document.document_id,), kinds=(DOCUMENT_KIND,))
        there, after = set(), None
        while True:
            page = await mine.scan(where, after=after)
            there |= {one.passage_id for one in page.passages}
            after = page.after
            if after is None:
                break
        missing = [one for one in made if one.passage_id not in there]
        if missing:
            await mine.put(missing)
        return len(made), len(missing)

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
        waited = [
            task
            for (owner, chat, document), task in self._running.items()
            if owner == user_id and chat_id in ("", chat) and document_id in ("", document)
        ]
        if waited:
            await asyncio.wait(waited, timeout=WAIT_S)
        where = PassageFilter(
            chat_ids=(chat_id,) if chat_id else None,
            source_ids=(document_id,) if document_id else None,
            kinds=kinds or None,
        )
        return await self._store().of(user_id, SESSION_RAG).search(query, where=where, limit=limit)

    async def _guarded(self, user_id: str, chat_id: str, document: Indexable) -> None:
        try:
            count, new = await self._take(user_id, chat_id, document)
            log.info("A document was indexed in %d passages", count)
            if new and document.whole and self._tell is not None:
                await self._tell(chat_id, document)
        except EchoError as error:
            log.warning("A document was not indexed: %s", error)


def _passages(chat_id: str, document: Indexable) -> list[Passage]:
    return [
        Passage(
            passage_id=f"{chat_id}/{document.document_id}/{number}",
            text=document.text[one.start : one.end],
            kind=DOCUMENT_KIND,
            chat_id=chat_id,
            source_id=document.document_id,
            position=number,
            meta={"name": document.name, "place": one.label, "start": one.start, "end": one.end},
        )
        for number, one in enumerate(chunks(document.text, document.stretches))
    ]
