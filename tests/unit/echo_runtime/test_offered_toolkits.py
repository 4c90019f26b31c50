"""When ECHO's own toolkits are offered though nobody selected them; with real toolkits in tests/live."""

from typing import Any

import pytest

from echo_protocol import content_json, text_part
from echo_runtime import _owui_tools
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


PREVIEW = content_json("user", [text_part('<artifact id="AEC_smart_context" name="a.docx" document="0a">…</artifact>')])
TABLE = content_json("user", [text_part('[Compute over its tables "a" with query_table(id="0a", sql=…).]')])
PLAIN = content_json("user", [text_part("What is <artifact id=AEC_smart_context> and query_table?")])


@pytest.mark.parametrize(
    ("questions", "offered"),
    [
        ([], []),
        ([PLAIN], []),
        ([PLAIN, PREVIEW], ["echo_documents", "echo_search"]),
        ([TABLE, PLAIN, PLAIN], ["echo_documents", "echo_search"]),
    ],
)
async def test_a_chat_gets_the_tools_for_documents_from_its_first_document_on(
    monkeypatch: pytest.MonkeyPatch, questions: list[bytes], offered: list[str]
) -> None:
    async def toolkit_entries(request: Any, ids: list[str], user: Any, metadata: Any) -> dict[str, Any]:
        return dict.fromkeys(ids, user["id"])

    monkeypatch.setattr(_owui_tools, "toolkit_entries", toolkit_entries)
    saved = {"chat_id": "c1", "session_id": "s1"}
    assert await offered_toolkits(call_of(metadata=saved), questions) == dict.fromkeys(offered, "ada")
    # What the user selected beside them changes nothing.
    assert await offered_toolkits(call_of(metadata=saved, tools={"x": {}}), questions) == dict.fromkeys(offered, "ada")
    assert await offered_toolkits(call_of(metadata=saved, task="title_generation"), questions) == {}


def test_the_toolkits_are_those_that_echo_brings() -> None:
    assert set(OWN_TOOLKITS) == {path.stem for path in function_files() if path.parent.name == "tools"}
