"""Branches, merges and conflicts, judged by stock Git."""

from pathlib import Path

import pytest

from codex_kit import ADA, Git
from echo_codex_git import Codex
from echo_codex_git.errors import (
    BranchExistsError,
    BranchMissingError,
    BranchNameError,
    ConflictsLeftError,
    MergeRefusedError,
    MergeUnfinishedError,
    UncommittedChangesError,
)

LINES = "".join(f"line {n}\n" for n in range(10))


async def start(codex: Codex, **files: str) -> None:
    await codex.create("ada", "w")
    for path, text in {"a": LINES, **files}.items():
        await codex.write("ada", "w", path, text)
    await codex.commit("ada", "w", "base", ADA)
    await codex.create_branch("ada", "w", "side")


async def on_side(codex: Codex, path: str, text: str | None) -> None:
    await codex.switch("ada", "w", "side")
    await put(codex, path, text)
    await codex.switch("ada", "w", "main")


async def put(codex: Codex, path: str, text: str | None) -> None:
    if text is None:
        await codex.delete_file("ada", "w", path)
    else:
        await codex.write("ada", "w", path, text)
    await codex.commit("ada", "w", f"change {path}", ADA)


async def test_switching_brings_the_other_files(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex)
    await codex.switch("ada", "w", "side")
    await put(codex, "deep/er/new", "x")
    assert git.agrees(tree, await codex.status("ada", "w"))
    await codex.switch("ada", "w", "main")
    assert not (tree / "deep").exists()
    assert git.agrees(tree, await codex.status("ada", "w"))
    assert await codex.branches("ada", "w") == ["main", "side"]


async def test_a_merge_without_conflicts_is_committed(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex)
    await on_side(codex, "a", LINES.replace("line 8", "their 8"))
    await put(codex, "a", LINES.replace("line 1", "our 1"))
    result = await codex.merge("ada", "w", "side", ADA)
    assert result.outcome == "merged"
    assert (tree / "a").read_text() == LINES.replace("line 8", "their 8").replace("line 1", "our 1")
    assert len(git(tree, "log", "-1", "--format=%P").split()) == 2
    git.require_whole(tree)
    assert git.agrees(tree, await codex.status("ada", "w"))
    assert (await codex.merge("ada", "w", "side", ADA)).outcome == "up_to_date"


async def test_a_branch_ahead_is_taken_as_it_is(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex)
    await on_side(codex, "b", "new")
    result = await codex.merge("ada", "w", "side", ADA)
    assert result.outcome == "fast_forward"
    assert git(tree, "rev-parse", "main") == git(tree, "rev-parse", "side")
    assert git.agrees(tree, await codex.status("ada", "w"))


async def test_conflicts_are_reported_and_resolved(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex)
    await on_side(codex, "a", LINES.replace("line 4", "their 4"))
    await put(codex, "a", LINES.replace("line 4", "our 4"))
    result = await codex.merge("ada", "w", "side", ADA)
    assert (result.outcome, result.conflicts) == ("conflicts", ("a",))
    assert "<<<<<<< HEAD\nour 4\n=======\ntheir 4\n>>>>>>> side\n" in (tree / "a").read_text()
    status = await codex.status("ada", "w")
    assert status.merging
    assert status.changes == {"a": "conflicted"}
    assert git.agrees(tree, status)
    with pytest.raises(ConflictsLeftError):
        await codex.commit("ada", "w", "too early", ADA)
    with pytest.raises(MergeUnfinishedError):
        await codex.switch("ada", "w", "side")
    await codex.write("ada", "w", "a", LINES.replace("line 4", "both 4"))
    made = await codex.commit("ada", "w", "Merge side", ADA)
    assert len(made.parents) == 2
    git.require_whole(tree)
    assert git.agrees(tree, await codex.status("ada", "w"))


async def test_stock_git_can_finish_the_merge(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex)
    await on_side(codex, "a", "theirs\n")
    await put(codex, "a", "ours\n")
    await codex.merge("ada", "w", "side", ADA)
    git(tree, "checkout", "--theirs", "a")
    git(tree, "add", "a")
    git(tree, "commit", "-q", "--no-edit")
    assert git(tree, "log", "-1", "--format=%s").strip() == "Merge branch 'side'"
    assert (await codex.status("ada", "w")).changes == {}


