"""The last filter leaves other models alone."""

import pytest

from echo_runtime.outlet_entry import is_echo


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ({"id": "echo_orchestrator"}, True),
        ({"id": "my-tutor", "info": {"base_model_id": "echo_orchestrator"}}, True),
        ({"id": "gpt", "info": {"base_model_id": None}}, False),
        ({"id": "gpt", "info": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_only_echo_and_what_is_built_on_it_counts(model: object, expected: bool) -> None:
    assert is_echo(model) is expected
