"""Searching in documents and chats as tools. Each docstring is what the model reads; every public method is a tool."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from echo_constants import Bilingual

if TYPE_CHECKING:
    from echo_core.passages import FoundPassage
    from echo_ingestion import Document
    from echo_runtime.document_desk import DocumentDesk
    from echo_runtime.document_index import DocumentIndex, Indexing

Given = dict[str, Any] | None

#: The most passages that one search gives. Source: our choice, some 6,000 tokens.
MOST: Final = 20
_USUAL: Final = 8

#: How a passage of a chat is called, by who said it.
_SPOKEN: Final = {
    "user": Bilingual(en="Said by you in a chat", fr="Dit par vous dans une discussion"),
    "model": Bilingual(en="Answered in a chat", fr="Répondu dans une discussion"),
}


class SearchToolkit:
    """The session memory of whoever asks.

    Args:
        index: gives that of the running server; called for each use.
        desk: gives the documents of the running server; called for each use.
    """

    def __init__(self, index: "Callable[[], DocumentIndex]", desk: "Callable[[], DocumentDesk]") -> None:
        self._index = index
        self._desk = desk

    async def search_documents(
        self,
        query: str,
        id: str = "",  # noqa: A002 (the name that the model sees)
        limit: int = _USUAL,
        __user__: Given = None,
        __metadata__: Given = None,
        __event_emitter__: Any = None,
    ) -> Any:
        """Find the passages of this chat's documents that bear on a question, by meaning and by words.

        Each comes with its document and place: name them when you quote, and read on with read_document.

        :param query: what you look for, in a sentence or in words
        :param id: one document's id, as its preview tells it; empty searches all documents of this chat
        :param limit: how many passages, 1 to 20
        """
        from echo_runtime.document_index import DOCUMENT_KIND

        return await self._search(
            query,
            _bounded(limit),
            Asker(_id(__user__), __metadata__, __event_emitter__),
            chat_id=str((__metadata__ or {}).get("chat_id") or ""),
            document_id=str(id or "").strip(),
            kinds=(DOCUMENT_KIND,),
        )

    async def search_session(
        self,
        query: str,
        limit: int = _USUAL,
        __user__: Given = None,
        __metadata__: Given = None,
        __event_emitter__: Any = None,
    ) -> Any:
        """Search what the user's own chats keep in their memory, this one and all others; nobody else's is reachable.

        Use it when the user refers to something from another chat.

        :param query: what you look for, in a sentence or in words
        :param limit: how many passages, 1 to 20
        """
        return await self._search(query, _bounded(limit), Asker(_id(__user__), __metadata__, __event_emitter__))

    async def _search(self, query: str, limit: int, asker: "Asker", **where: Any) -> Any:
        from echo_codex_git.answers import answer

        async def work() -> Any:
            index = self._index()
            found = await index.search(asker.user_id, str(query), limit=limit, **where)
            await self._cite(found, asker)
            waiting = [
                _waiting(one)
                for one in index.in_work(asker.user_id, where.get("chat_id", ""), where.get("document_id", ""))
            ]
            return {
                "passages": [_row(one, asker) for one in found],
                **({"still_being_indexed": waiting} if waiting else {}),
            }

        return await answer(work(), asker.metadata)

    async def _cite(self, found: "Sequence[FoundPassage]", asker: "Asker") -> None:
        """Show each passage in the page as a source, which opens a document at its place."""
        from echo_runtime.citations import cite

        if asker.emit is None:
            return
        documents = {one.passage.source_id: await self._document(one, asker) for one in found}
        for one in found:
            await cite(
                asker.emit,
                source_id=one.passage.source_id,
                name=_name(one, asker),
                place=str(one.passage.meta.get("place", "")),
                text=one.passage.text,
                document=documents[one.passage.source_id],
                start=int(one.passage.meta.get("start", 0)),
            )

    async def _document(self, found: "FoundPassage", asker: "Asker") -> "Document | None":
        """The document of a passage; None for what is none, or was removed since."""
        from echo_ingestion import DocumentMissing
        from echo_runtime.document_index import DOCUMENT_KIND

        if found.passage.kind != DOCUMENT_KIND:
            return None
        try:
            return await self._desk().library(asker.user_id).find(found.passage.source_id)
        except DocumentMissing:
            return None


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and where the page is."""

    user_id: str
    metadata: Given
    emit: Any


def _id(user: Given) -> str:
    return str((user or {}).get("id") or "")


def _bounded(limit: Any) -> int:
    try:
        return max(1, min(MOST, int(limit)))
    except (TypeError, ValueError):
        return _USUAL


def _row(found: "FoundPassage", asker: Asker) -> dict[str, Any]:
    passage = found.passage
    return {
        "text": passage.text,
        "kind": passage.kind,
        "name": _name(found, asker),
        "id": passage.source_id,
        "place": passage.meta.get("place", ""),
        "chat": passage.chat_id,
    }


def _name(found: "FoundPassage", asker: Asker) -> str:
    from echo_runtime.call import request_locale

    passage = found.passage
    spoken = _SPOKEN.get(str(passage.meta.get("role", "")))
    if spoken is not None:
        return spoken.render(request_locale(asker.metadata or {}, None))
    return str(passage.meta.get("name") or passage.source_id)


def _waiting(work: "Indexing") -> dict[str, Any]:
    return {
        "name": work.document.name,
        "id": work.document.document_id,
        "searched": f"the first {work.reached_chars} of {work.document.chars} characters so far",
        "read_on": f"{work.reached_chars}-",
    }
