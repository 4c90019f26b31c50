"""Which type a column of texts has: numbers of either spelling, dates, or text; never a guess that changes a value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Signs and spaces that stand around amounts; thousands are parted by space, no-break space or apostrophe.
_UNIT: Final = r"[€$£\s\x{a0}\x{202f}']"
#: A whole number; 007 and 06 12 34 56 78 are names, not numbers.
_WHOLE: Final = r"[+-]?(0|[1-9]\d{0,17})"
_POINT: Final = r"[+-]?(0|[1-9]\d{0,14})?\.\d{1,9}"
_COMMA: Final = r"[+-]?(0|[1-9]\d{0,14}),\d{1,9}"
_POWER: Final = r"[+-]?\d(\.\d+)?[eE][+-]?\d{1,3}"
#: A number as somebody wrote it: thousands parted, a unit beside it.
_PARTED: Final = r" \x{a0}\x{202f}'"
_AMOUNT_POINT: Final = (
    r"[€$£]?\s?[+-]?\s?[€$£]?\s?"
    rf"([1-9]\d{{0,2}}([{_PARTED},]\d{{3}})+|0|[1-9]\d{{0,14}})(\.\d{{1,9}})?[\s{_PARTED}]?[€$£]?"
)
_AMOUNT_COMMA: Final = (
    r"[€$£]?\s?[+-]?\s?"
    rf"([1-9]\d{{0,2}}([{_PARTED}.]\d{{3}})+|0|[1-9]\d{{0,14}})(,\d{{1,9}})?[\s{_PARTED}]?[€$£]?"
)
_STAMP: Final = r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"
_DATES: Final = {
    "iso": (r"\d{4}-\d{2}-\d{2}", "%Y-%m-%d"),
    "day_first": (r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y"),
    "month_first": (r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y"),
    "dotted": (r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y"),
}
#: What a spreadsheet shows instead of a value.
_ERRORS: Final = ("#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!")
_NUMERIC: Final = re.compile(
    f"({_POINT}|{_COMMA}|{_AMOUNT_POINT}|{_AMOUNT_COMMA}|{_POWER})%?".replace(r"\x{a0}\x{202f}", "\u00a0\u202f")
)
_DATE_LIKE: Final = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{2}:\d{2}.*)?")
_NOT_A_NAME: Final = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A column's name, its DuckDB type, and the SQL that makes it of the text."""

    name: str
    type: str
    expression: str


def looks_numeric(cell: str) -> bool:
    """Whether a cell holds a number or a date, so that its row is no header."""
    return bool(cell.isdigit() or _NUMERIC.fullmatch(cell) or _DATE_LIKE.fullmatch(cell))


def column_name(said: str, index: int, *, prefix: str = "column") -> str:
    """A name for SQL: the words of the header joined by `_`, letters of any language kept."""
    name = _NOT_A_NAME.sub("_", said.strip()).strip("_")[:60]
    if not name:
        return f"{prefix}_{index + 1}"
    return f"_{name}" if name[0].isdigit() else name


def settled_types(db: Any, names: Sequence[str]) -> list[Settled]:
    """The type of each column of the table `raw` (`c0`, `c1`, …); text unless every single value is of another one."""
    return [_settled(db, f"c{index}", name) for index, name in enumerate(names)]


def _settled(db: Any, column: str, name: str) -> Settled:
    errors = ", ".join(f"'{error}'" for error in _ERRORS)
    value = f"CASE WHEN trim({column}) IN ('', {errors}) THEN NULL ELSE trim({column}) END"
    # The sign that stood for a line break in a cell; see `tables`.
    text = Settled(name=name, type="VARCHAR", expression=f"replace({value}, chr(30), chr(10))")
    first = _holding(db, value, list(_TESTS), limit=1_000)
    fits = set(_holding(db, value, first)) if first else set()
    if not fits:
        return text
    if "truth" in fits:
        expression = f"CASE WHEN {value} IS NULL THEN NULL ELSE lower({value}) IN ('true', 'vrai') END"
        return Settled(name=name, type="BOOLEAN", expression=expression)
    if "whole" in fits:
        return _as(name, "BIGINT", value)
    if "point" in fits:
        return _decimal(db, name, value)
    # Where thousands and decimals could both be meant ("1,234" in every row), only text is sure to be right.
    if "comma" in fits and "amount_point" not in fits:
        return _decimal(db, name, f"replace({value}, ',', '.')")
    if "power" in fits:
        return _as(name, "DOUBLE", value)
    return _dated(name, value, fits) or _amount(db, name, value, fits) or text


