"""Files that are broken, locked, made to do harm or nothing at all: each ends in a clear message."""

import io
import os
import zipfile
from collections.abc import Callable

import pytest

from attached_files import pdf
from document_files import csv_file, docx_file, eml_file, epub_file, pdf_file, pptx_file, xlsx_file, zip_file
from echo_ingestion import Converter, DocumentError, DocumentLibrary, Limits
from echo_ingestion._child.fail import Refused
from echo_ingestion.errors import BY_CODE, HeavyDocument, SlowDocument
from unit.echo_ingestion.conftest import ReadHere

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
DOCX, XLSX, PPTX = docx_file(("H", "text")), xlsx_file({"S": [("a", 1), ("b", 2)]}), pptx_file(("T", "x"))
EPUB, PDF = epub_file(("One", "text")), pdf_file("Some words on a page")


def member(data: bytes, name: str, content: bytes | None) -> bytes:
    """A packed file with one member replaced, or left out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for info in given.infolist():
            if info.filename != name:
                made.writestr(info.filename, given.read(info))
            elif content is not None:
                made.writestr(name, content)
    return out.getvalue()


def locked_zip() -> bytes:
    """An archive whose flags say that it is encrypted."""
    data = bytearray(zip_file({"a.txt": "x"}))
    data[6] |= 1
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    return bytes(data)


def bomb() -> bytes:
    """200 MB of zeros in 200 kB."""
    return zip_file({f"{n}.txt": bytes(20_000_000) for n in range(10)})


def overlapping() -> bytes:
    """Members that share their bytes, as in the quine-like bombs."""
    data = zip_file({"a": os.urandom(5_000)})
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    record, tail = data[start:end], bytearray(data[end:])
    tail[8:12] = (100).to_bytes(2, "little") * 2
    tail[12:16] = (len(record) * 100).to_bytes(4, "little")
    return data[:start] + record * 100 + bytes(tail)


XXE = (
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><w:document xmlns:w='
    b'"http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&x;</w:t></w:r></w:p>'
    b"</w:body></w:document>"
)
LOL = (
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><a>&c;</a>'
)
ODT = {"mimetype": "application/vnd.oasis.opendocument.text"}

REFUSED: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "nothing": ("a.txt", lambda: b"", "document_empty"),
    "only spaces": ("a.txt", lambda: b" \n\t \r\n", "document_empty"),
    "only zeros": ("a.bin", lambda: bytes(5_000), "document_empty"),
    "only a mark": ("a.txt", lambda: b"\xef\xbb\xbf", "document_empty"),
    "noise": ("a.docx", lambda: bytes(range(128, 256)) * 40 + b"\x00\x01", "document_unknown_type"),
    "a program": ("a.pdf", lambda: b"\x7fELF" + bytes(range(256)), "document_unknown_type"),
    "a Windows program": ("a.docx", lambda: b"MZ" + bytes(range(256)), "document_unknown_type"),
    "RTF": ("a.doc", lambda: rb"{\rtf1 hello}", "document_unknown_type"),
    "7-Zip": ("a.zip", lambda: b"7z\xbc\xaf\x27\x1c" + bytes(99), "document_unknown_type"),
    "RAR": ("a.zip", lambda: b"Rar!\x1a\x07\x01" + bytes(99), "document_unknown_type"),
    "gzip": ("a.csv", lambda: b"\x1f\x8b\x08" + bytes(99), "document_unknown_type"),
    "bzip2": ("a.csv", lambda: b"BZh91AY" + bytes(range(99)), "document_unknown_type"),
    "xz": ("a.csv", lambda: b"\xfd7zXZ\x00" + bytes(range(99)), "document_unknown_type"),
    "SQLite": ("a.xlsx", lambda: b"SQLite format 3\x00" + bytes(99), "document_unknown_type"),
    "Parquet": ("a.csv", lambda: b"PAR1" + bytes(range(99)), "document_unknown_type"),
    "a picture": ("a.docx", lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(99)), "document_unknown_type"),
    "sound": ("a.csv", lambda: b"ID3" + bytes(range(99)), "document_unknown_type"),
    "a ZIP's beginning": ("a.docx", lambda: b"PK\x03\x04" + bytes(range(99)), "document_damaged"),
    "a cut Word file": ("a.docx", lambda: DOCX[: len(DOCX) // 2], "document_damaged"),
    "a cut workbook": ("a.xlsx", lambda: XLSX[:-100], "document_damaged"),
    "a cut presentation": ("a.pptx", lambda: PPTX[: len(PPTX) // 3], "document_damaged"),
    "a cut book": ("a.epub", lambda: EPUB[:-60], "document_damaged"),
    "an empty archive": ("a.zip", lambda: zip_file({}), "document_empty"),
    "a locked archive": ("a.zip", locked_zip, "document_locked"),
    "a bomb": ("a.zip", bomb, "document_bomb"),
    "a bomb in a Word file": ("a.docx", lambda: zip_file({"word/document.xml": bytes(200_000_000)}), "document_bomb"),
    "overlapping members": ("a.zip", overlapping, "document_bomb"),
    "too many members": ("a.zip", lambda: zip_file({str(n): "" for n in range(10_001)}), "document_bomb"),
    "Office without a document": ("a.docx", lambda: zip_file({"[Content_Types].xml": "<x/>"}), "document_damaged"),
    "Word without words": ("a.docx", lambda: member(DOCX, "word/document.xml", b"no xml"), "document_damaged"),
    "Word without relations": ("a.docx", lambda: member(DOCX, "_rels/.rels", b"<"), "document_damaged"),
    "Word that asks for a file": ("a.docx", lambda: member(DOCX, "word/document.xml", XXE), "document_damaged"),
    "zeros in a table": ("a.csv", lambda: b"a,b\n1,\x00\x002\n", "document_unknown_type"),
    "a workbook without sheets": ("a.xlsx", lambda: member(XLSX, "xl/workbook.xml", b"<workbook/>"), "document_empty"),
    "a workbook of nonsense": ("a.xlsx", lambda: member(XLSX, "xl/workbook.xml", b"<<<"), "document_damaged"),
    "a presentation of nonsense": (
        "a.pptx", lambda: member(PPTX, "ppt/presentation.xml", b"<<<"), "document_damaged",
    ),
    "a book without a container": ("a.epub", lambda: member(EPUB, "META-INF/container.xml", None), "document_damaged"),
    "a book of nonsense": ("a.epub", lambda: member(EPUB, "p.opf", b"<<<"), "document_damaged"),
    "ODT without content": ("a.odt", lambda: zip_file(ODT), "document_damaged"),
    "ODT of nonsense": ("a.odt", lambda: zip_file({**ODT, "content.xml": "<<<"}), "document_damaged"),
    "ODT with many laughs": ("a.odt", lambda: zip_file({**ODT, "content.xml": LOL}), "document_empty"),
    "Office 97 of nonsense": ("a.xls", lambda: OLE + os.urandom(600), "document_damaged"),
    "Office 97 of zeros": ("a.doc", lambda: OLE + bytes(2_000), "document_damaged"),
    "a PDF's first line": ("a.pdf", lambda: b"%PDF-1.7\n", "document_damaged"),
    "a PDF of noise": ("a.pdf", lambda: b"%PDF-1.7\n" + os.urandom(3_000), "document_damaged"),
    "a locked PDF": ("a.pdf", lambda: pdf(password="secret"), "document_locked"),
    "a PDF of blank pages": ("a.pdf", lambda: pdf(3), "document_empty"),
    "a page without words": ("a.html", lambda: b"<!doctype html><html><script>x()</script></html>", "document_empty"),
    "a table of separators": ("a.csv", lambda: b";;;\n;;;\n;;;\n", "document_empty"),
}  # fmt: skip

READ: dict[str, tuple[str, Callable[[], bytes]]] = {
    "ragged rows": ("a.csv", lambda: b"a,b\n1,2,3,4\n5\n\n6,7\n"),
    "a quote that never ends": ("a.csv", lambda: b'a,b\n1,"2\n3,4\n5,6\n'),
    "one column": ("a.csv", lambda: b"a\n1\n2\n"),
    "50 columns": ("a.csv", lambda: csv_file([[f"c{n}" for n in range(50)], list(range(50))])),
    "names of SQL": ("a.csv", lambda: b'select,"a""b",from\n1,2,3\n'),
    "the same name thrice": ("a.csv", lambda: b"a,a,A\n1,2,3\n"),
    "no name at all": ("a.csv", lambda: b",,\n1,2,3\n"),
    "a cell of 2 MB": ("a.csv", lambda: b"a,b\n" + b"x" * 2_000_000 + b",1\n"),
    "a line of 3 MB": ("a.txt", lambda: b"word " * 600_000),
    "half a character": ("a.txt", lambda: "é".encode() * 100 + b"\xc3"),
    "lone surrogates": ("a.txt", lambda: "\ud83d ok".encode("utf-16-le", "surrogatepass").join([b"\xff\xfe", b""])),
    "a mail without a body": ("a.eml", lambda: b"From: a@b.c\nTo: d@e.f\nSubject: x\n\n"),
    "a mail of an unknown charset": (
        "a.eml",
        lambda: b"From: a@b.c\nTo: d@e.f\nSubject: x\nContent-Type: text/plain; charset=x-none\n\nh\xe9llo\n",
    ),
    "a mail with a broken attachment": ("a.eml", lambda: eml_file("see", {"a.docx": DOCX[:99], "ok.txt": b"fine"})),
    "an archive in an archive in an archive": ("a.zip", lambda: zip_file({"b.zip": zip_file({"c.zip": DOCX})})),
    "an archive that climbs": ("a.zip", lambda: zip_file({"../../../etc/x.txt": "up", "/abs.txt": "root"})),
    "a page without an end": ("a.html", lambda: b"<html><body>" + b"<div>" * 300 + b"deep"),
    "a wrong name": ("a.xlsx", lambda: DOCX),
    "no name": ("", lambda: DOCX),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_refused_with_its_reason(read_here: ReadHere, case: str) -> None:
    name, data, code = REFUSED[case]
    with pytest.raises(Refused) as refused:
        read_here(name, data())
    assert refused.value.code == code
    error = BY_CODE[code](**refused.value.fields)
    assert isinstance(error, DocumentError)
    told = error.told("fr", "ceci.bin"), error.told("en", "this.bin")
    assert all("{" not in text and "bin" in text for text in told)


@pytest.mark.parametrize("case", READ)
def test_an_odd_file_is_read_as_far_as_it_goes(read_here: ReadHere, case: str) -> None:
    name, data = READ[case]
    document, text = read_here(name, data())
    assert document.chars == len(text)
    assert text.strip()
    assert "root:" not in text


def test_there_are_60_bad_files() -> None:
    assert len(REFUSED) + len(READ) >= 60


async def test_a_reading_that_is_slow_heavy_or_not_waited_for_is_ended(
    library: DocumentLibrary, tmp_path: object
) -> None:
    source = tmp_path / "big.csv"
    source.write_bytes(csv_file([("a", "b"), *((n, n) for n in range(200_000))]))
    for limits, error in ((Limits(time_s=0.05), SlowDocument), (Limits(memory_bytes=40_000_000), HeavyDocument)):
        strict = DocumentLibrary(tmp_path / "files", Converter(limits))
        with pytest.raises(error):
            await strict.take("0" * 64, source, "big.csv")
        assert not list((tmp_path / "files").rglob("*.doc"))
        assert not list((tmp_path / "files").rglob(".coming*"))
