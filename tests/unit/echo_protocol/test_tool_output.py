"""Tool results on their way to the model and back to the page."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_protocol import split_tool_output, unbox_tool_output, wrap_tool_output

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}


@given(st.text())
def test_text_survives_the_way_out_and_back(text: str) -> None:
    assert unbox_tool_output(wrap_tool_output(text)) == text


@pytest.mark.parametrize(
    ("output", "text"),
    [({"a": 1}, '{"a":1}'), ([1, "é"], '[1,"é"]'), (None, "null"), (3, "3"), ({"output": "x"}, '{"output":"x"}')],
)
def test_values_are_kept_as_json(output: Any, text: str) -> None:
    assert wrap_tool_output(output) == {"output": output}
    assert unbox_tool_output(wrap_tool_output(output)) == text


def test_an_error_reads_as_one() -> None:
    response = wrap_tool_output("no such file", error=True)
    assert response == {"error": "no such file"}
    assert unbox_tool_output(response) == "error: no such file"


def test_responses_of_others_are_readable() -> None:
    assert unbox_tool_output({"result": "x"}) == "x"
    assert unbox_tool_output({"a": 1, "b": 2}) == '{"a":1,"b":2}'
    assert unbox_tool_output({}) == "{}"


def test_media_and_transient_artifacts_are_taken_out_and_lasting_ones_stay() -> None:
    raw = {
        "output": "x",
        "echo_tool_multiparts": [IMAGE],
        "aec_event": ["<artifact>1</artifact>", "<artifact>2</artifact>"],
        "aec_directive": "<artifact>3</artifact>",
    }
    taken = split_tool_output(raw)
    assert taken.value == "x"
    assert [part.wire for part in taken.media] == [IMAGE]
    assert taken.transients == ("<artifact>1</artifact>", "<artifact>2</artifact>", "<artifact>3</artifact>")
    assert wrap_tool_output(raw) == {"output": "x"}
    assert unbox_tool_output(raw) == "x"
    kept = {"file": "a.txt", "resource": {"id": 1}}
    assert split_tool_output({**kept, "aec_event": None}).value == kept
    assert raw["aec_directive"], "the caller's object is not changed"
