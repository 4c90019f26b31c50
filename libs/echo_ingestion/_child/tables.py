"""Tables, row by row into a DuckDB file: whole, typed, and never in memory at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from echo_ingestion._child.fail import Refused, damaged
from echo_ingestion._child.typing_columns import column_name, looks_numeric, settled_types
from echo_ingestion._child.writing import TextWriter
from echo_ingestion.records import TEXT_ROWS, Column, Table

Row = Sequence[str]

#: Rows that tell which of them is the header.
_SAMPLE_ROWS: Final = 30
_MAX_COLUMNS: Final = 1_000
#: Columns that a preview describes; each costs two looks at the table.
_NOTED_COLUMNS: Final = 40
_MAX_CELL_CHARS: Final = 1_000_000
_EVERY_ROWS: Final = 20_000
#: Between two cells, and in place of a line break in one. Source: ASCII's unit and record separators.
_UNIT: Final = "\x1f"
_BREAK: Final = "\x1e"
_PLAIN: Final = {0x1E: None, 0x1F: None, 0x00: None, **dict.fromkeys(map(ord, "\r\n\x0b\x0c\x85\u2028\u2029"), _BREAK)}


@dataclass(slots=True)
class TableFile:
    """The DuckDB file that a document's tables go into."""

    path: Path
    scratch: Path
    tables: list[Table]
    connection: Any = None

    def open(self) -> Any:
        """The connection, opened when the first table comes."""
        if self.connection is None:
            import duckdb

            self.connection = duckdb.connect(
                str(self.path),
                config={
                    "memory_limit": "1500MB",
                    "threads": 2,
                    "temp_directory": str(self.scratch),
                    "preserve_insertion_order": "true",
                },
            )
        return self.connection

    def close(self) -> None:
        """Let go of it."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def add_table(
    into: TableFile, title: str, rows: Iterable[Row], out: TextWriter, progress: Callable[[int], None]
) -> Table | None:
    """Take one table over; None when it has no cell with anything in it.

    Args:
        into: where it goes; its name there comes from the title.
        title: what the file calls it.
        rows: all of them, cells as text, "" for an empty one.
        out: gets the first rows as text.
        progress: told how many rows were read.
    """
    stream = iter(rows)
    sample = list(islice(stream, _SAMPLE_ROWS))
    header_at = header_index(sample)
    source = into.scratch / "rows.csv"
    width, count, longest = _spool(source, sample, stream, header_at, out, progress)
    if not width or not count:
        source.unlink(missing_ok=True)
        return None
    header = list(sample[header_at]) if header_at is not None else []
    names = _names(header, width)
    table = _load(into, source, title, names, longest)
    source.unlink(missing_ok=True)
    above = "\n".join(" ".join(cell for cell in row if cell) for row in sample[: header_at or 0]).strip()
    kept = Table(
        name=table[0],
        title=title,
        rows=count,
        columns=table[1],
        header_row=0 if header_at is None else header_at + 1,
        above=above[:2_000],
    )
    into.tables.append(kept)
    return kept


def header_index(sample: Sequence[Row]) -> int | None:
    """Which of the first rows is the header, None when none is: nearly full, words only, above something else."""
    widest = max((_filled(row) for row in sample), default=0)
    for index, row in enumerate(sample[:-1] if len(sample) > 1 else ()):
        if widest == 0 or _filled(row) < max(1, 0.7 * widest):
            continue
        cells = [cell.strip() for cell in row if cell.strip()]
        words = not any(looks_numeric(cell) for cell in cells) and all(len(cell) <= 200 for cell in cells)
        return index if words and len(set(cells)) >= 0.8 * len(cells) else None
    return None


def _filled(row: Row) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _spool(
    path: Path,
    sample: Sequence[Row],
    rest: Iterator[Row],
    header_at: int | None,
    out: TextWriter,
    progress: Callable[[int], None],
) -> tuple[int, int, int]:
    """Write the rows with their numbers in front; the widest row's cells, the number of rows, the longest line.

    Cells are parted by a sign that no cell has, and a line break in one is another such sign: whatever quotes a file
    has, they cannot be misread a second time.
    """
    width = count = longest = 0
    first = 0 if header_at is None else header_at + 1
    with path.open("wb") as file:
        for number, row in enumerate(_all(sample, rest), start=1):
            cells = _trimmed(row)
            if number <= TEXT_ROWS + first:
                _say(out, cells)
            if number % _EVERY_ROWS == 0:
                progress(number)
            width = max(width, len(cells))
            if number > first and cells:
                count += 1
                line = _UNIT.join((str(number), *cells)).encode("utf-8", "replace") + b"\n"
                longest = max(longest, len(line))
                file.write(line)
    if count > TEXT_ROWS:
        out.write(f"[… {count - TEXT_ROWS} more rows; query_table reads them all]\n")
    out.write("\n")
    return width, count, longest


def _all(sample: Sequence[Row], rest: Iterator[Row]) -> Iterator[Row]:
    yield from sample
    yield from rest


def _trimmed(row: Row) -> list[str]:
    cells = [cell.strip()[:_MAX_CELL_CHARS].translate(_PLAIN) for cell in row[:_MAX_COLUMNS]]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _say(out: TextWriter, cells: Sequence[str]) -> None:
    if cells:
        out.write("| " + " | ".join(cell.replace(_BREAK, " ").replace("|", "\\|")[:2_000] for cell in cells) + " |\n")


def _names(header: Sequence[str], width: int) -> list[str]:
    taken = {"_row"}
    names = []
    for index in range(width):
        name = column_name(header[index] if index < len(header) else "", index)
        number = 2
        wanted = name
        while name.lower() in taken:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name.lower())
        names.append(name)
    return names


def _load(
    into: TableFile, source: Path, title: str, names: Sequence[str], longest: int
) -> tuple[str, tuple[Column, ...]]:
    import duckdb

    db = into.open()
    name = _table_name(into, title)
    columns = {"_row": "BIGINT", **{f"c{index}": "VARCHAR" for index in range(len(names))}}
    try:
        db.execute(
            f"CREATE TEMP TABLE raw AS SELECT * FROM read_csv(?, columns=?, header=false, delim='{_UNIT}', quote='', "  # noqa: S608
            f"escape='', auto_detect=false, null_padding=true, new_line='\\n', max_line_size={longest + 1_000_000})",
            [str(source), columns],
        )
        settled = settled_types(db, names)
        cast = ", ".join(f"{column.expression} AS {_quoted(column.name)}" for column in settled)
        db.execute(f"CREATE TABLE {_quoted(name)} AS SELECT _row, {cast} FROM raw ORDER BY _row")  # noqa: S608
        db.execute("DROP TABLE raw")
    except duckdb.OutOfMemoryException as error:
        raise Refused("document_too_heavy") from error
    except duckdb.Error as error:
        raise damaged("table") from error
    noted = tuple(
        Column(
            name=column.name,
            type=column.type,
            note=_note(db, name, column.name, column.type) if index < _NOTED_COLUMNS else "",
        )
        for index, column in enumerate(settled)
    )
    return name, noted


def _note(db: Any, table: str, column: str, kind: str) -> str:
    """What a reader learns of a column without its rows."""
    quoted, source = _quoted(column), _quoted(table)
    empty, distinct, low, high = db.execute(
        f"SELECT count(*) - count({quoted}), approx_count_distinct({quoted}), min({quoted}), max({quoted}) "  # noqa: S608
        f"FROM {source}"
    ).fetchone()
    blank = f", {empty} empty" if empty else ""
    if kind == "VARCHAR":
        usual = db.execute(
            f"SELECT {quoted}, count(*) FROM {source} WHERE {quoted} IS NOT NULL "  # noqa: S608
            f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 4"
        ).fetchall()
        named = ", ".join(str(value)[:40] for value, _ in usual)
        return f"about {distinct} values ({named}{', …' if distinct > len(usual) else ''}){blank}"
    return f"{low} to {high}{blank}"


def _table_name(into: TableFile, title: str) -> str:
    wanted = column_name(title, len(into.tables), prefix="table")
    taken = {table.name.lower() for table in into.tables}
    name, number = wanted, 2
    while name.lower() in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
