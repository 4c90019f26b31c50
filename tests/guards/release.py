"""One release of Open WebUI as source text: installed, or inside a wheel."""

import ast
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel

from guards.loader import open_webui_root
from guards.project import ROOT

WHEELS = ROOT / ".cache" / "open-webui"

#: Attributes that SQLAlchemy's declarative base gives to each table class.
TABLE_ATTRIBUTES = {"metadata", "registry", "__table__", "__tablename__", "__mapper__"}


@dataclass(frozen=True, slots=True)
class Definition:
    """What a name stands for.

    Args:
        module: module of the definition.
        node: its syntax node; None for a module or a value that the source does not explain.
        bound: reached through an instance, so that a method's first parameter is filled.
    """

    module: str
    node: ast.AST | None
    bound: bool = False


class Release:
    """Source of one Open WebUI release; names are looked up without executing anything."""

    def __init__(self, name: str, source: Path) -> None:
        self.name = name
        self.version = tuple(int(part) for part in name.split("."))
        self._source = source
        self._archive = zipfile.ZipFile(source) if source.is_file() else None
        self._trees: dict[str, ast.Module | None] = {}

    def close(self) -> None:
        """Close the wheel."""
        if self._archive:
            self._archive.close()

    def tree(self, module: str) -> ast.Module | None:
        """Syntax tree of a module, None when the release has no such module."""
        if module not in self._trees:
            text = self._read(module)
            self._trees[module] = None if text is None else ast.parse(text)
        return self._trees[module]

    def _read(self, module: str) -> str | None:
        base = module.replace(".", "/")
        for name in (f"{base}.py", f"{base}/__init__.py"):
            if self._archive is None:
                path = self._source.parent / name
                if path.is_file():
                    return path.read_text(encoding="utf-8")
            elif name in self._archive.namelist():
                return self._archive.read(name).decode()
        # A folder of modules without __init__.py is a package, too.
        if self._archive is None:
            return "" if (self._source.parent / base).is_dir() else None
        return "" if any(name.startswith(f"{base}/") for name in self._archive.namelist()) else None

    def find(self, module: str, chain: tuple[str, ...]) -> Definition | None:
        """What `module:chain` stands for, None when the release lacks it."""
        tree = self.tree(module)
        if tree is None:
            return None
        if not chain:
            return Definition(module, None)
        node = _binding(tree.body, chain[0])
        if node is None:
            return self._elsewhere(module, tree, chain)
        return self._inside(module, node, chain)

    def _elsewhere(self, module: str, tree: ast.Module, chain: tuple[str, ...]) -> Definition | None:
        """A submodule, or a name that a star import or a module `__getattr__` provides."""
        if self.tree(f"{module}.{chain[0]}") is not None:
            return self.find(f"{module}.{chain[0]}", chain[1:])
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names) and node.module:
                found = self.find(node.module, chain)
                if found:
                    return found
        return Definition(module, None) if _binding(tree.body, "__getattr__") else None

    def _inside(self, module: str, node: ast.AST, chain: tuple[str, ...]) -> Definition | None:
        name, rest = chain[0], chain[1:]
        if isinstance(node, ast.Import | ast.ImportFrom):
            return self._imported(module, node, name, rest)
        if not rest:
            return Definition(module, node)
        if isinstance(node, ast.ClassDef):
            return self._member(module, node, rest, bound=False)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            made = self.find(module, (ast.unparse(node.value.func),)) if isinstance(node.value.func, ast.Name) else None
            if made and isinstance(made.node, ast.ClassDef):
                return self._member(made.module, made.node, rest, bound=True)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        return Definition(module, None)

    def _imported(
        self, module: str, node: ast.Import | ast.ImportFrom, name: str, rest: tuple[str, ...]
    ) -> Definition | None:
        alias = next(alias for alias in node.names if _bound_name(alias) == name)
        if isinstance(node, ast.Import):
            target, chain = (alias.name if alias.asname else name), rest
        else:
            target, chain = node.module or "", (alias.name, *rest)
            if node.level:
                target = ".".join([*module.split(".")[: -node.level], *filter(None, [node.module])])
        return self.find(target, chain) if target.split(".")[0] == "open_webui" else Definition(module, None)

    def _member(self, module: str, cls: ast.ClassDef, chain: tuple[str, ...], *, bound: bool) -> Definition | None:
        """An attribute of a class or of its instance, also inherited."""
        node = _binding(cls.body, chain[0]) or _set_on_self(cls, chain[0])
        if node is not None:
            return Definition(module, node, bound) if len(chain) == 1 else Definition(module, None)
        for base in cls.bases:
            dotted = tuple(ast.unparse(base).split("."))
            parent = self.find(module, dotted) if all(part.isidentifier() for part in dotted) else None
            if parent and isinstance(parent.node, ast.ClassDef):
                found = self._member(parent.module, parent.node, chain, bound=bound)
                if found:
                    return found
            given = chain[0] in TABLE_ATTRIBUTES if dotted[-1] == "Base" else False
            if given or (dotted[-1] == "BaseModel" and hasattr(BaseModel, chain[0])):
                return Definition(module, None)
        return None


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


def _binding(body: list[ast.stmt], name: str) -> ast.AST | None:
    """The statement that binds a name in a module or class body, looking into if, try and with."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == name:
                return node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(n, ast.Name) and n.id == name for target in targets for n in ast.walk(target)):
                return node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if any(_bound_name(alias) == name for alias in node.names):
                return node
        else:
            for inner in (getattr(node, part, []) for part in ("body", "orelse", "finalbody")):
                found = _binding(inner, name) if isinstance(inner, list) else None
                if found:
                    return found
            for handler in getattr(node, "handlers", []):
                found = _binding(handler.body, name)
                if found:
                    return found
    return None


def _set_on_self(cls: ast.ClassDef, name: str) -> ast.AST | None:
    for node in ast.walk(cls):
        stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if stored and ast.unparse(node) == f"self.{name}":
            return node
    return None


@cache
def installed() -> Release:
    """The release that the tests run with: the reference."""
    return Release(version("open-webui"), open_webui_root())


def downloaded(name: str) -> Release:
    """An older release; its wheel (about 100 MB) is fetched once into .cache/."""
    wheel = WHEELS / f"open_webui-{name}-py3-none-any.whl"
    if not wheel.is_file():
        WHEELS.mkdir(parents=True, exist_ok=True)
        command = ["download", "--no-deps", "--only-binary=:all:", "--dest", str(WHEELS), f"open-webui=={name}"]
        subprocess.run([*_pip(), *command], check=True, capture_output=True, timeout=600)
    return Release(name, wheel)


def _pip() -> list[str]:
    own = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    if own.returncode == 0:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        raise RuntimeError("no pip to download a wheel with")
    return [found]
