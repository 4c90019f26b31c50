"""The way through a chat's rows, whatever their order and their state."""

from echo_core.heads import ChatRows, Heads, RowHead


def rows(*lines: tuple[str, str, str, str]) -> ChatRows:
    return ChatRows(*(list(column) for column in zip(*lines, strict=True)))


BRANCHED = rows(
    ("a2", "q2", "m40", "ada"),
    ("q1", "", "u10", "ada"),
    ("q2", "a1", "u30", "bob"),
    ("a1", "q1", "m20", "ada"),
    ("b1", "q1", "m21", "ada"),
    ("note", "a2", "-50", "ada"),
    ("q3", "note", "u60", ""),
)


def test_the_chain_is_walked_from_the_asked_message_up_and_read_from_the_root_down() -> None:
    assert BRANCHED.chain("a2").ids == ["q1", "a1", "q2", "a2"]
    assert BRANCHED.chain("b1").ids == ["q1", "b1"]


def test_rows_of_other_roles_are_passed_over_but_lead_on() -> None:
    assert BRANCHED.chain("q3").ids == ["q1", "a1", "q2", "a2", "q3"]


def test_a_message_that_is_not_there_has_no_chain() -> None:
    assert list(BRANCHED.chain("gone")) == []
    assert list(ChatRows([], [], [], []).chain("q1")) == []


def test_a_missing_parent_ends_the_chain_like_a_root() -> None:
    assert rows(("a1", "gone", "m1", ""), ("q2", "a1", "u2", "")).chain("q2").ids == ["a1", "q2"]


def test_rows_that_point_at_each_other_end() -> None:
    ring = rows(("q1", "a1", "u1", ""), ("a1", "q1", "m2", ""), ("q2", "a1", "u3", ""))
    assert ring.chain("q2").ids == ["q1", "a1", "q2"]
    assert rows(("q1", "q1", "u1", "")).chain("q1").ids == ["q1"]


def test_heads_are_what_the_rows_say() -> None:
    heads = BRANCHED.chain("q2")
    assert list(heads) == [RowHead("q1", "user", 10, "ada"), RowHead("a1", "model", 20, "ada"), heads[-1]]
    assert heads[-1] == RowHead("q2", "user", 30, "bob")
    assert list(heads[1:]) == list(heads)[1:]
    assert Heads.of(heads) == heads
