"""Laws of diffs, patches and line merges, over texts full of repeated lines."""

import hypothesis.strategies as st
from hypothesis import given

from echo_codex_git.errors import PatchRejectedError
from echo_codex_git.lines import matches, merge_lines, split_lines
from echo_codex_git.patches import FileEdit, Version, apply_patch, file_diff

#: Few different lines, so that they repeat; some look like a diff's own.
LINE = st.sampled_from(["a", "b", "", "c", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-- ", "\\ No newline", "é"])
TEXT = st.builds(
    lambda lines, end: ("\n".join(lines) + end).encode(), st.lists(LINE, max_size=12), st.sampled_from(["", "\n"])
)


@given(TEXT, TEXT)
def test_matches_are_equal_runs_in_order(old: bytes, new: bytes) -> None:
    left, right = split_lines(old), split_lines(new)
    at = (0, 0)
    for start, other, size in matches(left, right):
        assert size > 0
        assert (start, other) >= at and start >= at[0] and other >= at[1]
        assert left[start : start + size] == right[other : other + size]
        at = (start + size, other + size)


@given(TEXT, TEXT)
def test_a_diff_applied_gives_the_new_text(old: bytes, new: bytes) -> None:
    shown = file_diff(b"x", Version(0o100644, old), Version(0o100644, new)).decode()
    if old == new:
        return
    (edit,) = apply_patch(shown, lambda path: old if path == b"x" else None)
    assert edit == FileEdit(b"x", new, None)


@given(TEXT, TEXT)
def test_a_side_that_changed_nothing_never_conflicts(base: bytes, other: bytes) -> None:
    lines, changed = split_lines(base), split_lines(other)
    for ours, theirs in ((lines, changed), (changed, lines), (changed, changed)):
        merged = merge_lines(lines, ours, theirs, b"side")
        assert (merged.lines, merged.conflicts) == (changed, 0)


@given(TEXT, TEXT, TEXT)
def test_whether_sides_conflict_does_not_depend_on_which_is_ours(base: bytes, one: bytes, two: bytes) -> None:
    texts = split_lines(base), split_lines(one), split_lines(two)
    there, back = merge_lines(*texts, b"x"), merge_lines(texts[0], texts[2], texts[1], b"x")
    assert there.conflicts == back.conflicts
    if not there.conflicts:
        assert there.lines == back.lines


@given(st.text(max_size=200))
def test_foreign_text_as_a_patch_is_applied_or_refused(text: str) -> None:
    try:
        assert apply_patch(f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n{text}", lambda path: b"a\n")
    except PatchRejectedError as error:
        assert error.code == "codex_patch_rejected"
