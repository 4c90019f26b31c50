"""Many at once: threads of one process, and several processes."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from codex_kit import ADA, Git, make_codex
from echo_codex_git import Codex
from echo_codex_git.errors import WorkspaceBusyError, WorkspaceExistsError
from echo_codex_git.locks import locked
from fixtures_blocking import blocking_refused

WRITER = """
import asyncio, sys
from pathlib import Path
from codex_kit import ADA, make_codex

async def main(folder, name):
    codex = make_codex(Path(folder))
    for n in range(5):
        await codex.write("ada", "w", f"{name}/{n}", name)
        while True:
            try:
                await codex.commit("ada", "w", f"{name} {n}", ADA)
            except Exception as error:
                if type(error).__name__ != "NothingToCommitError":
                    raise
            break

asyncio.run(main(*sys.argv[1:]))
"""


async def test_threads_do_not_lose_each_others_files(codex: Codex, tree: Path, git: Git) -> None:
    await codex.create("ada", "w")

    async def work(number: int) -> None:
        await codex.write("ada", "w", f"d{number % 3}/{number}", str(number))
        await codex.status("ada", "w")

    await asyncio.gather(*(work(number) for number in range(24)))
    await codex.commit("ada", "w", "all", ADA)
    assert len(git(tree, "ls-files").split()) == 24
    git.require_whole(tree)


async def test_processes_do_not_lose_each_others_commits(codex: Codex, tree: Path, git: Git, tmp_path: Path) -> None:
    await codex.create("ada", "w")
    libs, tests = (Path(__file__).parents[3] / name for name in ("libs", "tests"))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "data"), name],
            env={"PYTHONPATH": f"{libs}:{tests}", "PATH": "/usr/bin:/bin"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two", "three")
    ]
    for process in running:
        _, errors = await asyncio.to_thread(process.communicate, timeout=60)
        assert process.returncode == 0, errors
    assert len(git(tree, "ls-files").split()) == 15
    git.require_whole(tree)
    assert git.agrees(tree, await codex.status("ada", "w"))


async def test_one_name_is_made_once(codex: Codex) -> None:
    made = await asyncio.gather(*(codex.create("ada", "w") for _ in range(8)), return_exceptions=True)
    assert [outcome for outcome in made if outcome is None] == [None]
    assert all(isinstance(outcome, WorkspaceExistsError) for outcome in made if outcome is not None)


async def test_waiting_for_a_workspace_ends(tmp_path: Path) -> None:
    codex = make_codex(tmp_path, wait_s=0.05)
    await codex.create("ada", "w")
    lock = codex.paths.codex_dir("ada") / ".echo" / "locks" / "w"
    with locked(lock, exclusive=True, wait_s=1.0), pytest.raises(WorkspaceBusyError):
        await codex.status("ada", "w")
    with locked(lock, exclusive=False, wait_s=1.0):
        await codex.status("ada", "w")
        with pytest.raises(WorkspaceBusyError):
            await codex.write("ada", "w", "a", "x")


async def test_the_event_loop_is_never_blocked(codex: Codex) -> None:
    with blocking_refused():
        await codex.create("ada", "w")
        await codex.write("ada", "w", "a", "1")
        await codex.commit("ada", "w", "one", ADA)
        await codex.create_branch("ada", "w", "side")
        await codex.switch("ada", "w", "side")
        await codex.diff("ada", "w", old="main", new="side")
        await codex.log("ada", "w")
        await codex.clone("ada", "copy", "w")
        await codex.delete("ada", "copy")
        assert await codex.workspaces("ada") == ["w"]
