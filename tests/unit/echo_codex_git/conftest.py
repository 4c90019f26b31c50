import shutil
from pathlib import Path

import pytest

from codex_kit import Git, make_codex
from echo_codex_git import Codex


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    return make_codex(tmp_path / "data")


@pytest.fixture
def tree(codex: Codex) -> Path:
    """Where Ada's workspace `w` lies."""
    return codex.paths.codex_dir("ada") / "w"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    return Git(tmp_path / "home")
