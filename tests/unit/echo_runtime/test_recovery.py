"""What the page lacks of a broken-off answer is added to its row, and nothing else is touched."""

from typing import Any

import pytest

from echo_protocol import visible_text
from echo_runtime._owui import RowText
from echo_runtime.recovery import filled

CARD: dict[str, Any] = {"type": "function_call", "id": "c", "call_id": "c", "name": "look", "arguments": "{}"}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "m", "content": [{"type": "output_text", "text": text}]}


@pytest.mark.parametrize(
    "row",
    [
        RowText("", [], []),
        RowText("Half", [said("Half")], []),
        RowText("", [CARD], []),
        RowText("Half", [CARD, said("Half")], []),
    ],
)
def test_a_row_that_shows_a_beginning_gets_the_rest_and_keeps_its_cards(row: RowText) -> None:
    before = repr(row)
    items = filled(row, "Half of it", "a1")
    assert items is not None
    assert visible_text("", items) == "Half of it"
    assert [item for item in items if item["type"] == "function_call"] == [i for i in row.output if i == CARD]
    assert repr(row) == before


@pytest.mark.parametrize("shown", ["Half of it", "Half  of it\n", "Something else", "Half of it and more"])
def test_a_row_that_shows_all_or_something_else_is_left_alone(shown: str) -> None:
    assert filled(RowText(shown, [said(shown)], []), "Half of it", "a1") is None
