"""Documents in a message: whole or as a preview, told when they cannot be read, and nobody else's."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attached_files import entry
from document_files import csv_file, docx_file, pdf_file, xlsx_file
from echo_aec import parse_artifact
from echo_paths import EchoPaths
from echo_protocol import Part
from echo_runtime import PipeCall, _owui_files
from echo_runtime._owui_files import UploadedFile
from echo_runtime.attachments import Attachments
from echo_runtime.document_desk import DocumentDesk, DocumentReader
from echo_runtime.document_tools import DocumentToolkit
from echo_runtime.vaults import Vaults
from echo_state_manager.crypto import MasterSecret
from store_kit import SECRET

Upload = Callable[..., dict[str, Any]]
LONG = [("Who", "Amount"), *((f"p{i}", i) for i in range(5_000))]


@pytest.fixture
def upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Upload:
    """Puts a file into Open WebUI's table, which is played, and returns its entry in a message."""
    table: dict[str, UploadedFile] = {}

    async def uploaded_file(file_id: str, user: Any) -> UploadedFile | None:
        return table.get(file_id)

    def put(name: str, data: bytes) -> dict[str, Any]:
        path = tmp_path / f"upload-{len(table)}"
        path.write_bytes(data)
        table[path.name] = UploadedFile(name=name, path=path, size_bytes=len(data), declared_type="", text="")
        return entry(path.name, name)

    monkeypatch.setattr(_owui_files, "uploaded_file", uploaded_file)
    return put


@pytest.fixture
def desk(tmp_path: Path) -> DocumentDesk:
    return DocumentDesk(EchoPaths(tmp_path / "echo"))


def attachments(
    desk: DocumentDesk, *, keeps: bool = True, language: str = "en-US", user: str = "ada", encrypts: bool = False
) -> Attachments:
    metadata = {"variables": {"{{USER_LANGUAGE}}": language}}
    call = PipeCall(
        body={}, user={"id": user}, metadata=metadata, valves=SimpleNamespace(ENCRYPT_RECORDS=encrypts), tools={}
    )
    return Attachments(call, desk.vaults.of(call) if keeps else None, DocumentReader(call, desk, keeps=keeps))


def texts(parts: list[Part]) -> list[str]:
    return [str(part.wire.get("text")) for part in parts]


async def test_a_short_document_stands_in_the_message_whole(upload: Upload, desk: DocumentDesk) -> None:
    words, document = texts(
        await attachments(desk).parts("Sum up", [upload("Bilan.docx", docx_file(("Bilan", "Tout va bien.")))])
    )
    assert words == "Sum up"
    assert document.startswith('<attached_file name="Bilan.docx">\n# Bilan\n\nTout va bien.')


async def test_a_long_table_is_a_preview_before_the_words_and_the_tools_read_it(
    upload: Upload, desk: DocumentDesk
) -> None:
    preview, words = texts(await attachments(desk).parts("Sum?", [upload('a"<.xlsx', xlsx_file({"S": LONG}))]))
    assert words == "Sum?"
    artifact = parse_artifact(preview)
    assert artifact.id == "AEC_smart_context"
    assert artifact.attributes["name"] == 'a"<.xlsx'
    assert "5000 rows" in artifact.text
    document_id = artifact.attributes["document"]
    told: list[Any] = []

    async def emit(event: Any) -> None:
        told.append(event)

    tools = DocumentToolkit(lambda: desk)
    ada = {"id": "ada"}
    found = await tools.query_table(document_id, 'SELECT sum("Amount") FROM "S"', ada, None, emit)
    assert found["rows"] == [[12_497_500]]
    rows = await tools.read_document(document_id, "sheet S rows 10-12", ada, None, emit)
    assert rows["rows"] == [[10, "p8", 8], [11, "p9", 9], [12, "p10", 10]]
    assert [event["data"]["source"]["name"] for event in told] == ['a"<.xlsx', 'a"<.xlsx · sheet S rows 10-12']


async def test_the_same_message_gives_the_same_parts(upload: Upload, desk: DocumentDesk) -> None:
    files = [upload("a.csv", csv_file(LONG)), upload("b.pdf", pdf_file("One"))]
    first = await attachments(desk).parts("?", files)
    assert await attachments(desk).parts("?", files) == first


