"""What must not be in the repository: secrets, one machine's paths, and tests or handlers that hide a failure."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from guards.project import ROOT, Violation, parse, relative

#: Shapes of real credentials. Source: the prefixes that Google documents for API keys, OAuth tokens and secrets.
SECRETS = {
    "api-key": re.compile(r"AIza[0-9A-Za-z_-]{30}"),
    "access-token": re.compile(r"ya29\.[0-9A-Za-z_-]{20}"),
    "client-secret": re.compile(r"GOCSPX-[0-9A-Za-z_-]{20}"),
    "github-token": re.compile(r"gh[pousr]_[0-9A-Za-z]{30}"),
    "private-key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"),
    "json-web-token": re.compile(r"eyJ[0-9A-Za-z_-]{15,}\.eyJ[0-9A-Za-z_-]{15,}\.[0-9A-Za-z_-]{15,}"),
}

#: Folders that hold a person's or a build machine's files; the project is the same everywhere. `echo` is the account
#: inside our containers.
PERSONAL_PATH = re.compile(r"(?<![\w.$}~:/-])/(?:home|Users|root|work|workspace|builds)/(?!echo\b)[\w.-]+")

#: A package index is the machine's choice and stays in its own configuration.
INDEX = re.compile(
    r"--(?:extra-)?index-url|^\s*(?:extra-)?index-url\s*=|--[f]ind-links|^\s*find-links\s*=|--[t]rusted-host"
    r"|^\s*registry\s*=\s*\S|\"resolved\":\s*\"https?:|https?://(?:pypi|registry)\.[\w.-]+",
    re.MULTILINE,
)


def text_of(path: Path) -> str:
    """A file as text; bytes that are not UTF-8 give an empty string."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def text_faults(path: Path) -> list[Violation]:
    """Secrets, personal paths and package indexes in a file of any kind."""
    patterns = {**SECRETS, "personal-path": PERSONAL_PATH, "index": INDEX, "this-machine": _this_machine()}
    found = []
    for number, line in enumerate(text_of(path).splitlines(), 1):
        for rule, pattern in patterns.items():
            if pattern.search(line):
                # The line itself stays out of the report: it may hold a secret.
                found.append(Violation(rule, f"{relative(path)}:{number}", rule))
    return found


def _this_machine() -> re.Pattern[str]:
    """The folders in which this run happens; each machine looks for its own."""
    places = {str(ROOT), sys.prefix, sys.base_prefix} - {"/", "/usr", "/usr/local"}
    return re.compile("|".join(f"{re.escape(place)}/" for place in sorted(places)))


def handler_faults(path: Path) -> list[Violation]:
    """Handlers that catch everything and do nothing."""
    found = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.ExceptHandler) and _broad(node.type) and all(_idle(step) for step in node.body):
            found.append(Violation("swallowed", f"{relative(path)}:{node.lineno}", "except without a word"))
        elif isinstance(node, ast.Call) and _suppresses_all(node):
            found.append(Violation("swallowed", f"{relative(path)}:{node.lineno}", ast.unparse(node)))
    return found


def _broad(node: ast.expr | None) -> bool:
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(element is None or ast.unparse(element) in {"Exception", "BaseException"} for element in elements)


def _suppresses_all(node: ast.Call) -> bool:
    return ast.unparse(node.func).split(".")[-1] == "suppress" and any(_broad(argument) for argument in node.args)


def _idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass | ast.Continue) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def dishonesty(path: Path) -> list[Violation]:
    """Tests that cannot fail, never run, or wait for the clock."""
    tree = parse(path)
    found = [
        Violation(rule, f"{relative(path)}:{line}", what)
        for check in (_asserting, _skipping, _sleeping)
        for rule, line, what in check(tree)
    ]
    return found


Finding = tuple[str, int, str]


def _asserting(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            fixture = any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
            if not (fixture or _can_fail(node)):
                yield "asserts-nothing", node.lineno, node.name


def _can_fail(function: ast.AST) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).split(".")[-1]
            if re.match(r"(raises|warns|fail$|_?assert|_?expect|_?check|_?verify|run_state_machine_as_test$)", called):
                return True
    return False


def _skipping(tree: ast.Module) -> Iterator[Finding]:
    conditional = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If | ast.ExceptHandler)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if name in {"pytest.mark.skip", "pytest.mark.xfail"}:
            yield "skipped-for-ever", node.lineno, name  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            constant = bool(node.args) and isinstance(node.args[0], ast.Constant)
            never = called in {"pytest.skip", "pytest.xfail"} and id(node) not in conditional
            if never or (called == "pytest.mark.skipif" and constant):
                yield "skipped-for-ever", node.lineno, called


def _sleeping(tree: ast.Module) -> Iterator[Finding]:
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = ast.unparse(node.func)
        if called in {"time.sleep", "sleep"} or called.endswith(".wait_for_timeout"):
            yield "sleeps", node.lineno, ast.unparse(node)
