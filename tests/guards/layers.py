"""Who may import whom, as far as import-linter cannot say it."""

import ast
from pathlib import Path

from guards.project import LIBS, WORKERS, Violation, imported_modules, parse, pyproject, python_files, relative

#: Source: docs/design.md section 2.
PURE = ("echo_constants", "echo_utils", "echo_events", "echo_prompts", "echo_protocol", "echo_aec", "echo_core")
#: Inside a worker, an earlier tier may import a later one. Source: docs/design.md section 2.
TIERS = ("server", "routes", "services", "core")
IMPURE_MODULES = {"open_webui", "httpx", "aiosqlite", "sqlite3", "socket", "asyncio", "subprocess", "time", "random"}


def contract(name: str) -> dict[str, list[str]]:
    """One import-linter contract of pyproject.toml by its name."""
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    return dict(next(entry for entry in contracts if entry["name"] == name))


def layered_names() -> set[str]:
    """Every package named in the layers contract."""
    return {name.strip() for line in contract("Library layers")["layers"] for name in line.split("|")}


def may_import_open_webui(path: Path) -> bool:
    """Open WebUI is known to function files and to echo_runtime's `_owui*` modules."""
    return path.parent == LIBS / "echo_runtime" and path.name.startswith("_owui")


def open_webui_imports(path: Path) -> list[Violation]:
    """A violation for each import of Open WebUI, also one by name through importlib."""
    if may_import_open_webui(path):
        return []
    tree = parse(path)
    found = [(line, module) for line, module in imported_modules(tree) if module.split(".")[0] == "open_webui"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"import_module", "__import__"}:
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and str(first.value).split(".")[0] == "open_webui":
                found.append((node.lineno, str(first.value)))
    return [Violation("open-webui", f"{relative(path)}:{line}", module) for line, module in found]


def worker_imports(path: Path, worker: str) -> list[Violation]:
    """A violation for each import of another worker; workers talk over HTTP."""
    found = []
    for line, module in imported_modules(parse(path)):
        parts = module.split(".")
        if parts[0] == "echo_workers" and len(parts) > 1 and parts[1] != worker:
            found.append(Violation("worker", f"{relative(path)}:{line}", module))
    return found


def tier_faults(path: Path, worker: str) -> list[Violation]:
    """A violation for each import against the order inside a worker: server, routes, services, core."""
    own = path.relative_to(WORKERS / worker).with_suffix("").parts[0] if path.is_relative_to(WORKERS) else path.stem
    if own not in TIERS:
        return []
    found = []
    for line, module in imported_modules(parse(path)):
        parts = module.split(".")
        if parts[:2] == ["echo_workers", worker] and len(parts) > 2 and parts[2] in TIERS[: TIERS.index(own)]:
            found.append(Violation("tier", f"{relative(path)}:{line}", module))
    return found


def worker_files() -> list[tuple[Path, str]]:
    """(file, worker) for each Python file of a worker."""
    files = (path for path in python_files("workers") if path.parent != WORKERS)
    return [(path, path.relative_to(WORKERS).parts[0]) for path in files]