@pytest.mark.parametrize("whose", ["bob", "../ada", "ada/../ada", "", "ADA"])
async def test_a_document_is_its_owners_only(upload: Upload, desk: DocumentDesk, whose: str) -> None:
    [preview, _] = texts(await attachments(desk).parts("?", [upload("secret.csv", csv_file(LONG))]))
    document_id = parse_artifact(preview).attributes["document"]
    tools = DocumentToolkit(lambda: desk)
    for crafted in (document_id, f"../../ada/files/{document_id}", f"*{document_id[1:]}", document_id[:2], "*" * 16):
        try:
            read = await tools.read_document(crafted, "", {"id": whose})
        except Exception as error:  # an id that is no user's is refused outright
            assert type(error).__name__ == "UnsafeIdError"
            continue
        assert read["error"]["code"] == "document_missing"
        assert (await tools.query_table(crafted, "SELECT 1", {"id": whose}))["error"]["code"] == "document_missing"


async def test_where_nothing_may_be_kept_a_document_is_read_and_forgotten(
    upload: Upload, desk: DocumentDesk, tmp_path: Path
) -> None:
    parts = texts(await attachments(desk, keeps=False).parts("?", [upload("a.csv", csv_file(LONG))]))
    assert "| p8 | 8 |" in parts[1]
    assert "artifact" not in json.dumps(parts)
    assert not (tmp_path / "echo").exists()


async def test_a_broken_document_is_told_in_the_users_language(upload: Upload, desk: DocumentDesk) -> None:
    reader = attachments(desk, language="fr-FR")
    broken = docx_file(("a", "b"))[:-200]
    parts = texts(await reader.parts("?", [upload("rapport.docx", broken)]))
    assert "rapport.docx est endommagé" in parts[1]
    assert "rapport.docx est endommagé" in reader.notices[0].render("fr")


async def test_a_document_as_a_data_uri_is_read_too(desk: DocumentDesk) -> None:
    data = base64.b64encode(docx_file(("H", "inside"))).decode()
    item = {"type": "image_url", "image_url": {"url": f"data:application/octet-stream;base64,{data}"}}
    assert "inside" in texts(await attachments(desk).parts([item]))[0]


def encrypting(tmp_path: Path, secret: str = SECRET.value) -> DocumentDesk:
    paths = EchoPaths(tmp_path / "echo")
    return DocumentDesk(paths, Vaults(paths, MasterSecret("ECHO_SECRET_KEY", secret)))


async def test_an_encrypted_document_is_read_and_asked_and_tells_nothing_on_the_disk(
    upload: Upload, tmp_path: Path
) -> None:
    reader = attachments(encrypting(tmp_path), encrypts=True, language="fr-FR")
    [preview, _] = texts(await reader.parts("?", [upload("a.csv", csv_file(LONG))]))
    assert "search_documents" not in preview
    assert "chiffré" in reader.notices[0].render("fr")
    document_id = parse_artifact(preview).attributes["document"]
    tools, ada = DocumentToolkit(lambda: encrypting(tmp_path)), {"id": "ada"}
    found = await tools.query_table(document_id, 'SELECT sum("Amount") FROM "a"', ada)
    assert found["rows"] == [[12_497_500]]
    assert "| p8 | 8 |" in (await tools.read_document(document_id, "0-2000", ada))["text"]
    kept = [path for path in (tmp_path / "echo").rglob("*") if path.is_file()]
    assert {path.name for path in kept} >= {"facts.json.sealed", "text.md.sealed", "tables.duckdb.sealed"}
    assert not any(b"p4321" in path.read_bytes() or b"Amount" in path.read_bytes() for path in kept)
    stranger = DocumentToolkit(lambda: encrypting(tmp_path, "another secret"))
    assert (await stranger.read_document(document_id, "", ada))["error"]["code"] == "document_missing"


async def test_a_document_that_was_kept_in_the_clear_is_encrypted_when_it_comes_again(
    upload: Upload, tmp_path: Path
) -> None:
    desk, file = encrypting(tmp_path), upload("a.csv", csv_file(LONG))
    await attachments(desk).parts("?", [file])
    [text] = (tmp_path / "echo").rglob("text.md")
    plain = text.read_bytes()
    [preview, _] = texts(await attachments(desk, encrypts=True).parts("?", [file]))
    assert not text.exists()
    document_id = parse_artifact(preview).attributes["document"]
    library = desk.library("ada")
    for start, end in ((0, 10), (70_000, 70_100), (60_000, 140_000)):
        assert await library.text(document_id, start, end) == plain.decode()[start:end]
    # Switched off again, it stays readable.
    again, _ = texts(await attachments(desk).parts("?", [file]))
    assert parse_artifact(again).attributes["document"] == document_id
