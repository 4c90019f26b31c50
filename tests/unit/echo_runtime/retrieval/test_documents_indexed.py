"""A document of a question, from its bytes to what the search tool tells."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from document_files import pdf_file
from echo_memory import EdgeEngine, PassageStore
from echo_paths import EchoPaths
from echo_runtime import PipeCall
from echo_runtime.document_desk import DocumentDesk, DocumentReader
from echo_runtime.document_index import DocumentIndex
from echo_runtime.search_tools import SearchToolkit
from passage_kit import WordEmbedder

BARN = "La grange abrite un tracteur rouge."
PDF = pdf_file(*(BARN if n == 7 else f"Le verger {n} compte des pommiers." for n in range(1, 10)))


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[DocumentIndex]:
    store = PassageStore(EdgeEngine(tmp_path / "vectors"), WordEmbedder())
    yield DocumentIndex(lambda: store)
    await store.close()


async def found(
    index: DocumentIndex, folder: Path, *, keeps: bool = True, chat_id: str = "c1", file_id: str = ""
) -> list[dict[str, Any]]:
    """The sources that a search shows after a question with the document, of which the message holds a preview."""
    desk = DocumentDesk(EchoPaths(folder / "echo"), index=index)
    metadata = {"chat_id": chat_id, "user_message_id": "m1"}
    call = PipeCall(body={}, user={"id": "ada"}, metadata=metadata, valves=SimpleNamespace(), tools={})
    reader = DocumentReader(call, desk, keeps=keeps)
    opened = await reader.open(PDF, name="ferme.pdf", mime_type="application/pdf", file_id=file_id, chars=50)
    await reader.preview(opened, "ferme.pdf")
    shown: list[dict[str, Any]] = []

    async def emit(event: dict[str, Any]) -> None:
        shown.append(event["data"])

    tools = SearchToolkit(lambda: index, lambda: desk)
    told = await tools.search_documents("tracteur rouge", "", 1, {"id": "ada"}, metadata, emit)
    assert len(told["passages"]) == len(shown)
    return shown


async def test_a_passage_of_a_previewed_document_opens_its_file_at_its_page(
    index: DocumentIndex, tmp_path: Path
) -> None:
    (shown,) = await found(index, tmp_path, file_id="upload-1")
    assert BARN in shown["document"][0]
    assert shown["metadata"][0] | {"source": ""} == {
        "source": "",
        "name": "ferme.pdf · page 7",
        "file_id": "upload-1",
        "page": 6,
    }


async def test_what_may_not_be_kept_is_not_indexed(index: DocumentIndex, tmp_path: Path) -> None:
    assert await found(index, tmp_path, chat_id="temporary:x") == []
    assert await found(index, tmp_path, keeps=False) == []


async def test_indexing_that_was_cut_off_goes_on_after_a_restart_while_its_chat_lives(
    index: DocumentIndex, tmp_path: Path
) -> None:
    paths = EchoPaths(tmp_path / "echo")
    before = DocumentDesk(paths)
    document = await before.library("ada").take(hashlib.sha256(PDF).hexdigest(), PDF, "ferme.pdf")
    for chat_id in ("c1", "gone"):
        await before.library("ada").note_indexing(document.id, chat_id, "ferme.pdf")

    async def owner_of(chat_id: str) -> str | None:
        return {"c1": "ada"}.get(chat_id)

    desk = DocumentDesk(paths, index=index)
    assert await desk.resume(owner_of) == 1
    assert await index.search("ada", "tracteur rouge", chat_id="c1", limit=1)
    assert await index.search("ada", "tracteur rouge", chat_id="gone", limit=1) == ()
    assert await desk.resume(owner_of) == 0
