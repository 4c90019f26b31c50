"""Nothing outside the workspace is touched, whatever the model, a repository or the disk says."""

import os
from pathlib import Path

import pytest

from codex_kit import ADA, Git
from echo_codex_git import Codex
from echo_codex_git.errors import CodexError, UnsafePathError, WorkspaceMissingError, WorkspaceNameError
from echo_paths import UnsafeIdError

BAD_PATHS = [
    "", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./a", "a//b", "a/", "a\\b", "..\\x", "C:\\x", "C:x",
    ".git", ".git/config", ".GIT/config", ".gIt/hooks/pre-commit", "a/.git/config", ".git./config", ".git /config",
    ".git...", ".git::$INDEX_ALLOCATION/config", ".git:x", "git~1/config", "GIT~1", "git~2/config", "a/Git~1/x",
    ".g\u200cit/config", "\ufeff.git/config", "file:stream", "trailing.", "trailing ", "nul\0", "tab\tname", "bell\a",
    "line\nbreak", "\x7f", "right\u202eleft", "x" * 256, "/".join(["d"] * 33), "x/" * 400 + "y", "\udc80",
]  # fmt: skip


@pytest.fixture
async def started(codex: Codex) -> Codex:
    await codex.create("ada", "w")
    await codex.write("ada", "w", "a", "mine\n")
    await codex.commit("ada", "w", "first", ADA)
    return codex


@pytest.mark.parametrize("path", BAD_PATHS)
async def test_unsafe_paths_are_refused_everywhere(started: Codex, tree: Path, path: str) -> None:
    before = {p: p.read_bytes() for p in tree.parent.rglob("*") if p.is_file()}
    # In a diff a tab, a line break or a blank at the end of a bare name is not part of it.
    quote = '"' if path != path.strip() or "\t" in path or "\n" in path else ""
    name = quote + path.replace("\t", "\\t").replace("\n", "\\n") + quote
    new = f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n"
    for step in (
        started.write("ada", "w", path, "x"),
        started.read("ada", "w", path),
        started.delete_file("ada", "w", path),
        started.diff("ada", "w", path=path),
        started.log("ada", "w", path=path),
        started.read("ada", "w", path, revision="HEAD"),
        started.apply_patch("ada", "w", new),
        started.apply_patch("ada", "w", f"diff --git a/a b/x\nrename from a\nrename to {name}\n"),
    ):
        with pytest.raises(CodexError):
            await step
    assert {p: p.read_bytes() for p in tree.parent.rglob("*") if p.is_file() and p in before} == before
    assert await started.files("ada", "w") == ["a"]


