"""A document of a question, from its bytes to what the search tool tells."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from document_files import docx_file
from echo_memory import EdgeEngine, PassageStore
from echo_paths import EchoPaths
from echo_runtime import PipeCall
from echo_runtime.document_desk import DocumentDesk, DocumentReader
from echo_runtime.document_index import DocumentIndex
from echo_runtime.search_tools import SearchToolkit
from passage_kit import WordEmbedder

BARN = "La grange abrite un tracteur rouge."
DOCX = docx_file(*((f"Chapitre {n}", BARN if n == 7 else f"Le verger {n} compte des pommiers.") for n in range(1, 10)))


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[DocumentIndex]:
    store = PassageStore(EdgeEngine(tmp_path / "vectors"), WordEmbedder())
    yield DocumentIndex(lambda: store)
    await store.close()


async def found(
    index: DocumentIndex, tmp_path: Path, *, chars: int, chat_id: str = "c1", keeps: bool = True
) -> list[str]:
    """Names and places of what is found after a question with the document."""
    desk = DocumentDesk(EchoPaths(tmp_path / "echo"), index=index)
    metadata = {"chat_id": chat_id}
    call = PipeCall(body={}, user={"id": "ada"}, metadata=metadata, valves=SimpleNamespace(), tools={})
    await DocumentReader(call, desk, keeps=keeps).open(
        DOCX, name="ferme.docx", mime_type="application/octet-stream", file_id="", chars=chars
    )
    told = await SearchToolkit(lambda: index).search_documents(
        "tracteur rouge", __user__={"id": "ada"}, __metadata__=metadata
    )
    return [f"{one['name']} {one['place']}" for one in told["passages"]]


async def test_a_document_that_the_message_does_not_hold_whole_is_found_at_its_place(
    index: DocumentIndex, tmp_path: Path
) -> None:
    assert await found(index, tmp_path, chars=50) == ["ferme.docx section 7"]


async def test_what_stands_in_the_message_or_may_not_be_kept_is_not_indexed(
    index: DocumentIndex, tmp_path: Path
) -> None:
    assert await found(index, tmp_path, chars=100_000) == []
    assert await found(index, tmp_path, chars=50, chat_id="temporary:x") == []
    assert await found(index, tmp_path, chars=50, keeps=False) == []
