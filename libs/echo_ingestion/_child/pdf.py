"""The text of a PDF, page by page, by PDFium: MarkItDown takes 0.3 s a page and forgets where pages begin."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from echo_ingestion._child.fail import Refused, damaged
from echo_ingestion._child.writing import TextWriter

#: A page with fewer characters that shows a picture counts as scanned. Source: our choice.
_SCANNED_CHARS: Final = 20
#: Source: PDFium's FPDF_ERR_PASSWORD.
_ERR_PASSWORD: Final = 4


def write_pdf(path: Path, out: TextWriter, notes: list[str], progress: Callable[[float], None]) -> None:
    """All pages. Raises Refused."""
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == _ERR_PASSWORD:
            raise Refused("document_locked") from error
        raise damaged("PDF") from error
    pages = len(document)
    if not pages:
        raise Refused("document_empty")
    scanned = 0
    for index in range(pages):
        said, pictures = _read(document, index)
        is_scan = pictures and len(said.strip()) < _SCANNED_CHARS
        scanned += is_scan
        out.begin("page", scanned=is_scan)
        out.write(said.replace("\r\n", "\n").strip() + "\n\n")
        progress((index + 1) / pages)
    if scanned:
        notes.append(f"{scanned} of {pages} pages are pictures (scans) without text.")


def _read(document: Any, index: int) -> tuple[str, bool]:
    """A page's text, and whether it shows pictures."""
    import pypdfium2 as pdfium
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    try:
        page = document[index]
        try:
            said = str(page.get_textpage().get_text_bounded())
            pictures = any(True for _ in page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=3))
            return said, pictures
        finally:
            page.close()
    except pdfium.PdfiumError:  # one bad page does not cost the others
        return "", False
