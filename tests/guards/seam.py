"""What ECHO uses of Open WebUI, and whether a release has it, both read from source without importing either.

A use that an older supported release lacks is declared in one of two ways, which the reference release may not need:

- the import stands in a `try` whose handler catches ImportError, or
- the file has a top-level dictionary `OPEN_WEBUI_SINCE = {"open_webui.module:Name.attribute": "0.12.0"}` and asks for
  the running version before the use.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from guards.layers import may_import_open_webui
from guards.project import Violation, function_files, parse, python_files, relative
from guards.release import Definition, Release

REGISTRY = "OPEN_WEBUI_SINCE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One place where a symbol of Open WebUI is used.

    Args:
        module: the module that is imported.
        chain: names from the module to the symbol, outermost first; empty for the module itself.
        where: path:line.
        guarded: the import that binds the symbol tolerates ImportError.
        call: the call node if the symbol is called here.
        awaited: the call is awaited on the spot.
    """

    module: str
    chain: tuple[str, ...]
    where: str
    guarded: bool
    call: ast.Call | None = None
    awaited: bool = False

    @property
    def name(self) -> str:
        """`module:Name.attribute`, the form that the registry uses."""
        return f"{self.module}:{'.'.join(self.chain)}"


def seam_files() -> tuple[Path, ...]:
    """The only files that may know Open WebUI."""
    return function_files() + tuple(path for path in python_files("libs") if may_import_open_webui(path))


def since_of(paths: tuple[Path, ...]) -> dict[str, str]:
    """The registries of all files together: symbol -> first release that has it."""
    found: dict[str, str] = {}
    for path in paths:
        for node in parse(path).body:
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign):
                target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == REGISTRY and isinstance(node, ast.Assign | ast.AnnAssign):
                found |= ast.literal_eval(ast.unparse(node.value) if node.value else "{}")
    return found


def uses(path: Path) -> list[Use]:
    """Every use of Open WebUI in a file: imports, attributes of what they bind, and calls."""
    tree = parse(path)
    guarded = _guarded_nodes(tree)
    bound: dict[str, Use] = {}
    for node in ast.walk(tree):
        for name, use in _bindings(path, node, guarded=id(node) in guarded):
            bound[name] = use
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = list(bound.values())
    for node in ast.walk(tree):
        base = _chain(node)
        if base is None or base[0] not in bound:
            continue
        root = bound[base[0]]
        call = calls.get(id(node))
        if base[1] or call:
            found.append(
                Use(
                    module=root.module,
                    chain=root.chain + base[1],
                    where=f"{relative(path)}:{node.lineno if isinstance(node, ast.expr) else 0}",
                    guarded=root.guarded,
                    call=call,
                    awaited=call is not None and id(call) in awaited,
                )
            )
    return found


def _guarded_nodes(tree: ast.AST) -> set[int]:
    found: set[int] = set()
    for block in (node for node in ast.walk(tree) if isinstance(node, ast.Try)):
        caught = {name for handler in block.handlers for name in _names(handler.type)}
        if caught & {"ImportError", "Exception"}:
            found |= {id(node) for statement in block.body for node in ast.walk(statement)}
    return found


def _names(node: ast.expr | None) -> list[str]:
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    return [element.id for element in elements if isinstance(element, ast.Name)]


def _bindings(path: Path, node: ast.AST, *, guarded: bool) -> Iterator[tuple[str, Use]]:
    """(local name, what it stands for) for an import statement or `x = import_module("open_webui…")`."""
    if not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign):
        return
    where = f"{relative(path)}:{node.lineno}"
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "open_webui":
                module = alias.name if alias.asname else "open_webui"
                yield alias.asname or "open_webui", Use(module=module, chain=(), where=where, guarded=guarded)
                if not alias.asname:
                    yield f"<{alias.name}>", Use(module=alias.name, chain=(), where=where, guarded=guarded)
    elif isinstance(node, ast.ImportFrom):
        if node.level == 0 and (node.module or "").split(".")[0] == "open_webui":
            for alias in node.names:
                use = Use(module=node.module or "", chain=(alias.name,), where=where, guarded=guarded)
                yield alias.asname or alias.name, use
    elif isinstance(node.value, ast.Call) and ast.unparse(node.value.func).endswith("import_module"):
        first = node.value.args[0] if node.value.args else None
        if isinstance(first, ast.Constant) and str(first.value).split(".")[0] == "open_webui":
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, Use(module=str(first.value), chain=(), where=where, guarded=guarded)


def _chain(node: ast.AST) -> tuple[str, tuple[str, ...]] | None:
    """(`Chats`, (`get`,)) for `Chats.get`, also written getattr(Chats, "get")."""
    names: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call) and _is_getattr(node):
            names.append(str(node.args[1].value))  # type: ignore[attr-defined]
            node = node.args[0]
        elif isinstance(node, ast.Name):
            return node.id, tuple(reversed(names))
        else:
            return None


def _is_getattr(node: ast.Call) -> bool:
    named = isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2
    return named and isinstance(node.args[1], ast.Constant)


def missing(use: Use, release: Release, since: dict[str, str], *, reference: bool) -> list[Violation]:
    """Why a release does not serve a use; empty when it does, or when the use is declared as newer."""
    first = since.get(use.name)
    if first is not None and release.version < _version(first):
        return []
    definition = release.find(use.module, use.chain)
    if definition is None:
        if use.guarded and not reference:
            return []
        return [Violation("seam", use.where, f"{use.name} is not in Open WebUI {release.name}")]
    if use.call is None:
        return []
    return [
        Violation("seam-call", use.where, f"{use.name}: {what} (Open WebUI {release.name})")
        for what in call_faults(use, definition)
    ]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def call_faults(use: Use, definition: Definition) -> list[str]:
    """What the found function would refuse about the call; nothing for classes and opaque values."""
    function = definition.node
    call = use.call
    if call is None or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    faults = []
    decorated = bool(function.decorator_list)
    if use.awaited and isinstance(function, ast.FunctionDef) and not decorated:
        faults.append("awaited, but not async")
    spec = function.args
    positional = [argument.arg for argument in spec.posonlyargs + spec.args]
    if definition.bound and not any(ast.unparse(d) == "staticmethod" for d in function.decorator_list):
        positional = positional[1:]
    names = set(positional) | {argument.arg for argument in spec.kwonlyargs}
    keywords = {word.arg for word in call.keywords if word.arg}
    if not spec.kwarg:
        faults += [f"no parameter {word}" for word in sorted(keywords - names)]
    if not spec.vararg and len(call.args) > len(positional):
        faults.append(f"{len(call.args)} positional arguments, it takes {len(positional)}")
    spread = any(isinstance(argument, ast.Starred) for argument in call.args) or any(not w.arg for w in call.keywords)
    required = positional[: len(positional) - len(spec.defaults)]
    required += [a.arg for a, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None]
    lacking = set(required) - set(positional[: len(call.args)]) - keywords
    if lacking and not spread:
        faults.append(f"lacks {', '.join(sorted(lacking))}")
    return faults
