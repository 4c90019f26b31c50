"""Signatures go back on their own part; outside their scope the current turn is covered by the sentinel."""

import pytest

from echo_protocol import (
    SENTINEL,
    Content,
    Part,
    apply_scope,
    check_turn_shape,
    current_turn_start,
    part_from_wire,
    text_part,
)


def call(name: str, signature: str | None = None) -> Part:
    wire = {"functionCall": {"name": name, "args": {}}}
    return part_from_wire(wire if signature is None else {**wire, "thoughtSignature": signature})


def done(name: str) -> Content:
    return Content("user", (part_from_wire({"functionResponse": {"name": name, "response": {}}}),))


def model(*parts: Part) -> Content:
    return Content("model", parts)


def signatures(contents: tuple[Content, ...]) -> list[list[str | None]]:
    return [[part.signature for part in content.parts] for content in contents if content.role == "model"]


ASK = Content("user", (text_part("q"),))
SIGNED_TEXT = part_from_wire({"text": "a", "thoughtSignature": "old"})
CHAT = (
    ASK, model(call("f", "s1")), done("f"), model(SIGNED_TEXT),
    ASK, model(call("f", "s2"), call("f")), Content("user", done("f").parts * 2), model(call("g", "s3")), done("g"),
)  # fmt: skip


def test_the_current_turn_opens_at_the_last_words_of_the_user() -> None:
    assert current_turn_start(CHAT) == 4
    assert current_turn_start(CHAT[:3]) == 0
    assert current_turn_start(()) == 0
    mixed = (ASK, model(call("f")), Content("user", (*done("f").parts, text_part("stop"))))
    assert current_turn_start(mixed) == 2


def test_inside_the_scope_nothing_changes() -> None:
    assert apply_scope(CHAT, True) == CHAT


def test_outside_the_scope_signatures_go_and_the_current_turn_is_covered() -> None:
    scoped = apply_scope(CHAT, False)
    assert signatures(scoped) == [[None], [None], [SENTINEL, None], [SENTINEL]]
    assert scoped[5].parts[0].wire == {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": SENTINEL}


def test_a_scope_may_differ_by_turn() -> None:
    scoped = apply_scope(CHAT, lambda index: index < 6, 4)
    assert signatures(scoped) == [["s1"], ["old"], ["s2", None], [SENTINEL]]


def test_a_model_that_does_not_check_gets_no_sentinel() -> None:
    assert signatures(apply_scope(CHAT, False, validates=False)) == [[None], [None], [None, None], [None]]


@pytest.mark.parametrize("missing", [{}, {"thoughtSignature": None}, {"thought_signature": ""}])
def test_an_unsigned_call_in_scope_is_covered_too(missing: dict[str, str | None]) -> None:
    bare = part_from_wire({"functionCall": {"name": "f"}, **missing})
    (_, answer, _) = apply_scope((ASK, model(text_part("a"), bare), done("f")), True)
    assert answer.parts[1].wire == {"functionCall": {"name": "f"}, "thoughtSignature": SENTINEL}


def test_a_turn_that_only_carried_a_signature_goes_away() -> None:
    empty = part_from_wire({"text": "", "thoughtSignature": "s"})
    thought = part_from_wire({"text": "", "thought": True, "thoughtSignature": "s"})
    scoped = apply_scope((ASK, model(empty, thought), ASK, model(SIGNED_TEXT)), False)
    assert [content.role for content in scoped] == ["user", "model"]
    assert check_turn_shape(scoped) == []
