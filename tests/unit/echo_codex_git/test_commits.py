"""Files and commits, judged by stock Git."""

from pathlib import Path

import pytest

from codex_kit import ADA, Git, make_codex
from echo_codex_git import Author, Codex
from echo_codex_git.errors import (
    CodexLimitError,
    FileMissingError,
    NothingToCommitError,
    NotTextError,
    RevisionMissingError,
    WorkspaceDamagedError,
    WorkspaceExistsError,
    WorkspaceMissingError,
)


async def test_a_commit_is_seen_by_stock_git(codex: Codex, tree: Path, git: Git) -> None:
    await codex.create("ada", "w")
    await codex.write("ada", "w", "src/é.py", "print('é')\n")
    await codex.write("ada", "w", "notes.md", "one\n")
    made = await codex.commit("ada", "w", "Begin\n\nwith two files", ADA)
    assert git(tree, "log", "--format=%H|%an|%ae|%cn|%s|%b").strip() == (
        f"{made.hash}|Ada Lovelace|ada@example.org|ECHO|Begin|with two files"
    )
    assert git(tree, "-c", "core.quotepath=off", "ls-files").split() == ["notes.md", "src/é.py"]
    assert git(tree, "show", "HEAD:src/é.py") == "print('é')\n"
    git.require_whole(tree)
    assert git.agrees(tree, await codex.status("ada", "w"))
    assert (await codex.status("ada", "w")).changes == {}


async def test_the_status_agrees_with_stock_git(codex: Codex, tree: Path, git: Git) -> None:
    await codex.create("ada", "w")
    for name in ("kept", "edited", "removed", "tool.sh"):
        await codex.write("ada", "w", name, name)
    await codex.write("ada", "w", ".gitignore", "*.log\nbuild/\n!build/keep\n")
    await codex.commit("ada", "w", "first", ADA)
    await codex.write("ada", "w", "edited", "edit2d")
    await codex.write("ada", "w", "new/file", "x")
    await codex.write("ada", "w", "noise.log", "x")
    await codex.write("ada", "w", "build/out", "x")
    await codex.delete_file("ada", "w", "removed")
    (tree / "tool.sh").chmod(0o755)
    status = await codex.status("ada", "w")
    assert status.changes == {
        "edited": "modified", "new/file": "untracked", "removed": "deleted", "tool.sh": "modified"
    }  # fmt: skip
    assert git.agrees(tree, status)
    git(tree, "add", "new/file")
    assert (await codex.status("ada", "w")).changes["new/file"] == "added"
    await codex.commit("ada", "w", "second", ADA)
    assert git(tree, "ls-files", "-s", "tool.sh").startswith("100755")
    assert git.agrees(tree, await codex.status("ada", "w"))


async def test_what_stock_git_commits_is_seen(codex: Codex, tree: Path, git: Git) -> None:
    await codex.create("ada", "w")
    await codex.write("ada", "w", "a", "1\n")
    await codex.commit("ada", "w", "ours", ADA)
    (tree / "a").write_text("2\n")
    git(tree, "commit", "-qam", "theirs")
    git(tree, "gc", "-q")
    assert [entry.message for entry in await codex.log("ada", "w")] == ["theirs\n", "ours\n"]
    assert (await codex.read("ada", "w", "a", revision="HEAD")).text == "2\n"
    assert (await codex.status("ada", "w")).changes == {}


async def test_the_same_size_in_the_same_moment_is_still_a_change(codex: Codex) -> None:
    await codex.create("ada", "w")
    for text in ("1", "2", "3"):
        await codex.write("ada", "w", "a", text)
        await codex.commit("ada", "w", text, ADA)
    assert len(await codex.log("ada", "w")) == 3


async def test_nothing_to_commit_is_said(codex: Codex) -> None:
    await codex.create("ada", "w")
    with pytest.raises(NothingToCommitError):
        await codex.commit("ada", "w", "empty", ADA)
    await codex.write("ada", "w", "a", "1")
    await codex.commit("ada", "w", "one", ADA)
    with pytest.raises(NothingToCommitError):
        await codex.commit("ada", "w", "again", ADA)


