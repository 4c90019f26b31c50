"""Documents that become Markdown: Office, HTML, EPUB, mail, plain text."""

import re
from collections.abc import Iterator
from email import policy
from email.parser import BytesParser
from io import BytesIO
from pathlib import Path
from typing import Any, Final, cast

from echo_ingestion._child.fail import Refused, damaged
from echo_ingestion._child.writing import TextWriter

_HEADING: Final = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$", re.MULTILINE)
_SLIDE: Final = re.compile(r"<!-- Slide number: \d+ -->\s*")
_FENCE: Final = re.compile(r"^(```|~~~)", re.MULTILINE)
_PICTURE: Final = re.compile(r"!\[([^\]\n]{0,500})\]\(data:[^)\s]*\)")
#: MarkItDown takes quadratic time over larger pages (56 s for 20 MB), so those give their text only.
_MARKDOWN_HTML_BYTES: Final = 3_000_000
_READ_CHARS: Final = 1_000_000
_CONVERTERS: Final = {
    ".docx": "DocxConverter",
    ".pptx": "PptxConverter",
    ".epub": "EpubConverter",
    ".html": "HtmlConverter",
    ".msg": "OutlookMsgConverter",
}
_SKIPPED: Final = ("script", "style", "noscript", "template", "svg", "head")
_MAIL_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")


def write_text(path: Path, out: TextWriter, notes: list[str]) -> None:
    """A text file of whatever encoding; a Markdown one keeps its headings as sections."""
    encoding = encoding_of(path)
    if encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"The text was read as {encoding}.")
    pieces: list[str] = []
    with path.open(encoding=encoding, errors="replace", newline=None) as file:
        while piece := file.read(_READ_CHARS):
            pieces.append(piece)
            if len(pieces) > 1:  # too long for headings to help
                for held in pieces:
                    out.write(held)
                pieces = [""]
    if pieces and pieces[0]:
        write_markdown(pieces[0], out)


def encoding_of(path: Path) -> str:
    """UTF-8, UTF-16 and UTF-32 with their marks, else what the statistics of the first 64 KiB say."""
    with path.open("rb") as file:
        head = file.read(65_536)
        file.seek(0)
        for mark, name in ((b"\xff\xfe\x00\x00", "utf-32"), (b"\xef\xbb\xbf", "utf-8-sig")):
            if head.startswith(mark):
                return name
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "utf-16"
        if _is_utf8(file):
            return "utf-8"
    # Western text has few bytes above ASCII, and guesses by statistics are wrong about those more often than right.
    if sum(byte > 127 for byte in head) < _DENSE * len(head):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(head, cp_isolation=_DENSE_ENCODINGS).best()
    return "cp1252" if best is None else best.encoding


#: Share of high bytes above which a text is in no Latin script. Source: our choice.
_DENSE: Final = 0.3
_DENSE_ENCODINGS: Final = ["cp1251", "koi8_r", "cp1253", "cp1256", "shift_jis", "gb18030", "big5", "euc_kr", "euc_jp"]


def _is_utf8(file: Any) -> bool:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while data := file.read(4_000_000):
            decoder.decode(data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def write_markdown(text: str, out: TextWriter) -> None:
    """Markdown, each heading the beginning of a section."""
    text = _PICTURE.sub(lambda found: f"[picture: {found[1]}]" if found[1] else "[picture]", text)
    fences = [found.start() for found in _FENCE.finditer(text)]
    at = 0
    for heading in _HEADING.finditer(text):
        if sum(start < heading.start() for start in fences) % 2:
            continue
        out.write(text[at : heading.start()])
        out.begin("heading", heading[2], level=len(heading[1]))
        at = heading.start()
    out.write(text[at:])


def write_slides(text: str, out: TextWriter) -> None:
    """MarkItDown's text of a presentation, slide by slide."""
    slides = _SLIDE.split(text)
    out.write(slides[0])
    for slide in slides[1:]:
        heading = _HEADING.search(slide)
        out.begin("slide", heading[2] if heading else "")
        out.write(_PICTURE.sub(lambda found: f"[picture: {found[1]}]", slide).strip() + "\n\n")


def markdown_of(source: Path | bytes, suffix: str) -> str:
    """What MarkItDown makes of a file.

    Raises:
        Refused: it cannot read it.
    """
    if (
        suffix == ".html"
        and (len(source) if isinstance(source, bytes) else source.stat().st_size) > _MARKDOWN_HTML_BYTES
    ):
        return "\n".join(_plain_html(source if isinstance(source, bytes) else source.read_bytes()))
    from markitdown import StreamInfo, converters

    converter = getattr(converters, _CONVERTERS[suffix])()
    try:
        stream = BytesIO(source) if isinstance(source, bytes) else source.open("rb")
        with stream:
            found = converter.convert(stream, StreamInfo(extension=suffix))
    except MemoryError:
        raise
    except Exception as error:  # whatever the library under it makes of a broken file
        raise damaged(suffix.lstrip(".").upper()) from error
    return str(found.markdown)


def _plain_html(data: bytes) -> Iterator[str]:
    from lxml import html

    root: Any = html.document_fromstring(data, parser=html.HTMLParser(huge_tree=True))
    for element in root.iter(*_SKIPPED):
        element.drop_tree()
    for text in root.itertext():
        if line := " ".join(text.split()):
            yield line


def write_opendocument(data: bytes, kind: str, out: TextWriter) -> None:
    """The text of an OpenDocument text or presentation. Raises Refused."""
    from lxml import etree

    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    except etree.XMLSyntaxError as error:
        raise damaged(kind.upper()) from error
    for element in root.iter("{*}h", "{*}p", "{*}page"):
        local = etree.QName(element).localname
        if local == "page":
            out.begin("slide", next((str(v) for k, v in element.attrib.items() if str(k).endswith("}name")), ""))
            continue
        said = "".join(cast("list[str]", element.xpath(".//text()"))).strip()
        if local == "h" and said:
            level = next((int(v) for k, v in element.attrib.items() if str(k).endswith("}outline-level")), 1)
            out.begin("heading", said, level=level)
            out.write("#" * level + " ")
        if said:
            out.write(said + "\n\n")


def write_mail(data: bytes, out: TextWriter, notes: list[str]) -> Iterator[tuple[str, bytes]]:
    """A mail's headers and words; yields its attachments as (name, bytes)."""
    message = BytesParser(policy=policy.default).parsebytes(data)
    out.begin("message", str(message.get("Subject") or ""))
    for name in _MAIL_HEADERS:
        if message.get(name):
            out.write(f"{name}: {message.get(name)}\n")
    out.write("\n")
    body = message.get_body(preferencelist=("plain", "html"))
    if body is not None:
        said = _content(body)
        out.write(markdown_of(said.encode(), ".html") if body.get_content_type() == "text/html" else said)
    out.write("\n")
    for part in message.iter_attachments():
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes):
            yield part.get_filename() or "attachment", payload
        else:
            notes.append("An attached message was left out.")


def _content(part: Any) -> str:
    try:
        return str(part.get_content())
    except (LookupError, UnicodeDecodeError):  # a charset that nobody knows
        raw = part.get_payload(decode=True)
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else ""


def refused_when_blank(out: TextWriter) -> None:
    """Raises Refused when nothing but space was written."""
    if out.blank:
        raise Refused("document_empty")
