"""Which stretch of a document the model asked for, in the document's own words: pages, slides, sheets, sections."""

import re
from dataclasses import dataclass
from typing import Final

from echo_ingestion.errors import BadRange
from echo_ingestion.records import Document, Section

#: Characters of one reading. Source: our choice, about 15,000 tokens.
PAGE_CHARS: Final = 60_000

_CHARS: Final = re.compile(r"(?:chars?(?:acters)?\s+)?(\d+)\s*(?:-\s*(\d+)?)?", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(page|slide|section|sheet|file|message)s?\s+(\d+)(?:\s*-\s*(\d+))?", re.IGNORECASE)
_NAMED: Final = re.compile(r"(sheet|section|file)\s+\"?(.+?)\"?(?:\s+rows?\s+(\d+)(?:\s*-\s*(\d+))?)?", re.IGNORECASE)
_KINDS: Final = {"section": "heading"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of text, or rows of a table.

    Args:
        start: first character.
        end: behind the last one.
        place: how an answer names it.
        table: SQL name of the table whose rows are meant, "" for text.
        rows: first and last row of it.
    """

    start: int = 0
    end: int = 0
    place: str = ""
    table: str = ""
    rows: tuple[int, int] = (0, 0)


def span_of(document: Document, told: str) -> Span:
    """What a range means in this document; at most `PAGE_CHARS` long.

    Raises:
        BadRange: it cannot be read, or there is no such place.
    """
    told = told.strip()
    if not told:
        return _limited(document, 0, document.chars)
    if found := _CHARS.fullmatch(told):
        start = int(found[1])
        end = int(found[2]) if found[2] else start + PAGE_CHARS
        if start >= document.chars or end <= start:
            raise BadRange(why=f"{document.name} has the characters 0-{document.chars}.")
        return _limited(document, start, end)
    if found := _NUMBERED.fullmatch(told):
        return _numbered(document, found[1].lower(), int(found[2]), int(found[3] or found[2]))
    if found := _NAMED.fullmatch(told):
        return _named(document, found[1].lower(), found[2], found[3], found[4])
    raise BadRange(why=f"{told[:60]!r} is no range.")


def _numbered(document: Document, word: str, first: int, last: int) -> Span:
    kind = _KINDS.get(word, word)
    those = [section for section in document.sections if section.kind == kind]
    wanted = [section for section in those if first <= section.number <= last]
    if not wanted:
        raise BadRange(why=f"{document.name} has {len(those)} {word}s.")
    return _limited(document, wanted[0].start, max(section.end for section in wanted))


def _named(document: Document, word: str, name: str, first: str | None, last: str | None) -> Span:
    if first is not None:
        table = next(
            (table for table in document.tables if name.casefold() in (table.title.casefold(), table.name.casefold())),
            None,
        )
        if table is None:
            raise BadRange(why=f"{document.name} has no table {name[:60]!r}.")
        rows = (int(first), int(last or first))
        return Span(place=f"sheet {table.title} rows {rows[0]}-{rows[1]}", table=table.name, rows=rows)
    kind = _KINDS.get(word, word)
    for section in document.sections:
        if section.kind == kind and section.title.casefold() == name.casefold():
            return _limited(document, section.start, section.end)
    raise BadRange(why=f"{document.name} has no {word} {name[:60]!r}.")


def _limited(document: Document, start: int, end: int) -> Span:
    end = min(end, start + PAGE_CHARS, document.chars)
    return Span(start=start, end=end, place=place_of(document, start, end))


def place_of(document: Document, start: int, end: int) -> str:
    """How an answer names a stretch of text: by pages, slides or sheets, else by its heading, else by characters."""
    touched = [section for section in document.sections if section.start < end and section.end > start]
    parts = [section for section in touched if section.kind in ("page", "slide", "sheet", "file")]
    if parts:
        first, last = parts[0], parts[-1]
        if first is last:
            return first.label
        if first.kind == last.kind and first.kind in ("page", "slide"):
            return f"{first.kind}s {first.number}-{last.number}"
        return f"{first.label} to {last.label}"
    over = _innermost(touched, start)
    return f"section {over.number} ({over.title})" if over else f"characters {start}-{end}"


def _innermost(touched: list[Section], start: int) -> Section | None:
    holding = [section for section in touched if section.start <= start and section.title]
    return holding[-1] if holding else next((section for section in touched if section.title), None)