async def test_a_merge_can_be_given_up(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex, other="x")
    await codex.switch("ada", "w", "side")
    await codex.write("ada", "w", "added", "n")
    await put(codex, "a", "theirs\n")
    await codex.switch("ada", "w", "main")
    await put(codex, "a", "ours\n")
    await codex.merge("ada", "w", "side", ADA)
    await codex.abort_merge("ada", "w")
    assert (tree / "a").read_text() == "ours\n"
    assert not (tree / "added").exists()
    assert (await codex.status("ada", "w")).changes == {}
    assert git.agrees(tree, await codex.status("ada", "w"))
    with pytest.raises(MergeUnfinishedError):
        await codex.abort_merge("ada", "w")


async def test_a_file_deleted_here_and_changed_there_conflicts(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex)
    await on_side(codex, "a", "theirs\n")
    await put(codex, "a", None)
    result = await codex.merge("ada", "w", "side", ADA)
    assert result.conflicts == ("a",)
    assert (tree / "a").read_text() == "theirs\n"
    assert git.agrees(tree, await codex.status("ada", "w"))
    await codex.delete_file("ada", "w", "a")
    await codex.commit("ada", "w", "gone for good", ADA)
    assert git.agrees(tree, await codex.status("ada", "w"))


async def test_a_file_that_meets_a_folder_is_refused_untouched(codex: Codex, tree: Path) -> None:
    await start(codex)
    await on_side(codex, "x/y", "1")
    await put(codex, "x", "2")
    with pytest.raises(MergeRefusedError):
        await codex.merge("ada", "w", "side", ADA)
    status = await codex.status("ada", "w")
    assert (status.merging, status.changes) == (False, {})


async def test_unsaved_work_is_never_lost(codex: Codex, tree: Path) -> None:
    await start(codex, **{".gitignore": "ignored\n"})
    await codex.switch("ada", "w", "side")
    await codex.write("ada", "w", "new/file", "theirs")
    await put(codex, "b", "theirs")
    (tree / "ignored").write_text("theirs")
    await codex.switch("ada", "w", "main")
    await codex.write("ada", "w", "a", "unsaved")
    with pytest.raises(UncommittedChangesError):
        await codex.switch("ada", "w", "side")
    await codex.write("ada", "w", "a", LINES)
    await codex.write("ada", "w", "b", "untracked, in the way")
    with pytest.raises(UncommittedChangesError):
        await codex.merge("ada", "w", "side", ADA)
    assert (tree / "b").read_text() == "untracked, in the way"
    await codex.delete_file("ada", "w", "b")
    await codex.write("ada", "w", "new", "a file where a folder comes")
    with pytest.raises(UncommittedChangesError):
        await codex.switch("ada", "w", "side")
    await codex.delete_file("ada", "w", "new")
    await codex.switch("ada", "w", "side")


async def test_histories_that_cross_merge_as_in_git(codex: Codex, tree: Path, git: Git) -> None:
    await start(codex)
    await on_side(codex, "a", LINES.replace("line 8", "their 8"))
    await put(codex, "a", LINES.replace("line 1", "our 1"))
    await codex.create_branch("ada", "w", "main-before")
    await codex.merge("ada", "w", "side", ADA)
    await codex.switch("ada", "w", "side")
    await codex.merge("ada", "w", "main-before", ADA)
    await put(codex, "a", (tree / "a").read_text().replace("line 5", "their 5"))
    await codex.switch("ada", "w", "main")
    assert len(git(tree, "merge-base", "--all", "main", "side").split()) == 2
    result = await codex.merge("ada", "w", "side", ADA)
    assert result.outcome == "merged"
    assert (tree / "a").read_text() == (
        LINES.replace("line 8", "their 8").replace("line 1", "our 1").replace("line 5", "their 5")
    )


@pytest.mark.parametrize(
    "name",
    ["", "HEAD", "head", "-x", "a..b", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a b", "a~1", "a^", "a:b", "a@{1}",
     "../main", "refs\\x", "é" * 3, "x" * 101, "a\n", "a.", "a./b", "b/-x"],
)  # fmt: skip
async def test_odd_branch_names_are_refused(codex: Codex, name: str) -> None:
    await start(codex)
    with pytest.raises(BranchNameError):
        await codex.create_branch("ada", "w", name)
    assert await codex.branches("ada", "w") == ["main", "side"]


async def test_branches_that_hide_each_other_are_refused(codex: Codex) -> None:
    await start(codex)
    for name in ("side", "side/deeper"):
        with pytest.raises(BranchExistsError):
            await codex.create_branch("ada", "w", name)
    with pytest.raises(BranchMissingError):
        await codex.switch("ada", "w", "nowhere")
