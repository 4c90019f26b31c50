"""The wheel must hold all that the checkout holds: function files, pictures, pages, workers."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FUNCTION_FOLDERS = ("pipes", "filters", "actions", "events", "tools")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, because a build leaves files behind."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("libs", "workers", *FUNCTION_FOLDERS):
        if (ROOT / folder).is_dir():
            shutil.copytree(ROOT / folder, source / folder, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = f"import setuptools.build_meta as b; b.build_wheel({str(target)!r})"
    ran = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return next(target.glob("*.whl"))


def test_the_wheel_holds_every_file_of_the_libs_and_workers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    wanted = {
        f"{lib.name}/{path.relative_to(real)}"
        for lib in (ROOT / "libs").iterdir()
        if (real := lib.resolve()).is_dir() and (real / "__init__.py").is_file()
        for path in real.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(wanted) > 100
    assert wanted - held == set()


def test_the_wheel_holds_the_function_files_as_they_are(wheel: Path) -> None:
    files = [path for folder in FUNCTION_FOLDERS for path in (ROOT / folder).glob("*.py")]
    assert files
    with zipfile.ZipFile(wheel) as archive:
        for path in files:
            assert archive.read(f"echo_cli/functions/{path.parent.name}/{path.name}") == path.read_bytes()
