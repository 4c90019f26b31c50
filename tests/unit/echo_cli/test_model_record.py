"""The model record: what ECHO needs is put back, what the administrator chose stays."""

import base64
import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from echo_cli._model_record import icon_data_uri, new_record, with_requirements

IDS = {"action_ids": ["compact"], "filter_ids": [], "tool_ids": ["code"]}

capabilities = st.dictionaries(st.sampled_from(["vision", "builtin_tools", "usage", "citations"]), st.booleans())
id_lists = st.lists(st.sampled_from(["compact", "foreign", "old", "code"]), unique=True)
records = st.fixed_dictionaries(
    {
        "id": st.just("echo_orchestrator"),
        "name": st.text(max_size=8),
        "meta": st.fixed_dictionaries(
            {"description": st.text(max_size=8)},
            optional={
                "capabilities": st.none() | capabilities,
                "actionIds": st.none() | id_lists,
                "toolIds": id_lists,
                "filterIds": id_lists,
            },
        ),
        "params": st.none() | st.dictionaries(st.sampled_from(["system", "function_calling"]), st.text(max_size=8)),
        "access_grants": st.lists(st.just({"principal_type": "group", "principal_id": "g", "permission": "read"})),
    }
)


def test_a_new_record_is_what_the_design_asks_for() -> None:
    record = new_record(**IDS)
    assert record["id"] == "echo_orchestrator" and record["base_model_id"] is None and record["name"] == "ECHO"
    wanted = {"builtin_tools": False, "file_context": False, "usage": True, "citations": True, "status_updates": True}
    assert wanted.items() <= record["meta"]["capabilities"].items()
    assert record["params"] == {"function_calling": "native", "reasoning_tags": False}
    assert record["access_grants"] == [{"principal_type": "user", "principal_id": "*", "permission": "read"}]
    assert record["meta"]["actionIds"] == ["compact"] and record["meta"]["toolIds"] == ["code"]


def test_the_picture_is_a_png_that_open_webui_accepts() -> None:
    head, data = icon_data_uri().split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data).startswith(b"\x89PNG\r\n\x1a\n")


@given(records)
def test_requirements_are_met_once_and_nothing_else_changes(record: dict[str, Any]) -> None:
    before = copy.deepcopy(record)
    wanted = with_requirements(record, **IDS, gone={"old"})
    assert record == before
    assert with_requirements(wanted, **IDS, gone={"old"}) == wanted
    assert wanted["access_grants"] == record["access_grants"]
    assert wanted["name"] == record["name"] and wanted["meta"]["description"] == record["meta"]["description"]
    assert wanted["params"].get("system") == (record["params"] or {}).get("system")
    listed = record["meta"].get("actionIds") or []
    assert [i for i in wanted["meta"]["actionIds"] if i != "compact"] == [
        i for i in listed if i not in ("compact", "old")
    ]
    assert wanted["meta"]["capabilities"]["builtin_tools"] is False
