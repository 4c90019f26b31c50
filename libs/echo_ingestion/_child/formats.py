"""What a document is, by its content: names and declared types lie.

Sources of the marks: ECMA-376 (OOXML), ODF 1.3, EPUB 3.3, MS-CFB, RFC 5322, and the formats' own specifications.
"""

import re
import zipfile
from pathlib import Path
from typing import Final

from echo_ingestion._child.fail import Refused, damaged
from echo_protocol.sniffing import SNIFF_BYTES, decode_text, sniff

_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: The member that tells a packed format.
_MEMBERS: Final = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("xl/workbook.bin", "xlsb"),
)
_MIME_MEMBERS: Final = {
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
}
#: Named so that the user reads what it is; none of them has a reader.
_OTHERS: Final = (
    (b"{\\rtf", "RTF"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"SQLite format 3\x00", "SQLite"),
    (b"PAR1", "Parquet"),
    (b"MZ", "program"),
    (b"\x7fELF", "program"),
)
_HEADER_LINE: Final = re.compile(r"(?im)^(from|received|return-path|mime-version|message-id|subject|date|to):\s?\S")
_HTML: Final = re.compile(r"(?is)\A\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!doctype html|<html\b)")
_TABLE_SUFFIXES: Final = (".csv", ".tsv", ".tab")
_DELIMITERS: Final = ",;\t|"
#: Lines that are looked at to tell a table from prose.
_LOOKED_AT: Final = 20


def kind_of(path: Path, name: str) -> str:
    """`pdf`, `docx`, `xlsx`, …, `csv`, `html`, `eml`, `text`; media types of pictures, sound and films as they are.

    Raises:
        Refused: it is locked, or nothing that can be read.
    """
    with path.open("rb") as file:
        head = file.read(max(SNIFF_BYTES, 64 * 1024))
    if not head.strip(b"\x00 \t\r\n\xef\xbb\xbf"):
        raise Refused("document_empty")
    if head.startswith(b"\xff\xfe\x00\x00"):  # UTF-32, which no other format begins like
        return "text"
    media = sniff(head[:SNIFF_BYTES])
    if media == "application/pdf":
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _packed(path)
    if head.startswith(_OLE):
        return _ole(path)
    for magic, label in _OTHERS:
        if head.startswith(magic):
            raise Refused("document_unknown_type", kind=label)
    text = decode_text(head, cut=True) if not media else None
    if text is not None:
        return _written(text, name)
    if media:
        return media
    raise Refused("document_unknown_type", kind=_guessed(head))


def _packed(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as packed:
            names = set(packed.namelist())
            if any(info.flag_bits & 1 for info in packed.infolist()):
                raise Refused("document_locked")
            mime = packed.read("mimetype")[:100].decode("ascii", "replace").strip() if "mimetype" in names else ""
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError) as error:
        raise damaged("ZIP") from error
    found = _MIME_MEMBERS.get(mime) or next((kind for member, kind in _MEMBERS if member in names), None)
    if found is None and "[Content_Types].xml" in names:
        raise damaged("Office")
    return found or "zip"


def _ole(path: Path) -> str:
    import olefile

    try:
        with olefile.OleFileIO(path) as compound:
            streams = {"/".join(entry) for entry in compound.listdir()}
    except Exception as error:  # a damaged one breaks the library in any way
        raise damaged("Office 97") from error
    if "EncryptedPackage" in streams:
        raise Refused("document_locked")
    if "Workbook" in streams or "Book" in streams:
        return "xls"
    if "__properties_version1.0" in streams:
        return "msg"
    label = "DOC" if "WordDocument" in streams else "PPT" if "PowerPoint Document" in streams else "OLE"
    raise Refused("document_unknown_type", kind=label)


def _written(text: str, name: str) -> str:
    suffix = Path(name).suffix.lower()
    if _HTML.match(text):
        return "html"
    if suffix in _TABLE_SUFFIXES and delimiter_of(text):
        return "csv"
    head = text[:4096].lstrip("\ufeff")
    if suffix in (".eml", ".mht") or (len(set(map(str.lower, _HEADER_LINE.findall(_first_block(head))))) >= 3):
        return "eml"
    if not suffix and delimiter_of(text):
        return "csv"
    return "text"


def _first_block(text: str) -> str:
    return re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]


def delimiter_of(text: str) -> str:
    """What separates the cells of a table, "" when the text is none: the same number of cells in nearly all lines."""
    import csv

    lines = text.splitlines()[:_LOOKED_AT]
    best, most = "", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        usual = max(set(widths), key=lambda width: (widths.count(width), width), default=0)
        if usual < 2:
            continue
        score = widths.count(usual) / len(widths) + usual / 1000
        if widths.count(usual) >= 0.6 * len(widths) and score > most:
            best, most = delimiter, score
    return best


def _guessed(head: bytes) -> str:
    """What a file of no known mark may be, in a word."""
    from magika import Magika

    label: str = Magika().identify_bytes(head).output.label
    return label
