"""When ECHO's own toolkits are not offered; the rest is tested on a real Open WebUI."""

from typing import Any

import pytest

from echo_runtime.call import PipeCall
from echo_runtime.toolkits import OWN_TOOLKITS, offered_toolkits
from guards.project import function_files


def call_of(**given: Any) -> PipeCall:
    model = {"info": {"meta": {"toolIds": ["echo_skills", "somebody_elses"]}}}
    fields: dict[str, Any] = {
        "body": {},
        "user": {"id": "ada"},
        "metadata": {"model": model},
        "valves": None,
        "tools": {},
    }
    return PipeCall(**fields | given)


@pytest.mark.parametrize(
    "given",
    [
        {"metadata": {"chat_id": "c1", "model": call_of().metadata["model"]}},
        {"task": "title_generation"},
        {"tools": {"forecast": {}}},
        {"body": {"tools": [{"type": "function", "function": {"name": "x"}}]}},
        {"body": {"tool_choice": "none"}},
        {"body": {"response_format": {"type": "json_object"}}},
        {"metadata": {"model": {"info": {"meta": {"toolIds": ["somebody_elses"]}}}}},
        {"metadata": {"model": {"info": {"meta": {}}}}},
        {"metadata": {}},
    ],
)
async def test_nothing_is_offered_where_somebody_chose_otherwise(given: dict[str, Any]) -> None:
    assert await offered_toolkits(call_of(**given)) == {}


def test_the_toolkits_are_those_that_echo_brings() -> None:
    assert set(OWN_TOOLKITS) == {path.stem for path in function_files() if path.parent.name == "tools"}
