"""The layers of docs/design.md section 2 hold, and no package escapes them."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from guards.layers import (
    IMPURE_MODULES,
    PURE,
    contract,
    layered_names,
    open_webui_imports,
    tier_faults,
    worker_files,
    worker_imports,
)
from guards.project import LIBS, ROOT, lib_names, parse, pyproject, python_files, relative

HEAVY = ("qdrant_client", "qdrant_edge", "markitdown", "playwright", "open_webui")

IMPORT_WITHOUT = """
import importlib, json, sys
package, blocked = sys.argv[1], json.loads(sys.argv[2])
for name in blocked:
    sys.modules[name] = None
importlib.import_module(package)
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with libs/ on its path."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": str(LIBS), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def lint_imports(config: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over one configuration file."""
    call = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return python("-c", call, "--config", str(config), "--no-cache")


def test_import_linter_keeps_every_contract() -> None:
    done = lint_imports(ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_import_linter_breaks_on_a_planted_contract(tmp_path: Path) -> None:
    # The same call with a rule that the tree does break: proof that exit 0 above is a verdict and not a silence.
    config = tmp_path / "planted.toml"
    config.write_text(
        '[tool.importlinter]\nroot_packages = ["echo_core", "echo_constants"]\n'
        '[[tool.importlinter.contracts]]\nname = "Planted"\ntype = "forbidden"\n'
        'source_modules = ["echo_core.ports"]\nforbidden_modules = ["echo_core.records"]\n',
        encoding="utf-8",
    )
    done = lint_imports(config)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 broken" in done.stdout


def test_every_lib_is_in_the_layers_the_linter_and_mypy() -> None:
    libs = set(lib_names())
    assert "echo_workers" in libs
    assert layered_names() == libs
    assert set(pyproject()["tool"]["importlinter"]["root_packages"]) == libs
    assert set(pyproject()["tool"]["mypy"]["packages"]) == libs


def test_every_lib_is_typed_and_says_what_it_is_for() -> None:
    for name in lib_names():
        assert (LIBS / name / "py.typed").is_file(), name
        assert (LIBS / name / "__init__.py").read_text(encoding="utf-8").startswith('"""'), name


def test_pure_libs_are_under_the_pure_contract() -> None:
    pure = contract("Pure core")
    assert set(pure["source_modules"]) == set(PURE) & set(lib_names())
    assert set(pure["forbidden_modules"]) >= IMPURE_MODULES


def test_only_the_runtime_border_imports_open_webui() -> None:
    assert [violation for path in python_files("libs", "workers") for violation in open_webui_imports(path)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import open_webui",
        "def f():\n    from open_webui.models.chats import Chats",
        "import importlib\nimportlib.import_module('open_webui.config')",
    ],
)
def test_an_import_of_open_webui_elsewhere_is_found(source: str, tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text(source, encoding="utf-8")
    assert [violation.rule for violation in open_webui_imports(path)] == ["open-webui"]


def test_workers_do_not_import_each_other(tmp_path: Path) -> None:
    assert [found for path, worker in worker_files() for found in worker_imports(path, worker)] == []
    planted = tmp_path / "planted.py"
    planted.write_text("from echo_workers.browser.core import schemas", encoding="utf-8")
    assert worker_imports(planted, "gemini_sim")
    assert not worker_imports(planted, "browser")


def test_a_worker_keeps_the_order_server_routes_services_core(tmp_path: Path) -> None:
    assert [found for path, worker in worker_files() for found in tier_faults(path, worker)] == []
    planted = tmp_path / "services.py"
    planted.write_text("from echo_workers.browser.routes import app", encoding="utf-8")
    assert tier_faults(planted, "browser")
    planted.write_text("from echo_workers.browser.core import page", encoding="utf-8")
    assert not tier_faults(planted, "browser")


def test_every_module_says_what_it_is_for() -> None:
    modules = [path for path in python_files("libs", "workers", "scripts") if path.read_text(encoding="utf-8")]
    assert [relative(path) for path in modules if not ast.get_docstring(parse(path))] == []


@pytest.mark.parametrize("package", lib_names())
def test_lib_imports_without_the_heavy_libraries(package: str) -> None:
    done = python("-W", "error", "-c", IMPORT_WITHOUT, package, json.dumps(HEAVY))
    assert done.returncode == 0, done.stderr
