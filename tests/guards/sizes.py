"""How long a function and a file may be. There is no list of exceptions."""

import ast
from pathlib import Path

from guards.project import ROOT, Violation, function_files, parse, project_files, relative

MAX_FUNCTION_LINES = 50
MAX_FILE_LINES = 400
MAX_FUNCTION_FILE_LINES = 150

#: What is written by hand as code. Prompts, catalogues and pages of text are data and have no limit.
CODE_SUFFIXES = {".py", ".js", ".css", ".sh", ".sql"}


def measured_files() -> tuple[Path, ...]:
    """Code files of the product; tests are exempt."""
    return tuple(
        path for path in project_files() if path.suffix in CODE_SUFFIXES and path.relative_to(ROOT).parts[0] != "tests"
    )


def file_size(path: Path, limit: int | None = None) -> list[Violation]:
    """A violation if the file has more lines than its kind allows."""
    if limit is None:
        limit = MAX_FUNCTION_FILE_LINES if path in function_files() else MAX_FILE_LINES
    lines = len(path.read_text(encoding="utf-8").splitlines())
    return [Violation("file-size", relative(path), f"{lines} lines, at most {limit}")] if lines > limit else []


def function_sizes(path: Path) -> list[Violation]:
    """A violation for each function, from `def` to its last line, that is too long."""
    found = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                what = f"{node.name}: {lines} lines, at most {MAX_FUNCTION_LINES}"
                found.append(Violation("function-size", f"{relative(path)}:{node.lineno}", what))
    return found
