"""docs/complaints.md names the tests of each complaint, and the tests name their complaints."""

import ast
import re
from pathlib import Path

from guards.project import ROOT, parse

PAGE = (ROOT / "docs" / "complaints.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (C\d\d) \| .+ \| (.+) \|$", re.MULTILINE)
NUMBER_IN_NAME = re.compile(r"(?<=_)c(\d\d)(?=_)")
NUMBER_IN_TEXT = re.compile(r"\bC(\d\d)\b")

#: The complaints about history that was lost, changed or refused.
HISTORY = {"C03", "C04", "C07", "C08", "C12", "C15", "C16", "C19", "C30", "C39", "C40"}


def table() -> dict[str, set[str]]:
    """The tests by complaint, as `path::name`, or a path alone where the whole file is about it."""
    return {number: set(re.findall(r"`([^`]+)`", tests)) for number, tests in ROW.findall(PAGE)}


def described(path: Path) -> dict[str, str]:
    """The description of each test by its name."""
    functions = (n for n in ast.walk(parse(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name: ast.get_docstring(function) or "" for function in functions}


def test_every_complaint_about_history_is_covered() -> None:
    assert table().keys() >= HISTORY


def test_every_test_that_the_table_names_exists() -> None:
    for number, names in table().items():
        for name in names:
            path, _, test = name.partition("::")
            assert (ROOT / path).is_file(), f"{number}: {path}"
            assert not test or test in described(ROOT / path), f"{number}: {name}"


def test_every_test_that_names_a_complaint_is_in_the_table() -> None:
    found = 0
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT).as_posix()
        if path == Path(__file__):
            continue
        for test, told in described(path).items():
            numbers = {f"C{n}" for n in (*NUMBER_IN_NAME.findall(test), *NUMBER_IN_TEXT.findall(told))}
            for number in numbers:
                assert {place, f"{place}::{test}"} & table().get(number, set()), f"{place}::{test} names {number}"
            found += len(numbers)
    assert found >= len(HISTORY)
