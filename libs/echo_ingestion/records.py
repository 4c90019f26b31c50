"""What is known of a document once it has been read."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Self

#: Documents that an older reader made are read anew.
READER_VERSION: Final = 1

SectionKind = Literal["page", "slide", "sheet", "heading", "message", "file"]

#: Characters of a document's id; a prefix of its digest that nobody guesses. Source: our choice, 64 bits.
ID_CHARS: Final = 16
#: Rows of a table that also stand in the document's text. Source: our choice; the rest is asked in SQL.
TEXT_ROWS: Final = 2_000
#: Between two byte marks of a text. Source: our choice.
MARK_CHARS: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of a document's text.

    Args:
        kind: what the document itself calls it.
        number: from 1, among those of its kind.
        title: its heading or name, "" where it has none.
        level: depth of a heading, 1 for everything else.
        start: first character in the text.
        end: behind its last character.
        scanned: a page that is only a picture.
    """

    kind: SectionKind
    number: int
    title: str = ""
    level: int = 1
    start: int = 0
    end: int = 0
    scanned: bool = False

    @property
    def label(self) -> str:
        """How an answer names the place: `page 3`, `sheet Budget`."""
        name = {"heading": "section"}.get(self.kind, self.kind)
        return f"{name} {self.title}" if self.kind in ("sheet", "file") and self.title else f"{name} {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Args:
        name: in SQL.
        type: of DuckDB.
        note: what is in it, in words: range, sum or distinct values.
    """

    name: str
    type: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that can be asked in SQL; `_row` is each row's number in the file, from 1.

    Args:
        name: in SQL.
        title: how the file calls it.
        rows: how many, without the header.
        header_row: number of the header's row in the file, 0 when there is none.
        above: text in the rows above the header.
    """

    name: str
    title: str
    rows: int
    columns: tuple[Column, ...]
    header_row: int = 0
    above: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that has been read.

    Args:
        sha256: digest of the file, hex.
        kind: its format, by content: `docx`, `pdf`, `csv`, …
        chars: length of its text.
        marks: byte offset of every `MARK_CHARS`th character of the text.
        notes: what could not be taken over, in words for the model.
        file_id: Open WebUI's, where the file was attached last; "" for none.
    """

    sha256: str
    name: str
    kind: str
    size_bytes: int
    chars: int
    marks: tuple[int, ...] = (0,)
    sections: tuple[Section, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    file_id: str = ""
    version: int = READER_VERSION

    @property
    def id(self) -> str:
        """What tools call it."""
        return self.sha256[:ID_CHARS]

    @property
    def text_is_all(self) -> bool:
        """Whether the text holds every row of every table."""
        return all(table.rows <= TEXT_ROWS for table in self.tables)

    def json(self) -> dict[str, Any]:
        """As it is kept."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Read what `json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        tables = tuple(
            Table(**{**table, "columns": tuple(Column(**column) for column in table["columns"])})
            for table in kept["tables"]
        )
        sections = tuple(Section(**section) for section in kept["sections"])
        plain = {**kept, "marks": tuple(kept["marks"]), "notes": tuple(kept["notes"])}
        return cls(**{**plain, "tables": tables, "sections": sections})