async def test_links_on_the_disk_lead_nowhere(started: Codex, tree: Path, git: Git, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (tree / "link").symlink_to(outside / "secret")
    (tree / "folder").symlink_to(outside)
    (tree / "inside").symlink_to("a")
    (tree / "self").symlink_to(".git")
    for path in ("link", "folder/secret", "inside", "folder/new", "folder/deep/new", "self/config", "self/hooks/x"):
        with pytest.raises(UnsafePathError):
            await started.write("ada", "w", path, "x")
        with pytest.raises(UnsafePathError):
            await started.read("ada", "w", path)
        with pytest.raises(UnsafePathError):
            await started.apply_patch("ada", "w", f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-secret\n+x\n")
    assert git.agrees(tree, await started.status("ada", "w"))
    await started.write("ada", "w", "b", "1")
    await started.commit("ada", "w", "without the links", ADA)
    assert git(tree, "ls-files").split() == ["a", "b"]
    assert "secret" not in await started.diff("ada", "w")
    assert (outside / "secret").read_text() == "secret"
    assert os.listdir(outside) == ["secret"]


async def test_a_tracked_file_that_became_a_link_is_not_committed(started: Codex, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tree / "a").unlink()
    (tree / "a").symlink_to(tmp_path / "secret")
    assert (await started.status("ada", "w")).changes == {"a": "modified"}
    assert "secret" not in await started.diff("ada", "w")
    with pytest.raises(UnsafePathError):
        await started.commit("ada", "w", "stolen", ADA)


async def test_deleting_a_link_leaves_its_target(started: Codex, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tree / "link").symlink_to(tmp_path / "kept")
    await started.delete_file("ada", "w", "link")
    assert (tmp_path / "kept").read_text() == "kept"
    assert not (tree / "link").is_symlink()


async def test_a_pipe_on_the_disk_does_not_hang(started: Codex, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with pytest.raises(CodexError):
        await started.read("ada", "w", "pipe")
    with pytest.raises(CodexError):
        await started.write("ada", "w", "pipe", "x")
    assert (await started.status("ada", "w")).changes == {"pipe": "untracked"}


async def test_a_workspace_that_is_a_link_does_not_exist(started: Codex, tree: Path) -> None:
    (tree.parent / "alias").symlink_to(tree)
    with pytest.raises(WorkspaceMissingError):
        await started.read("ada", "alias", "a")
    assert await started.workspaces("ada") == ["w"]


async def test_a_git_folder_elsewhere_is_refused(started: Codex, tree: Path, tmp_path: Path) -> None:
    (tree / ".git").rename(tmp_path / "moved")
    (tree / ".git").write_text(f"gitdir: {tmp_path / 'moved'}\n")
    with pytest.raises(CodexError):
        await started.status("ada", "w")
    (tree / ".git").unlink()
    (tree / ".git").symlink_to(tmp_path / "moved")
    with pytest.raises(CodexError):
        await started.status("ada", "w")


async def test_hooks_filters_and_drivers_never_run(started: Codex, tree: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    program = f"#!/bin/sh\necho ran >> {trace}\n"
    hooks = tree / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "post-checkout", "post-merge", "reference-transaction"):
        (hooks / name).write_text(program)
        (hooks / name).chmod(0o755)
    with (tree / ".git" / "config").open("a") as config:
        config.write(f'[filter "x"]\n\tclean = echo ran >> {trace}\n\tsmudge = echo ran >> {trace}\n')
        config.write(f'[merge "x"]\n\tdriver = echo ran >> {trace}\n[core]\n\tfsmonitor = echo ran >> {trace}\n')
    await started.write("ada", "w", ".gitattributes", "* filter=x merge=x\n")
    await started.commit("ada", "w", "attributes", ADA)
    await started.create_branch("ada", "w", "side")
    for branch in ("side", "main"):
        await started.switch("ada", "w", branch)
        await started.write("ada", "w", "a", f"{branch}\n")
        await started.commit("ada", "w", branch, ADA)
    await started.merge("ada", "w", "side", ADA)
    await started.abort_merge("ada", "w")
    assert not trace.exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../bob/codex/w", "../../bob/codex/w", "a/b", "/etc", "W", ".git", ".echo", "w.", "w\n",
             "é", "x" * 65, "w\0", "-rf", "_x"],
)  # fmt: skip
async def test_odd_workspace_names_are_refused(started: Codex, name: str) -> None:
    for step in (started.create("ada", name), started.status("ada", name), started.delete("ada", name)):
        with pytest.raises(WorkspaceNameError):
            await step


async def test_one_user_cannot_reach_another(started: Codex) -> None:
    assert await started.workspaces("bob") == []
    with pytest.raises(WorkspaceMissingError):
        await started.read("bob", "w", "a")
    with pytest.raises(WorkspaceMissingError):
        await started.clone("bob", "mine", "w")
    for name in ("../ada", "ada/../ada", "", ".", "ada\0"):
        with pytest.raises(UnsafeIdError):
            await started.workspaces(name)


@pytest.mark.parametrize("mode", ["120000", "160000"])
async def test_a_patch_makes_no_links(started: Codex, mode: str) -> None:
    text = f"diff --git a/l b/l\nnew file mode {mode}\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n"
    with pytest.raises(UnsafePathError):
        await started.apply_patch("ada", "w", text)
