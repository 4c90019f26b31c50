"""Every kind of document gives its text, and says where in it what stands."""

import pytest

from document_files import docx_file, eml_file, epub_file, pdf_file, pptx_file, xlsx_file, zip_file
from echo_ingestion import BadRange, DocumentLibrary, span_of
from unit.echo_ingestion.conftest import ReadHere, Take


async def read(library: DocumentLibrary, document_id: str, told: str) -> str:
    span = span_of(await library.find(document_id), told)
    return await library.text(document_id, span.start, span.end)


async def test_a_word_document_is_read_by_section(take: Take, library: DocumentLibrary) -> None:
    document = await take("misnamed.pdf", docx_file(("Résumé", "Tout va bien."), ("Budget", "Mille euros.")))
    assert document.kind == "docx"
    assert [section.title for section in document.sections] == ["Résumé", "Budget"]
    said = await read(library, document.id, "section 2")
    assert "Mille euros." in said
    assert "Tout va bien." not in said
    assert said == await read(library, document.id, 'section "budget"')


async def test_a_pdf_is_read_by_page_and_scanned_pages_are_told(take: Take, library: DocumentLibrary) -> None:
    document = await take("a.pdf", pdf_file("First page here", "", "Third page here, with words"))
    assert [section.scanned for section in document.sections] == [False, True, False]
    assert "1 of 3 pages are pictures" in document.notes[0]
    assert (await read(library, document.id, "page 3")).strip() == "Third page here, with words"
    assert "First" in await read(library, document.id, "pages 1-2")
    with pytest.raises(BadRange):
        span_of(document, "page 4")


async def test_a_presentation_is_read_by_slide(take: Take, library: DocumentLibrary) -> None:
    document = await take("a.pptx", pptx_file(("Start", "Hello"), ("End", "Goodbye")))
    assert [section.title for section in document.sections] == ["Start", "End"]
    assert "Goodbye" in await read(library, document.id, "slide 2")
    assert "Goodbye" not in await read(library, document.id, "slide 1")


async def test_books_mails_pages_and_archives_give_their_text(take: Take, library: DocumentLibrary) -> None:
    book = await take("a.epub", epub_file(("One", "It was dark."), ("Two", "It was light.")))
    assert "It was light." in await read(library, book.id, "section 2")
    mail = await take(
        "a.eml", eml_file("Bonjour à tous", {"note.txt": b"inner note", "d.docx": docx_file(("H", "deep"))})
    )
    said = await read(library, mail.id, "")
    assert all(words in said for words in ("Subject: Réunion", "Bonjour à tous", "inner note", "deep"))
    page = await take(
        "a.html", b"<!doctype html><title>t</title><h1>Top</h1><p>Words <b>here</b></p><script>evil()</script>"
    )
    said = await read(library, page.id, "")
    assert "# Top" in said
    assert "evil" not in said
    packed = await take(
        "a.zip", zip_file({"x/readme.md": "# Read me\nplease", "s.xlsx": xlsx_file({"S": [("a", "b"), (1, 2)]})})
    )
    said = await read(library, packed.id, "")
    assert "please" in said
    assert packed.tables[0].rows == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-32"])
def test_text_of_any_encoding_is_read(read_here: ReadHere, encoding: str) -> None:
    _, text = read_here("a.txt", ("Élève à l'école, où l'été naît. " * 40).encode(encoding))
    assert text.startswith("Élève à l'école, où l'été naît.")


@pytest.mark.parametrize("encoding", ["cp1251", "shift_jis", "big5", "euc_kr"])
def test_text_of_other_scripts_is_read(read_here: ReadHere, encoding: str) -> None:
    said = {
        "cp1251": "Съешь же ещё этих мягких французских булок, да выпей чаю. ",
        "shift_jis": "いろはにほへと ちりぬるを わかよたれそ つねならむ。",
        "big5": "天地玄黃宇宙洪荒日月盈昃辰宿列張。",
        "euc_kr": "다람쥐 헌 쳇바퀴에 타고파 하는 사람들이 많다. ",
    }[encoding]
    _, text = read_here("a.txt", (said * 20).encode(encoding))
    assert text.startswith(said.strip())
