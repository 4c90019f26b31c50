import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from echo_constants import EchoError, UpstreamError
from echo_core.passages import SESSION_RAG, Passage, PassageFilter, Vector
from echo_memory import EdgeEngine, PassageStore
from echo_memory.chunks import Stretch
from echo_paths import EchoPaths
from echo_runtime import document_index
from echo_runtime.document_desk import DocumentDesk
from echo_runtime.document_index import DocumentIndex, Indexable
from echo_runtime.search_tools import SearchToolkit
from passage_kit import WordEmbedder, indexable, passage

PAGES = ["Le verger compte douze pommiers. " * 30, "La grange abrite un tracteur rouge. " * 30]
TEXT = "\n\n".join(PAGES)
STRETCHES = (Stretch(0, len(PAGES[0]), "page 1"), Stretch(len(PAGES[0]), len(TEXT), "page 2"))


FARM = indexable("farm", "ferme.pdf", TEXT, stretches=STRETCHES)


def tools_of(index: DocumentIndex, folder: Path) -> SearchToolkit:
    desk = DocumentDesk(EchoPaths(folder), index=index)
    return SearchToolkit(lambda: index, lambda: desk)


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


async def test_a_passage_is_found_with_its_place_while_the_document_is_still_indexed(
    index: DocumentIndex, tmp_path: Path
) -> None:
    index.soon("ada", "c1", FARM)
    told = await tools_of(index, tmp_path).search_documents("tracteur rouge", limit=1, **asked())
    (one,) = told["passages"]
    assert "tracteur" in one["text"]
    assert (one["name"], one["id"], one["place"], one["chat"]) == ("ferme.pdf", "farm", "page 2", "c1")


async def test_what_was_cut_off_goes_on_and_nothing_is_embedded_twice(
    store: PassageStore, index: DocumentIndex
) -> None:
    await index.take("ada", "c1", FARM)
    mine = store.of("ada", SESSION_RAG)
    count = await mine.count()
    await mine.delete(PassageFilter(passage_ids=("c1/farm/1",)))
    embedder = store.embedder
    assert isinstance(embedder, WordEmbedder)
    before = len(embedder.embedded)
    assert await index.take("ada", "c1", FARM) == 1
    assert await mine.count() == count
    assert len(embedder.embedded) - before == 1
    index.soon("ada", "c1", FARM)
    index.soon("ada", "c1", FARM)
    await index.search("ada", "verger", limit=1)
    assert await mine.count() == count


async def test_a_document_is_told_once_when_all_of_it_can_be_searched(
    store: PassageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_index, "MOST_INDEXED_CHARS", len(TEXT))
    told: list[tuple[str, str]] = []

    async def tell(chat_id: str, document: Indexable, error: EchoError | None) -> None:
        assert error is None
        told.append((chat_id, document.name))

    index = DocumentIndex(lambda: store, tell)
    for chat_id, document in (
        ("c1", FARM),
        ("c1", FARM),
        ("c2", FARM),
        ("c1", indexable("long", "long.pdf", TEXT + " Et puis ?")),
    ):
        index.soon("ada", chat_id, document)
        await index.search("ada", "verger", limit=1)
    assert told == [("c1", "ferme.pdf"), ("c2", "ferme.pdf")]


