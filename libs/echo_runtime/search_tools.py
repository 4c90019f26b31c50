"""Searching in documents and chats as tools. Each docstring is what the model reads; every public method is a tool."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from echo_core.passages import FoundPassage
    from echo_runtime.document_index import DocumentIndex

Given = dict[str, Any] | None

#: The most passages that one search gives. Source: our choice, some 6,000 tokens.
MOST: Final = 20
_USUAL: Final = 8


class SearchToolkit:
    """The session memory of whoever asks.

    Args:
        index: gives that of the running server; called for each use.
    """

    def __init__(self, index: "Callable[[], DocumentIndex]") -> None:
        self._index = index

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

        async def work() -> Any:
            found = await self._index().search(
                _id(__user__),
                str(query),
                chat_id=str((__metadata__ or {}).get("chat_id") or ""),
                document_id=str(id or "").strip(),
                kinds=(DOCUMENT_KIND,),
                limit=_bounded(limit),
            )
            return await _told(found, __event_emitter__)

        return await _answer(work, __metadata__)

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

        async def work() -> Any:
            return await _told(
                await self._index().search(_id(__user__), str(query), limit=_bounded(limit)), __event_emitter__
            )

        return await _answer(work, __metadata__)


async def _answer(work: Callable[[], Any], metadata: Given) -> Any:
    from echo_codex_git.answers import answer

    return await answer(work(), metadata)


def _id(user: Given) -> str:
    return str((user or {}).get("id") or "")


def _bounded(limit: Any) -> int:
    try:
        return max(1, min(MOST, int(limit)))
    except (TypeError, ValueError):
        return _USUAL


async def _told(found: "Sequence[FoundPassage]", emit: Any) -> Any:
    """The passages for the model, each also shown in the page as a source."""
    for one in found:
        if emit is not None:
            await emit(_source(one))
    return {
        "passages": [
            {
                "text": one.passage.text,
                "kind": one.passage.kind,
                "name": _name(one),
                "id": one.passage.source_id,
                "place": one.passage.meta.get("place", ""),
                "chat": one.passage.chat_id,
            }
            for one in found
        ]
    }


def _source(found: "FoundPassage") -> dict[str, Any]:
    """A passage as Open WebUI's page shows where an answer comes from."""
    name = " · ".join(str(part) for part in (_name(found), found.passage.meta.get("place")) if part)
    return {
        "type": "source",
        "data": {
            "source": {"id": found.passage.passage_id, "name": name},
            "document": [found.passage.text[:1_000]],
            "metadata": [{"source": found.passage.source_id, "name": name}],
        },
    }


def _name(found: "FoundPassage") -> str:
    return str(found.passage.meta.get("name") or found.passage.source_id)
