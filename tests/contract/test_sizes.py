"""Functions and files stay small enough to be read at once."""

from pathlib import Path

import pytest

from guards.project import LIBS, WORKERS, function_files
from guards.sizes import MAX_FILE_LINES, MAX_FUNCTION_LINES, file_size, function_sizes, measured_files

FILES = measured_files()


def test_the_rule_looks_at_libs_workers_and_function_files() -> None:
    assert LIBS / "echo_constants" / "errors.py" in FILES
    assert WORKERS / "__init__.py" in FILES
    assert set(function_files()) <= set(FILES)


def test_no_file_is_too_long() -> None:
    assert [violation for path in FILES for violation in file_size(path)] == []


def test_no_function_is_too_long() -> None:
    python = [path for path in FILES if path.suffix == ".py"]
    assert [violation for path in python for violation in function_sizes(path)] == []


@pytest.mark.parametrize("over", [0, 1])
def test_a_long_file_is_found(over: int, tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text("x = 1\n" * (MAX_FILE_LINES + over), encoding="utf-8")
    assert len(file_size(path)) == over


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_long_function_is_found(keyword: str, over: int, tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    body = "        x = 1\n" * (MAX_FUNCTION_LINES - 1 + over)
    path.write_text(f"class A:\n    @property\n    {keyword} f(self):\n{body}", encoding="utf-8")
    assert len(function_sizes(path)) == over