async def test_a_document_that_cannot_be_indexed_is_told_with_the_reason(tmp_path: Path) -> None:
    class Away(WordEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
            raise UpstreamError("away")

    told: list[tuple[str, str, type[EchoError]]] = []

    async def tell(chat_id: str, document: Indexable, error: EchoError | None) -> None:
        told.append((chat_id, document.name, type(error)))  # type: ignore[arg-type]

    store = PassageStore(EdgeEngine(tmp_path), Away())
    index = DocumentIndex(lambda: store, tell)
    index.soon("ada", "c1", FARM)
    await index.search("ada", "verger", limit=1)
    assert told == [("c1", "ferme.pdf", UpstreamError)]
    await store.close()


async def test_a_temporary_chat_leaves_nothing(store: PassageStore, index: DocumentIndex) -> None:
    for chat_id in ("temporary:x", "local:x", ""):
        index.soon("ada", chat_id, FARM)
    assert await store.of("ada", SESSION_RAG).count() == 0


async def test_the_tools_reach_the_own_chats_only(store: PassageStore, index: DocumentIndex, tmp_path: Path) -> None:
    await index.take("ada", "c1", FARM)
    await store.of("ada", SESSION_RAG).put([passage("t", "le tracteur est en panne", kind="turn", chat_id="c2")])
    tools = tools_of(index, tmp_path)

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


async def test_sources_are_shown_and_odd_limits_are_bounded(index: DocumentIndex, tmp_path: Path) -> None:
    await index.take("ada", "c1", FARM)
    shown: list[dict[str, object]] = []

    async def emit(event: dict[str, object]) -> None:
        shown.append(event)

    tools = tools_of(index, tmp_path)
    told = await tools.search_documents("verger", limit="many", __event_emitter__=emit, **asked())  # type: ignore[arg-type]
    assert len(shown) == len(told["passages"]) > 0
    assert shown[0]["data"]["source"]["name"].startswith("ferme.pdf · page 1")  # type: ignore[index]
    for limit in (-3, 0, 1, 999):
        assert 1 <= len((await tools.search_documents("verger", limit=limit, **asked()))["passages"]) <= 20
    await asyncio.gather(*(tools.search_session("", **asked()) for _ in range(2)))


@pytest.mark.parametrize("window_chars", [1_500, 4_000, 131_072])
async def test_a_long_document_is_cut_in_windows_and_all_of_it_is_found(
    store: PassageStore, index: DocumentIndex, monkeypatch: pytest.MonkeyPatch, window_chars: int
) -> None:
    monkeypatch.setattr(document_index, "WINDOW_CHARS", window_chars)
    text = "\n\n".join(f"Le lot {n} pèse {n * 7} kilos et part au quai numéro {n}." * 3 for n in range(120))
    half = len(text) // 2
    pages = (Stretch(0, half, "page 1"), Stretch(half, len(text), "page 2"))
    await index.take("ada", "c1", indexable("lots", "lots.pdf", text, stretches=pages))
    kept: list[Passage] = []
    page = await store.of("ada", SESSION_RAG).scan()
    kept += page.passages
    assert page.after is None
    kept.sort(key=lambda one: one.position)
    assert [one.position for one in kept] == list(range(len(kept)))
    assert "".join("".join(one.text.split()) for one in kept) == "".join(text.split())
    for one in kept:
        start, end = int(one.meta["start"]), int(one.meta["end"])
        assert text[start:end] == one.text
        assert one.meta["place"] == ("page 1" if end <= half else "page 2")


async def test_what_lies_behind_the_reach_is_not_embedded(
    store: PassageStore, index: DocumentIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_index, "MOST_INDEXED_CHARS", len(PAGES[0]))
    await index.take("ada", "c1", FARM)
    page = await store.of("ada", SESSION_RAG).scan()
    assert page.passages
    assert all("tracteur" not in one.text for one in page.passages)


async def test_a_chat_that_goes_stops_its_indexing_and_leaves_nothing(
    store: PassageStore, index: DocumentIndex
) -> None:
    reading, go_on = asyncio.Event(), asyncio.Event()

    async def read(start: int, end: int) -> str:
        reading.set()
        await go_on.wait()
        return TEXT[start:end]

    index.soon("ada", "c1", Indexable(document_id="farm", name="ferme.pdf", chars=len(TEXT), read=read))
    await asyncio.wait_for(reading.wait(), 5)
    (work,) = index.in_work("ada", "c1")
    assert (work.document.document_id, work.reached_chars) == ("farm", 0)
    assert index.in_work("eve") == index.in_work("ada", "c2") == []
    forgotten = asyncio.create_task(index.forget(chat_id="c1"))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait_for(forgotten, 5)
    assert index.in_work("ada") == []
    assert await store.of("ada", SESSION_RAG).count() == 0
