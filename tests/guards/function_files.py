"""Rules for function files that their text alone decides."""

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from echo_constants import ECHO_VERSION
from guards.loader import loader_namespace
from guards.project import ENTRY_CLASSES, Violation, imported_modules, parse, relative

MAX_LINES = 150
REQUIRED_KEYS = ("title", "id", "description", "author", "version", "license", "required_open_webui_version")

#: Filter file -> priority. Source: docs/design.md section 2. Any other filter runs after all of these.
PRIORITIES = {
    "build_environment_domain": 0,
    "tcp_keepalive_filter": 2,
    "edge_embed_bridge_filter": 5,
    "user_native_context_filter": 10,
    "context_compaction_filter": 15,
    "new_context_filter": 20,
    "conversation_rag_filter": 30,
    "app_drawer_filter": 40,
}

MUTATORS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "put_nowait",
    "remove", "setdefault", "update",
}  # fmt: skip

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Finding = tuple[int, str]
Check = Callable[[Path, str, ast.Module], Iterator[Finding]]


def violations(path: Path, folder: str | None = None) -> list[Violation]:
    """All broken rules of one function file; `folder` says what it is when it lies elsewhere."""
    text = path.read_text(encoding="utf-8")
    tree = parse(path)
    kind = folder or path.parent.name
    found = [
        Violation(rule, f"{relative(path)}:{line}", what)
        for rule, check in CHECKS.items()
        for line, what in check(path, text, tree)
    ]
    found += [Violation("entry-class", f"{relative(path)}:{line}", what) for line, what in _entry_class(kind, tree)]
    return found


def _first_line(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    if text.split("\n", 1)[0] != '"""':
        yield 1, 'the first line must be exactly """'


def _frontmatter(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    # Read as Open WebUI would if line 1 were right, so that a bad first line trips one rule and not two.
    fields = loader_namespace()["extract_frontmatter"]('"""\n' + text.split('"""', 1)[-1].lstrip("\n"))
    for key in REQUIRED_KEYS:
        if not fields.get(key):
            yield 1, f"frontmatter lacks {key}"
    if "requirements" in fields:
        yield 1, "frontmatter asks for requirements; the libs come with the installation"
    if fields.get("id", path.stem) != path.stem:
        yield 1, f"frontmatter id {fields['id']} is not the file's name"
    if fields.get("version", ECHO_VERSION) != ECHO_VERSION:
        yield 1, f"frontmatter version {fields['version']} is not ECHO_VERSION {ECHO_VERSION}"


def _rewritten(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    changed = loader_namespace()["replace_imports"](text)
    lines = zip(text.split("\n"), changed.split("\n"), strict=True)
    for number, (before, after) in enumerate(lines, 1):
        if before != after:
            yield number, f"Open WebUI would rewrite this line to: {after.strip()}"


def _length(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    lines = len(text.splitlines())
    if lines > MAX_LINES:
        yield lines, f"{lines} lines, at most {MAX_LINES}"


def _imports(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    for line, module in imported_modules(tree):
        root = module.split(".")[0]
        allowed = (
            root in sys.stdlib_module_names
            or root in {"pydantic", "starlette", "open_webui"}
            or root.startswith("echo_")
        )
        if not allowed or root in ENTRY_CLASSES or root == "echo_orchestrator":
            yield line, f"imports {module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "relative import in a file that is executed as text"


def _guarded(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    guarded = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.Try) and any(_catches_import_error(handler) for handler in block.handlers)
        for statement in block.body
        for node in ast.walk(statement)
    }
    for node in _load_time_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in guarded:
            for line, module in imported_modules(ast.Module(body=[node], type_ignores=[])):
                if module.split(".")[0].startswith("echo_") or module.split(".")[0] == "open_webui":
                    yield line, f"import of {module} is not inside try/except ImportError"


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(name, ast.Name) and name.id in {"ImportError", "Exception"} for name in caught)


def _load_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run when the file is loaded: everything outside functions and `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _load_time_nodes(child)


def _search_path(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        dotted = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        imports_path = isinstance(node, ast.ImportFrom) and node.module in {"sys", "site"}
        if dotted in {"sys.path", "site.addsitedir", "sys.meta_path"}:
            yield node.lineno, dotted
        elif imports_path and {alias.name for alias in node.names} & {"path", "addsitedir", "meta_path"}:
            yield node.lineno, ast.unparse(node)


def _self_state(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for method in (node for node in cls.body if isinstance(node, FunctionNode) and node.name != "__init__"):
            for node in ast.walk(method):
                if _writes_self(node):
                    yield node.lineno, f"{method.name}: {ast.unparse(node).splitlines()[0]}"


def _writes_self(node: ast.AST) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        mutates = isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS and name.count(".") >= 2
        sets = name in {"setattr", "object.__setattr__"} and bool(node.args)
        return (mutates and _rooted_in_self(node.func)) or (sets and ast.unparse(node.args[0]) == "self")
    flat = [leaf for target in targets for leaf in _leaves(target)]
    return any(_rooted_in_self(leaf) for leaf in flat)


def _leaves(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [leaf for element in target.elts for leaf in _leaves(element)]
    return [target.value] if isinstance(target, ast.Starred) else [target]


def _rooted_in_self(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        if isinstance(node, ast.Name):
            return node.id == "self"
    return False


def _async_only(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    for cls in (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in ENTRY_CLASSES.values()):
        for method in (node for node in cls.body if isinstance(node, ast.FunctionDef)):
            static = any(ast.unparse(d) in {"staticmethod", "classmethod", "property"} for d in method.decorator_list)
            yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(method))
            if yields or not (static or method.name.startswith("_")):
                yield method.lineno, f"{cls.name}.{method.name} is not async"


def _priority(path: Path, text: str, tree: ast.Module) -> Iterator[Finding]:
    for cls in (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Filter"):
        default = _valve_default(cls, "priority")
        wanted = PRIORITIES.get(path.stem)
        if default is None:
            yield cls.lineno, "Filter.Valves has no priority with a literal default"
        elif wanted is not None and default != wanted:
            yield cls.lineno, f"priority {default}, the design says {wanted}"
        elif wanted is None and default <= max(PRIORITIES.values()):
            yield cls.lineno, f"priority {default}: a filter outside the design's list runs after all of them"


def _valve_default(entry: ast.ClassDef, name: str) -> int | None:
    for valves in (node for node in entry.body if isinstance(node, ast.ClassDef) and node.name == "Valves"):
        for field in (node for node in valves.body if isinstance(node, ast.AnnAssign)):
            if isinstance(field.target, ast.Name) and field.target.id == name:
                value = field.value
                if isinstance(value, ast.Call):
                    given = [word.value for word in value.keywords if word.arg == "default"]
                    value = (given or value.args or [None])[0]
                if isinstance(value, ast.Constant) and type(value.value) is int:
                    return value.value
    return None


def _entry_class(kind: str, tree: ast.Module) -> Iterator[Finding]:
    bound = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    bound |= {
        alias.asname or alias.name
        for node in _load_time_nodes(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    entries = bound & set(ENTRY_CLASSES.values())
    if entries != {ENTRY_CLASSES[kind]}:
        yield 1, f"the loader would see {sorted(entries)}, not {ENTRY_CLASSES[kind]}"


CHECKS: dict[str, Check] = {
    "first-line": _first_line,
    "frontmatter": _frontmatter,
    "rewritten": _rewritten,
    "length": _length,
    "imports": _imports,
    "guarded-imports": _guarded,
    "search-path": _search_path,
    "self-state": _self_state,
    "async-only": _async_only,
    "priority": _priority,
}
