"""Applying what a model writes as a diff."""

from pathlib import Path

import pytest

from codex_kit import ADA
from echo_codex_git import Codex
from echo_codex_git.errors import PatchRejectedError

TEN = "".join(f"line {n}\n" for n in range(10))


@pytest.fixture
async def started(codex: Codex) -> Codex:
    await codex.create("ada", "w")
    await codex.write("ada", "w", "a", TEN)
    await codex.commit("ada", "w", "first", ADA)
    return codex


async def apply(codex: Codex, text: str) -> list[str]:
    return await codex.apply_patch("ada", "w", text)


async def test_wrong_numbers_and_missing_headers_do_not_matter(started: Codex, tree: Path) -> None:
    text = "--- a/a\n+++ b/a\n@@ -90,1 +7,9 @@ def f():\n line 4\n-line 5\n+new 5\n line 6\n"
    assert await apply(started, text) == ["a"]
    assert (tree / "a").read_text() == TEN.replace("line 5", "new 5")


async def test_the_nearest_of_equal_places_is_taken(started: Codex, tree: Path) -> None:
    await started.write("ada", "w", "b", "x\n1\n" * 5)
    await apply(started, "--- b\n+++ b\n@@ -6,2 +6,2 @@\n-x\n+y\n 1\n")
    assert (tree / "b").read_text().split("\n")[4] == "y"


async def test_several_files_are_made_moved_and_deleted(started: Codex, tree: Path) -> None:
    await started.write("ada", "w", "old", "1\n2\n")
    text = (
        "diff --git a/new/x b/new/x\nnew file mode 100755\n--- /dev/null\n+++ b/new/x\n@@ -0,0 +1,2 @@\n+a\n"
        "+b\n\\ No newline at end of file\n"
        "diff --git a/old b/moved\nsimilarity index 50%\nrename from old\nrename to moved\n--- a/old\n+++ b/moved\n"
        "@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"
        "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,10 +0,0 @@\n"
        + "".join(f"-line {n}\n" for n in range(10))
    )
    assert sorted(await apply(started, text)) == ["a", "moved", "new/x", "old"]
    assert (tree / "new/x").read_text() == "a\nb"
    assert (tree / "new/x").stat().st_mode & 0o100
    assert (tree / "moved").read_text() == "1\n3\n"
    assert not (tree / "a").exists()
    assert not (tree / "old").exists()


async def test_a_patch_that_does_not_fit_changes_nothing(started: Codex, tree: Path) -> None:
    text = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-line 0\n+new\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n"
    with pytest.raises(PatchRejectedError):
        await apply(started, text)
    assert (tree / "a").read_text() == TEN


@pytest.mark.parametrize(
    "text",
    ["", "hello", "@@ -1 +1 @@\n-a\n+b\n", "--- a/a\n+++ b/a\n", "diff --git a/a b/a\nGIT binary patch\nliteral 3\n",
     "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+over\n", "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 0\n"],
)  # fmt: skip
async def test_what_is_no_usable_diff_is_rejected(started: Codex, tree: Path, text: str) -> None:
    with pytest.raises(PatchRejectedError):
        await apply(started, text)
    assert (tree / "a").read_text() == TEN


async def test_blank_context_lines_may_have_lost_their_blank(started: Codex, tree: Path) -> None:
    await started.write("ada", "w", "b", "one\n\ntwo\n\n")
    await apply(started, "--- a/b\n+++ b/b\n@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n\n\n")
    assert (tree / "b").read_text() == "one\n\n2\n\n"
