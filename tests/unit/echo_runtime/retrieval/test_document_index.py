import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from echo_core.passages import SESSION_RAG, PassageFilter
from echo_memory import EdgeEngine, PassageStore
from echo_memory.chunks import Stretch
from echo_runtime.document_index import DocumentIndex, Indexable
from echo_runtime.search_tools import SearchToolkit
from passage_kit import WordEmbedder, passage

PAGES = ["Le verger compte douze pommiers. " * 30, "La grange abrite un tracteur rouge. " * 30]
TEXT = "\n\n".join(PAGES)
STRETCHES = (Stretch(0, len(PAGES[0]), "page 1"), Stretch(len(PAGES[0]), len(TEXT), "page 2"))
FARM = Indexable(document_id="farm", name="ferme.pdf", text=TEXT, stretches=STRETCHES)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[PassageStore]:
    store = PassageStore(EdgeEngine(tmp_path), WordEmbedder())
    yield store
    await store.close()


@pytest.fixture
def index(store: PassageStore) -> DocumentIndex:
    return DocumentIndex(lambda: store)


def asked(user_id: str = "ada", chat_id: str = "c1") -> dict[str, object]:
    return {"__user__": {"id": user_id}, "__metadata__": {"chat_id": chat_id}}


async def test_a_passage_is_found_with_its_place_while_the_document_is_still_indexed(index: DocumentIndex) -> None:
    index.soon("ada", "c1", FARM)
    told = await SearchToolkit(lambda: index).search_documents("tracteur rouge", limit=1, **asked())
    (one,) = told["passages"]
    assert "tracteur" in one["text"]
    assert (one["name"], one["id"], one["place"], one["chat"]) == ("ferme.pdf", "farm", "page 2", "c1")


async def test_what_was_cut_off_goes_on_and_nothing_is_embedded_twice(
    store: PassageStore, index: DocumentIndex
) -> None:
    count = await index.take("ada", "c1", FARM)
    mine = store.of("ada", SESSION_RAG)
    await mine.delete(PassageFilter(passage_ids=("c1/farm/1",)))
    embedder = store.embedder
    assert isinstance(embedder, WordEmbedder)
    before = len(embedder.embedded)
    assert await index.take("ada", "c1", FARM) == count == await mine.count()
    assert len(embedder.embedded) - before == 1
    index.soon("ada", "c1", FARM)
    index.soon("ada", "c1", FARM)
    await index.search("ada", "verger", limit=1)
    assert await mine.count() == count


async def test_a_document_is_told_once_when_all_of_it_can_be_searched(store: PassageStore) -> None:
    told: list[tuple[str, str]] = []

    async def tell(chat_id: str, document: Indexable) -> None:
        told.append((chat_id, document.name))

    index = DocumentIndex(lambda: store, tell)
    for chat_id, document in (
        ("c1", FARM),
        ("c1", FARM),
        ("c2", FARM),
        ("c1", replace(FARM, document_id="long", whole=False)),
    ):
        index.soon("ada", chat_id, document)
        await index.search("ada", "verger", limit=1)
    assert told == [("c1", "ferme.pdf"), ("c2", "ferme.pdf")]


async def test_a_temporary_chat_leaves_nothing(store: PassageStore, index: DocumentIndex) -> None:
    for chat_id in ("temporary:x", "local:x", ""):
        index.soon("ada", chat_id, FARM)
    assert await store.of("ada", SESSION_RAG).count() == 0


async def test_the_tools_reach_the_own_chats_only(store: PassageStore, index: DocumentIndex) -> None:
    await index.take("ada", "c1", FARM)
    await store.of("ada", SESSION_RAG).put([passage("t", "le tracteur est en panne", kind="turn", chat_id="c2")])
    tools = SearchToolkit(lambda: index)

    async def texts(tool: str, user_id: str, chat_id: str, **more: object) -> set[str]:
        told = await getattr(tools, tool)("tracteur", **asked(user_id, chat_id), **more)
        return {one["chat"] for one in told["passages"]}

    assert await texts("search_documents", "ada", "c1") == {"c1"}
    assert await texts("search_documents", "ada", "c2") == set()
    assert await texts("search_session", "ada", "c3") == {"c1", "c2"}
    for tool in ("search_documents", "search_session"):
        for chat_id in ("c1", "c2"):
            assert await texts(tool, "eve", chat_id) == set()
    assert await texts("search_documents", "eve", "c1", id="farm") == set()
    nobody = await tools.search_documents("tracteur", __user__={}, __metadata__={"chat_id": "c1"})
    assert nobody["error"]["code"] == "vector_tenant"


async def test_sources_are_shown_and_odd_limits_are_bounded(index: DocumentIndex) -> None:
    await index.take("ada", "c1", FARM)
    shown: list[dict[str, object]] = []

    async def emit(event: dict[str, object]) -> None:
        shown.append(event)

    tools = SearchToolkit(lambda: index)
    told = await tools.search_documents("verger", limit="many", __event_emitter__=emit, **asked())  # type: ignore[arg-type]
    assert len(shown) == len(told["passages"]) > 0
    assert shown[0]["data"]["source"]["name"].startswith("ferme.pdf · page 1")  # type: ignore[index]
    for limit in (-3, 0, 1, 999):
        assert 1 <= len((await tools.search_documents("verger", limit=limit, **asked()))["passages"]) <= 20
    await asyncio.gather(*(tools.search_session("", **asked()) for _ in range(2)))
