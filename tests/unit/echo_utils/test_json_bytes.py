"""JSON bytes that never vary for one value."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_utils import canonical_json, dumps, sha256_tagged, untagged

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=4))


def test_canonical_json_is_sorted_compact_and_ascii() -> None:
    assert canonical_json({"b": 1, "a": ["é", None]}) == rb'{"a":["\u00e9",null],"b":1}'


def test_wire_json_keeps_key_order_and_raw_unicode() -> None:
    assert dumps({"b": 1, "a": "é\u2028"}) == '{"b":1,"a":"é\u2028"}'.encode()


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d x"])
def test_a_lone_surrogate_survives(text: str) -> None:
    assert json.loads(dumps({"t": text})) == {"t": text}
    assert dumps(json.loads(dumps(text))) == dumps(text)


@pytest.mark.parametrize("write", [canonical_json, dumps])
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_json_cannot_say_are_refused(write: Any, number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write({"n": number})


@given(JSON)
def test_both_forms_read_back_to_the_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value
    assert json.loads(dumps(value)) == value


@given(st.dictionaries(st.text(max_size=5), st.integers(), max_size=6))
def test_canonical_json_does_not_depend_on_key_order(value: dict[str, int]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


def test_hashes_carry_their_algorithm() -> None:
    tagged = sha256_tagged(b"a", b"b")
    assert tagged == "sha256:fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603"
    assert untagged(tagged) == tagged[7:]
    assert untagged("00") == "00"
