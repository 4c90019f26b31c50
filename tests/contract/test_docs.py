"""The written ground says what the code says."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from echo_constants import ECHO_VERSION
from guards.function_files import PRIORITIES
from guards.project import LIBS, PIPE, ROOT, function_files, lib_names, parse, pyproject, python_files, worker_names

SCRIPT = ROOT / "scripts" / "docs_tables.py"
PAGES = tuple(sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s\"[^\"]*\")?\)")
HEADING = re.compile(r"^(#{1,6}) ", re.MULTILINE)


@pytest.fixture(scope="module")
def docs_tables() -> ModuleType:
    """The script that writes the tables, as a module."""
    spec = importlib.util.spec_from_file_location("docs_tables", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(name: str) -> str:
    """A page of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_tables_of_the_docs_equal_the_code() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"],
        env={"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PATH": "", "PYTHONPATH": str(LIBS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, f"run `python scripts/docs_tables.py`\n{done.stdout}{done.stderr}"


def test_every_error_class_in_the_source_is_in_the_errors_page() -> None:
    table = read("docs/errors.md")
    codes: dict[str, str] = {}
    for path in python_files("libs", "workers"):
        for cls in (node for node in ast.walk(parse(path)) if isinstance(node, ast.ClassDef)):
            code = _literal(cls, "code")
            if code is None or "message" not in {ast.unparse(target) for target in _assigned(cls)}:
                continue
            assert code not in codes, f"{cls.name} and {codes[code]} share the code {code}"
            codes[code] = cls.name
            assert f"| `{code}` | `" in table, f"{cls.name} ({path.name}) is not in docs/errors.md"
            assert f".{cls.name}` |" in table
    assert "upstream" in codes


def _assigned(cls: ast.ClassDef) -> list[ast.expr]:
    targets = [node.targets[0] for node in cls.body if isinstance(node, ast.Assign)]
    return targets + [node.target for node in cls.body if isinstance(node, ast.AnnAssign)]


def _literal(cls: ast.ClassDef, name: str) -> str | None:
    for node in (node for node in cls.body if isinstance(node, ast.Assign | ast.AnnAssign)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if ast.unparse(target) == name and isinstance(node.value, ast.Constant):
            return str(node.value.value)
    return None


def test_every_error_says_the_same_in_both_languages() -> None:
    rows = re.findall(r"^\| `(\S+)` \| .* \| (.+) \| (.+) \|$", read("docs/errors.md"), re.MULTILINE)
    assert len(rows) > 20
    for code, english, french in rows:
        assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", french)), code
        assert english != french or "model" in code, code
        assert english != french, code


def test_the_check_notices_a_stale_table(
    docs_tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    page.write_text("before\n<!-- table: filters -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr(docs_tables, "ROOT", tmp_path)
    assert docs_tables.main(check=True) == 1
    assert "old" in page.read_text(encoding="utf-8")
    assert docs_tables.main(check=False) == 0
    assert docs_tables.main(check=True) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text


def test_a_valve_reaches_its_page(docs_tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "filters").mkdir()
    (tmp_path / "filters" / "planted.py").write_text(
        '"""\ndescription: Planted | by a test.\n"""\nfrom pydantic import BaseModel, Field\n\n\nclass Filter:\n'
        "    class Valves(BaseModel):\n"
        '        priority: int = Field(default=7, description="Lower runs first | really.")\n'
        "    class UserValves(BaseModel):\n"
        '        tone: str = Field(default="calm", description="How to speak.")\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(docs_tables, "ROOT", tmp_path)
    valves = docs_tables.valves_table()
    assert "| `priority` | admin | `int` | `7` | Lower runs first \\| really. |" in valves
    assert "| `tone` | user | `str` | `'calm'` | How to speak. |" in valves
    assert "| 7 | `planted.py` | Planted \\| by a test. |" in docs_tables.filters_table()


def test_every_valve_is_described() -> None:
    described = re.findall(r"^\| `\w+` \| (?:admin|user) \| .* \| (.*) \|$", read("docs/valves.md"), re.MULTILINE)
    assert bool(described) == PIPE.exists()
    assert all(len(text) > 10 for text in described)


def test_filter_page_has_the_designs_order() -> None:
    shown = re.findall(r"^\| (\d+) \| `(\w+)\.py` \|", read("docs/filters.md"), re.MULTILINE)
    filters = {path.stem for path in function_files() if path.parent.name == "filters"}
    assert {name for _, name in shown} == filters
    assert all(PRIORITIES.get(name, int(priority)) == int(priority) for priority, name in shown)


def test_tools_page_names_every_toolkit() -> None:
    page = read("docs/tools.md")
    shown = set(re.findall(r"^\| `(\w+)` \| `\w+` \| .+ \|$", page, re.MULTILINE))
    assert shown == {path.stem for path in function_files() if path.parent.name == "tools"}
    assert all(f"## {name}" in page for name in shown)


def test_architecture_names_every_lib_and_worker() -> None:
    text = read("ARCHITECTURE.md")
    assert [name for name in lib_names() if f"`{name}`" not in text and f"libs/{name}" not in text] == []
    assert [name for name in worker_names() if f"workers/{name}" not in text] == []


def test_architecture_names_only_files_that_exist() -> None:
    named = set(
        re.findall(
            r"`((?:libs|workers|pipes|filters|events|actions|tools|docs|scripts|docker|tests)/[^`\s]*)`",
            read("ARCHITECTURE.md"),
        )
    )
    assert named
    assert [name for name in sorted(named) if not _exists(name)] == []


def _exists(name: str) -> bool:
    return any(ROOT.glob(name.rstrip("/"))) if "*" in name else (ROOT / name).exists()


def test_versions_agree_and_the_changelog_tells_this_one() -> None:
    assert pyproject()["project"]["version"] == ECHO_VERSION
    assert re.search(rf"^## \[{re.escape(ECHO_VERSION)}\] - \d{{4}}-\d\d-\d\d$", read("CHANGELOG.md"), re.MULTILINE)


def test_both_readmes_have_the_same_shape() -> None:
    english, french = read("README.md"), read("README.fr.md")
    assert HEADING.findall(english) == HEADING.findall(french)
    assert len(HEADING.findall(english)) > 3
    assert _targets(english) == _targets(french)
    assert re.findall(r"```.*?```", english, re.DOTALL) == re.findall(r"```.*?```", french, re.DOTALL)


def _targets(text: str) -> list[str]:
    """Link targets in order; the two READMEs link to each other."""
    return [target for target in LINK.findall(text) if not target.startswith("README")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_and_pictures_exist(page: Path) -> None:
    targets = [target.split("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
    relative = [target for target in targets if target and not re.match(r"[a-z]+:", target)]
    assert [target for target in relative if not (page.parent / target).exists()] == []


def test_echoctl_page_has_every_command_option_and_exit_code() -> None:
    cli = importlib.import_module("echo_cli")
    build_app = getattr(cli, "build_app", None)
    assert (build_app is not None) == (LIBS / "echo_cli" / "_app.py").is_file()
    if build_app is None:
        return
    text = read("docs/echoctl.md")
    typer_main = importlib.import_module("typer.main")
    group = typer_main.get_command(build_app())
    assert group.commands
    for name, command in group.commands.items():
        assert f"echoctl {name}" in text, name
        options = {option for param in command.params for option in param.opts if option.startswith("--")}
        assert {option for option in options if f"`{option}" not in text} == set(), name
    codes = importlib.import_module("echo_cli._exit_codes").ExitCode
    assert [code for code in codes if not re.search(rf"^\| `?{int(code)}`? \|", text, re.MULTILINE)] == []


def test_every_adr_has_its_sections() -> None:
    decisions = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert decisions
    for number, page in enumerate(decisions, 1):
        assert page.name.startswith(f"{number:04d}-")
        headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings[:4] == ["Context", "Decision", "Consequences", "Alternatives"]


def test_the_contribution_guide_fits_one_screen() -> None:
    lines = read("CONTRIBUTING.md").splitlines()
    assert len(lines) <= 60
    assert os.linesep.join(lines).count("make ") >= 2