async def test_a_name_cannot_break_the_commit(codex: Codex, tree: Path, git: Git) -> None:
    await codex.create("ada", "w")
    await codex.write("ada", "w", "a", "1")
    await codex.commit("ada", "w", "m", Author("Eve <root@x>\ncommitter forged\0", "e\n>x"))
    git.require_whole(tree)
    assert "forged" not in git(tree, "log", "--format=%cn")


async def test_diffs_apply_in_stock_git(codex: Codex, tree: Path, git: Git, tmp_path: Path) -> None:
    await codex.create("ada", "w")
    await codex.write("ada", "w", "a", "".join(f"line {n}\n" for n in range(40)))
    await codex.write("ada", "w", "gone", "no end")
    first = await codex.commit("ada", "w", "first", ADA)
    git(tmp_path, "clone", "-q", str(tree), "copy")
    await codex.write("ada", "w", "a", "new\n" + "".join(f"line {n}\n" for n in range(38)) + "tail")
    await codex.write("ada", "w", "b/c", "x\ny")
    await codex.delete_file("ada", "w", "gone")
    shown = await codex.diff("ada", "w")
    git(tmp_path / "copy", "apply", given=shown)
    second = await codex.commit("ada", "w", "second", ADA)
    git(tmp_path / "copy", "add", "-A")
    assert git(tmp_path / "copy", "write-tree") == git(tree, "rev-parse", "HEAD^{tree}")
    between = await codex.diff("ada", "w", old=first.hash[:10], new=second.hash)
    assert between == shown
    assert "b/c" in await codex.diff("ada", "w", old=first.hash, new="HEAD", path="b")
    assert "line 0" not in await codex.diff("ada", "w", old=first.hash, new="HEAD", path="b")


async def test_a_long_file_is_read_in_pages(tmp_path: Path) -> None:
    codex = make_codex(tmp_path, read_chars=10)
    await codex.create("ada", "w")
    await codex.write("ada", "w", "a", "é" * 25)
    pages = [(await codex.read("ada", "w", "a", offset=at)) for at in (0, 10, 20)]
    assert [len(page.text) for page in pages] == [10, 10, 5]
    assert pages[0].total_chars == 25


async def test_missing_things_are_named(codex: Codex, tree: Path) -> None:
    with pytest.raises(WorkspaceMissingError):
        await codex.status("ada", "w")
    await codex.create("ada", "w")
    with pytest.raises(WorkspaceExistsError):
        await codex.create("ada", "w")
    with pytest.raises(FileMissingError):
        await codex.read("ada", "w", "no/such")
    with pytest.raises(RevisionMissingError):
        await codex.log("ada", "w", revision="feedbeef")
    (tree / "raw").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NotTextError):
        await codex.read("ada", "w", "raw")


async def test_sizes_are_bounded(tmp_path: Path) -> None:
    codex = make_codex(tmp_path, file_bytes=100, files=3, workspace_bytes=40_000, workspaces=2)
    await codex.create("ada", "w")
    with pytest.raises(CodexLimitError):
        await codex.write("ada", "w", "a", "x" * 101)
    for name in ("a", "b", "c"):
        await codex.write("ada", "w", name, "x")
    await codex.write("ada", "w", "c", "replaced")
    with pytest.raises(CodexLimitError):
        await codex.write("ada", "w", "d", "x")
    await codex.create("ada", "w2")
    with pytest.raises(CodexLimitError):
        await codex.create("ada", "w3")
    await codex.delete("ada", "w2")
    await codex.create("ada", "w3")
    assert await codex.workspaces("ada") == ["w", "w3"]


async def test_a_full_workspace_takes_no_more(tmp_path: Path) -> None:
    codex = make_codex(tmp_path, workspace_bytes=5_000)
    await codex.create("ada", "w")
    with pytest.raises(CodexLimitError):
        await codex.write("ada", "w", "a", "x" * 5_000)
    assert await codex.files("ada", "w") == []


async def test_a_damaged_repository_is_told_apart(codex: Codex, tree: Path) -> None:
    await codex.create("ada", "w")
    await codex.write("ada", "w", "a", "1")
    made = await codex.commit("ada", "w", "one", ADA)
    (tree / ".git/objects" / made.hash[:2] / made.hash[2:]).unlink()
    with pytest.raises(WorkspaceDamagedError):
        await codex.status("ada", "w")
