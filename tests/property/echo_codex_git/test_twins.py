"""The codex and stock Git do the same work side by side and always hold the same files."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from codex_kit import ADA, Git
from echo_codex_git import CodexLimits, branching, engine
from echo_codex_git.errors import NothingToCommitError
from echo_codex_git.repository import Repository
from echo_codex_git.workspaces import Workspaces

T = TypeVar("T")

PATHS = ("a", "b", "d/c", "d/e/f", "é")
BRANCHES = ("main", "one", "two")


class Twins(RuleBasedStateMachine):
    """Lines are never used twice, so that there is one shortest way from a text to another and merges compare."""

    outcomes: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.git = Git(self.folder / "home")
        self.workspaces = Workspaces(self.folder / "ours", CodexLimits())
        self.ours = self.folder / "ours" / "w"
        self.theirs = self.folder / "git"
        self.fresh = 0
        self.at_s = 1_700_000_000

    @initialize()
    def begin(self) -> None:
        with self.workspaces.new("w"):
            pass
        self.theirs.mkdir()
        self.git(self.theirs, "init", "-q", "-b", "main")
        self._write("a", [self._line() for _ in range(8)])
        self._commit()

    def teardown(self) -> None:
        if (self.ours / ".git").is_dir():
            self.git.require_whole(self.ours)
        shutil.rmtree(self.folder)

    @rule(path=st.sampled_from(PATHS), at=st.integers(0, 7), kind=st.sampled_from(["replace", "insert", "delete"]))
    def edit(self, path: str, at: int, kind: str) -> None:
        file = self.theirs / path
        lines = file.read_text().splitlines(keepends=True) if file.exists() else [self._line() for _ in range(6)]
        at = min(at, len(lines))
        lines[at : at + (kind != "insert")] = [] if kind == "delete" else [self._line()]
        self._write(path, lines)

    @rule(path=st.sampled_from(PATHS))
    def delete(self, path: str) -> None:
        if (self.theirs / path).exists():
            self._ours(lambda repo: engine.delete_file(repo, path))
            (self.theirs / path).unlink()

    @rule()
    def commit(self) -> None:
        self._commit()

    @rule(name=st.sampled_from(BRANCHES))
    def branch_or_switch(self, name: str) -> None:
        self._commit()
        if name not in self._ours(Repository.branches):
            self._ours(lambda repo: branching.create_branch(repo, name))
            self.git(self.theirs, "branch", name)
        self._ours(lambda repo: branching.switch(repo, name))
        self.git(self.theirs, "switch", "-q", name)

    @precondition(lambda self: len(self._ours(Repository.branches)) > 1)
    @rule(name=st.sampled_from(BRANCHES))
    def merge(self, name: str) -> None:
        if name not in self._ours(Repository.branches):
            return
        self._commit()
        at_s = self._tick()
        crossed = len(self.git(self.theirs, "merge-base", "--all", "HEAD", name).split()) > 1
        result = self._ours(lambda repo: branching.merge(repo, name, ADA, at_s))
        self.outcomes[result.outcome] += 1
        self.git(self.theirs, "merge", "-q", "--no-edit", "-Xno-renames", name, ok=False)
        unmerged = self.git(self.theirs, "diff", "--name-only", "--diff-filter=U", "-z").split("\0")[:-1]
        if not crossed:
            assert sorted(result.conflicts) == sorted(unmerged)
        if result.conflicts or unmerged:
            if result.conflicts:
                self._ours(branching.abort_merge)
            else:
                self._back(self.ours)
            if unmerged:
                self.git(self.theirs, "merge", "--abort")
            else:
                self._back(self.theirs)

    @invariant()
    def same_files_and_status(self) -> None:
        if not (self.theirs / ".git").is_dir():
            return
        tree = "HEAD^{tree}"
        ours = self.git(self.ours, "rev-parse", "--verify", "-q", tree, ok=False)
        assert ours == self.git(self.theirs, "rev-parse", "--verify", "-q", tree, ok=False)
        status = self._ours(engine.status)
        assert self.git.agrees(self.ours, status)
        assert status.changes == self.git.changes(self.theirs)

    def _ours(self, step: Callable[[Repository], T]) -> T:
        with self.workspaces.open("w", exclusive=True) as repo:
            return step(repo)

    def _line(self) -> str:
        self.fresh += 1
        return f"line {self.fresh}\n"

    def _write(self, path: str, lines: list[str]) -> None:
        text = "".join(lines)
        self._ours(lambda repo: engine.write_file(repo, path, text.encode()))
        (self.theirs / path).parent.mkdir(parents=True, exist_ok=True)
        (self.theirs / path).write_text(text)

    def _tick(self) -> int:
        """The next second, for both: commits that are alike but for their time are one commit, or not, in both."""
        self.at_s += 1
        self.git.dated(self.at_s)
        return self.at_s

    def _commit(self) -> None:
        at_s = self._tick()
        self.git(self.theirs, "add", "-A")
        self.git(self.theirs, "commit", "-qm", "m", ok=False)
        try:
            self._ours(lambda repo: engine.commit(repo, "m", ADA, at_s))
        except NothingToCommitError:
            assert self.git(self.ours, "status", "--porcelain") == ""

    def _back(self, folder: Path) -> None:
        """Take a merge back that only one side could do without a conflict."""
        self.git(folder, "reset", "-q", "--hard", "HEAD~1")


def outcomes_of(examples: int, steps: int) -> Counter[str]:
    """Run the machine; returns how often a merge ended in which way."""
    Twins.outcomes = Counter()
    chosen = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Twins, settings=chosen)
    return Twins.outcomes


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_codex_and_stock_git_stay_equal() -> None:
    assert outcomes_of(examples=10, steps=14)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_codex_and_stock_git_stay_equal_for_long() -> None:
    assert outcomes_of(examples=60, steps=30)