def _tests() -> dict[str, str]:
    """Conditions on a value `v`, by name."""

    def full(*shapes: str) -> str:
        return "(" + " OR ".join(f"regexp_full_match(v, '{_sql(shape)}')" for shape in shapes) + ")"

    dates = {
        name: f"({full(shape)} AND try_strptime(v, '{form}') IS NOT NULL)" for name, (shape, form) in _DATES.items()
    }
    return {
        "truth": "lower(v) IN ('true', 'false', 'vrai', 'faux')",
        "whole": full(_WHOLE),
        "point": full(_WHOLE, _POINT),
        "comma": full(_WHOLE, _COMMA),
        "power": full(_WHOLE, _POINT, _POWER),
        "stamp": f"({full(_STAMP)} AND try_cast(v AS TIMESTAMP) IS NOT NULL)",
        **dates,
        "amount_point": full(_AMOUNT_POINT),
        "amount_comma": full(_AMOUNT_COMMA),
    }


def _holding(db: Any, value: str, names: Sequence[str], *, limit: int | None = None) -> list[str]:
    """Those of the tests that every value passes; none when there is no value."""
    tests = ", ".join(f"count(*) FILTER (NOT {_TESTS[name]})" for name in names)
    some = "" if limit is None else f" LIMIT {limit}"
    row = db.execute(
        f"SELECT count(*), {tests} FROM (SELECT {value} AS v FROM raw WHERE {value} IS NOT NULL{some})"  # noqa: S608
    ).fetchone()
    return [name for name, misses in zip(names, row[1:], strict=True) if row[0] and not misses]


def _dated(name: str, value: str, fits: set[str]) -> Settled | None:
    if "stamp" in fits:
        return _as(name, "TIMESTAMP", value)
    dates = [form for form in _DATES if form in fits]
    if len(dates) != 1:  # 03/04 in every row: nobody knows which is the month
        return None
    return Settled(name=name, type="DATE", expression=f"CAST(strptime({value}, '{_DATES[dates[0]][1]}') AS DATE)")


def _amount(db: Any, name: str, value: str, fits: set[str]) -> Settled | None:
    """Numbers with parted thousands or a currency."""
    strip = f"regexp_replace({value}, '{_sql(_UNIT)}', '', 'g')"
    point, comma = "amount_point" in fits, "amount_comma" in fits
    if point and comma:
        marked = db.execute(f"SELECT count(*) FROM raw WHERE regexp_matches({value}, '[.,]')").fetchone()  # noqa: S608
        return None if marked[0] else _decimal(db, name, strip)
    if point:
        return _decimal(db, name, f"replace({strip}, ',', '')")
    if comma:
        return _decimal(db, name, f"replace(replace({strip}, '.', ''), ',', '.')")
    return None


def _decimal(db: Any, name: str, text: str) -> Settled:
    """Exact decimals, so that sums of amounts are right to the cent."""
    scale = db.execute(f"SELECT max(length(split_part({text}, '.', 2))) FROM raw").fetchone()[0] or 0  # noqa: S608
    return _as(name, f"DECIMAL(28,{scale})", text)


def _as(name: str, kind: str, text: str) -> Settled:
    return Settled(name=name, type=kind, expression=f"CAST({text} AS {kind})")


def _sql(pattern: str) -> str:
    return pattern.replace("'", "''")


_TESTS: Final = _tests()
