"""A codex on a temporary folder, and stock Git to judge it."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from echo_codex_git import Author, Codex, CodexLimits, RemotePolicy
from echo_codex_git.engine import Status
from echo_paths import EchoPaths

ADA = Author("Ada Lovelace", "ada@example.org")


class FixedClock:
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self.at_s = 1_700_000_000.0

    def now_s(self) -> float:
        return self.at_s

    def monotonic_s(self) -> float:
        return self.at_s

    async def sleep(self, delay_s: float) -> None:
        self.at_s += delay_s


def make_codex(folder: Path, *, policy: RemotePolicy | None = None, **limits: float) -> Codex:
    """A codex below a folder."""
    bounds = replace(CodexLimits(), **{"wait_s": 30.0, **limits})
    return Codex(EchoPaths(folder), FixedClock(), bounds, policy or RemotePolicy())


class Git:
    """Stock Git, with no configuration but the repository's own."""

    def __init__(self, home: Path) -> None:
        self._program = shutil.which("git") or ""
        home.mkdir(exist_ok=True, parents=True)
        who = {f"GIT_{role}_{field}": "git" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
        self._env = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **who}

    def dated(self, at_s: int) -> None:
        """From now on it is that second, for commits."""
        self._env |= {f"GIT_{role}_DATE": f"{at_s} +0000" for role in ("AUTHOR", "COMMITTER")}

    def __call__(self, folder: Path, *args: str, ok: bool = True, given: str | None = None) -> str:
        done = subprocess.run(
            [self._program, "-C", str(folder), *args],
            env=self._env,
            capture_output=True,
            text=True,
            input=given,
            timeout=60,
            check=False,
        )
        assert not ok or done.returncode == 0, f"git {args}: {done.stdout}{done.stderr}"
        return done.stdout

    def changes(self, folder: Path) -> dict[str, str]:
        """`git status` in the words of the codex."""
        found: dict[str, str] = {}
        for line in self(folder, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames").split("\0"):
            if line:
                found[line[3:]] = _word(line[:2])
        return found

    def require_whole(self, folder: Path) -> None:
        """The repository passes `git fsck`, strictly."""
        self(folder, "fsck", "--strict", "--no-dangling")

    def agrees(self, folder: Path, status: Status) -> bool:
        """Whether stock Git sees the same state."""
        head = self(folder, "rev-parse", "--verify", "-q", "HEAD", ok=False).strip() or None
        branch = self(folder, "symbolic-ref", "--short", "HEAD").strip()
        return (branch, head, self.changes(folder)) == (status.branch, status.head, status.changes)


def _word(code: str) -> str:
    if "U" in code or code in ("AA", "DD"):
        return "conflicted"
    if code == "??":
        return "untracked"
    if code[1] == "D" or code == "D ":
        return "deleted"
    return "added" if code[0] == "A" else "modified"
