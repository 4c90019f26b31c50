"""Documents of every kind, made by the programs' own writers."""

import io
import random
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

import docx
import openpyxl
import pptx
from fpdf import FPDF
from PIL import Image, ImageDraw


def docx_file(*sections: tuple[str, str]) -> bytes:
    """A Word document: headings of level 1 with a paragraph each."""
    document = docx.Document()
    for heading, text in sections:
        document.add_heading(heading, 1)
        document.add_paragraph(text)
    return _saved(document.save)


def xlsx_file(sheets: dict[str, Iterable[Sequence[Any]]]) -> bytes:
    """A workbook."""
    book = openpyxl.Workbook(write_only=True)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    return _saved(book.save)


def pptx_file(*slides: tuple[str, str]) -> bytes:
    """A presentation: a title and a text a slide."""
    show = pptx.Presentation()
    for title, text in slides:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    return _saved(show.save)


def pdf_file(*pages: str) -> bytes:
    """A PDF with a text a page; an empty text makes a scanned page."""
    pdf = FPDF()
    pdf.set_font("helvetica", size=12)
    for text in pages:
        pdf.add_page()
        if text:
            pdf.multi_cell(0, text=text)
        else:
            pdf.image(scan("SCANNED"), w=150)
    return bytes(pdf.output())


def heavy_pdf(*pages: str) -> bytes:
    """A PDF with a text a page and a picture that makes it too heavy for a request itself; always the same bytes."""
    pdf = FPDF()
    pdf.set_creation_date(datetime(2026, 1, 1, tzinfo=UTC))
    pdf.set_font("helvetica", size=12)
    noise = Image.frombytes("RGB", (1_300, 1_300), random.Random(1).randbytes(3 * 1_300 * 1_300))
    for number, text in enumerate(pages):
        pdf.add_page()
        pdf.multi_cell(0, text=text)
        if not number:
            pdf.image(noise, w=150)
    return bytes(pdf.output())


def scan(text: str) -> Image.Image:
    """A picture of a text."""
    page = Image.new("RGB", (600, 200), "white")
    ImageDraw.Draw(page).text((40, 80), text, fill="black")
    return page


def epub_file(*chapters: tuple[str, str]) -> bytes:
    """A book of chapters."""
    items = "".join(
        f'<item id="c{i}" href="c{i}.xhtml" media-type="application/xhtml+xml"/>' for i in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(chapters)))
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="u">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="u">x</dc:identifier>'
        f"<dc:title>A book</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="p.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    pages = {
        f"c{i}.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{title}</h1><p>{text}</p></body></html>'
        for i, (title, text) in enumerate(chapters)
    }
    return zip_file(
        {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "p.opf": package, **pages}
    )


def eml_file(text: str, attachments: dict[str, bytes] | None = None) -> bytes:
    """A mail."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@example.org", "b@example.org", "Réunion"
    mail.set_content(text)
    for name, data in (attachments or {}).items():
        mail.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


def zip_file(members: dict[str, bytes | str]) -> bytes:
    """A ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return out.getvalue()


def csv_file(rows: Iterable[Sequence[Any]], delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    """Delimited text."""
    import csv

    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode(encoding)


def _saved(save: Any) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()
