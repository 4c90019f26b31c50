"""Rows of spreadsheets and of delimited text, as texts that mean the same in every locale."""

import csv
import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from echo_ingestion._child.fail import Refused, damaged
from echo_ingestion._child.formats import delimiter_of
from echo_ingestion._child.prose import encoding_of

_SAMPLE_CHARS: Final = 64_000
_FIELD_BYTES: Final = 20_000_000


def sheet_rows(path: Path, kind: str, notes: list[str]) -> Iterator[tuple[str, Iterator[Sequence[str]]]]:
    """Each sheet of a workbook: its name and its rows. Raises Refused."""
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        names = list(book.sheet_names)
    except python_calamine.PasswordError as error:
        raise Refused("document_locked") from error
    except Exception as error:  # the library has a class for each way to be broken
        raise damaged(kind.upper()) from error
    for name in names:
        try:
            sheet = book.get_sheet_by_name(name)
        except Exception as error:  # a chart has no cells, and a broken sheet must not cost the others
            notes.append(f"The sheet {name} was left out ({type(error).__name__}).")
            continue
        before = sheet.start[0] if sheet.start else 0
        yield name, _rows(sheet, before)


def _rows(sheet: Any, before: int) -> Iterator[Sequence[str]]:
    """The rows as texts; the empty ones above the first cell too, so that row numbers are the sheet's own."""
    yield from ([] for _ in range(before))
    for row in sheet.iter_rows():
        yield [_text(cell) for cell in row]


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else _decimal(cell)
    if isinstance(cell, dt.datetime):
        return cell.date().isoformat() if cell.time() == dt.time() else cell.isoformat(" ", "seconds")
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    if isinstance(cell, dt.timedelta):
        return str(cell)
    return "" if cell is None else str(cell)


def _decimal(value: float) -> str:
    """A float without an exponent where it has one that nobody typed; 15 digits, as a spreadsheet keeps them."""
    text = f"{value:.15g}"
    if "e" not in text:
        return text
    plain = f"{value:.9f}".rstrip("0")
    return plain if float(plain or 0) == value else text


def text_rows(path: Path, name: str, notes: list[str]) -> Iterator[Sequence[str]]:
    """The rows of a CSV or TSV file of whatever encoding and separator; broken quotes cost no rows."""
    encoding = encoding_of(path)
    if encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"The text was read as {encoding}.")
    csv.field_size_limit(_FIELD_BYTES)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        delimiter = delimiter_of(file.read(_SAMPLE_CHARS)) or ("\t" if name.lower().endswith((".tsv", ".tab")) else ",")
        file.seek(0)
        clean = (line.replace("\x00", "") for line in file)
        try:
            yield from csv.reader(clean, delimiter=delimiter)
        except csv.Error as error:
            raise damaged("CSV") from error
