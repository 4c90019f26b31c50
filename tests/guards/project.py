"""Where things are in the project, and the source files that the rules read."""

import ast
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIBS = ROOT / "libs"
WORKERS = ROOT / "workers"

#: Folder of function files -> the class by which Open WebUI's loader knows what a file is.
ENTRY_CLASSES = {"pipes": "Pipe", "filters": "Filter", "actions": "Action", "events": "Event", "tools": "Tools"}

#: The one pipe. Once it exists, rules over function files must have found something to check.
PIPE = ROOT / "pipes" / "echo_orchestrator.py"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: its short name, where (path:line), and what was found."""

    rule: str
    where: str
    what: str


@cache
def pyproject() -> dict[str, Any]:
    """pyproject.toml, parsed."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that git tracks or would track; ignored files and links are left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = (ROOT / name for name in sorted(set(listed.split("\0"))) if name)
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())


def python_files(*folders: str) -> tuple[Path, ...]:
    """Python files below the given top-level folders, all of them without arguments."""
    tops = set(folders)
    return tuple(
        path
        for path in project_files()
        if path.suffix == ".py" and (not tops or path.relative_to(ROOT).parts[0] in tops)
    )


def function_files() -> tuple[Path, ...]:
    """Files that Open WebUI executes as text: directly inside pipes, filters, actions, events and tools."""
    return tuple(path for path in python_files(*ENTRY_CLASSES) if path.parent.parent == ROOT)


def lib_names() -> tuple[str, ...]:
    """Import names of the packages in libs/, echo_workers included."""
    return tuple(sorted(p.name for p in LIBS.iterdir() if p.is_dir() and (p / "__init__.py").is_file()))


def worker_names() -> tuple[str, ...]:
    """Folders in workers/ that are packages."""
    return tuple(sorted(p.name for p in WORKERS.iterdir() if p.is_dir() and (p / "__init__.py").is_file()))


def relative(path: Path) -> str:
    """A path as the reports show it."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported_modules(tree: ast.AST) -> list[tuple[int, str]]:
    """(line, absolute module) of each import anywhere in a tree; relative imports are left out."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.append((node.lineno, node.module))
    return found
