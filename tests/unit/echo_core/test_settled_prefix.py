"""What of a chat need not be settled again."""

from collections.abc import Sequence
from dataclasses import replace

from echo_core.heads import Heads, RowHead
from echo_core.records import Shadow, VersionLock
from echo_core.sealing import relink
from echo_core.settled_prefix import SettledPrefix
from echo_core.suture import Assembly
from store_kit import CHAT, chain

LOCK = VersionLock(updated_at_s=7, fingerprint="sha256:f", provisional=False)


def made(count: int) -> tuple[Heads, list[Shadow | None]]:
    """So many messages in order, and a question without a record."""
    shadows = [replace(seal.shadow, lock=LOCK) for seal in chain([f"text {n}" for n in range(count)])]
    heads = [RowHead(shadow.message_id, shadow.role, 7, "ada") for shadow in shadows]
    return Heads.of([*heads, RowHead("now", "user", 9, "ada")]), [*shadows, None]


def same(shadow: Shadow) -> Shadow:
    return shadow


def grown(heads: Heads, shadows: Sequence[Shadow | None], prefix: SettledPrefix | None = None) -> SettledPrefix:
    return (prefix or SettledPrefix()).grown(CHAT, heads, shadows, same)


def test_all_that_is_in_order_is_taken_and_joined_as_ever() -> None:
    heads, shadows = made(6)
    prefix = grown(heads, shadows)
    assembly = Assembly()
    for shadow in shadows[:6]:
        assert shadow is not None
        assembly.add(shadow)
    assert (prefix.pieces, prefix.last_roles) == (assembly.pieces, assembly.last_roles)
    assert prefix.parent_hash == prefix.shadows[-1].cumulative_hash


def test_growing_turn_by_turn_comes_to_the_same() -> None:
    heads, shadows = made(6)
    first = grown(heads[:3], shadows[:3])
    assert len(first) == 2
    assert grown(heads, shadows, first.still_true("", heads, shadows)) == grown(heads, shadows)
    assert first.still_true("", heads, shadows) is first


def test_it_ends_with_an_answer_and_never_takes_what_is_asked_now() -> None:
    heads, shadows = made(4)
    assert len(grown(heads[:4], shadows[:4])) == 2
    assert len(grown(heads, shadows).still_true("", heads[:4], shadows[:4])) == 2
    assert len(grown(heads, shadows).still_true("", heads[:0], [])) == 0


def test_what_is_not_in_order_ends_it() -> None:
    heads, shadows = made(6)
    third = shadows[2]
    assert third is not None
    for changed in (
        None,
        replace(third, lock=None),
        replace(third, lock=replace(LOCK, provisional=True)),
        replace(third, lock=replace(LOCK, updated_at_s=8)),
        replace(third, state="streaming"),
        replace(third, chat_id="another"),
        replace(third, cumulative_hash=""),
        relink(third, "sha256:another"),
    ):
        assert len(grown(heads, [*shadows[:2], changed, *shadows[3:]])) == 2


def test_it_holds_as_far_as_rows_records_and_reader_are_equal() -> None:
    heads, shadows = made(6)
    prefix = grown(heads, shadows)
    third = shadows[2]
    assert third is not None
    copied = [None if shadow is None else replace(shadow) for shadow in shadows]
    assert prefix.still_true("", heads, copied) is prefix
    others = [*shadows[:2], replace(third, contents_json=b"[]"), *shadows[3:]]
    assert prefix.still_true("", heads, others) == grown(heads[:3], shadows[:3])
    touched = Heads(heads.ids, [*heads.marks[:2], "u8", *heads.marks[3:]], heads.writers)
    assert len(prefix.still_true("", touched, shadows)) == 2
    renamed = Heads([*heads.ids[:3], "other", *heads.ids[4:]], heads.marks, heads.writers)
    assert len(prefix.still_true("", renamed, shadows)) == 2
    assert len(prefix.still_true("another model", heads, shadows)) == 0
