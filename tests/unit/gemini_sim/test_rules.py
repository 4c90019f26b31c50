"""Models, tools, schemas and generation settings: what each model takes and Google's words for what it does not."""

from typing import Any

import pytest

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.generation import check_generation, thinks
from echo_workers.gemini_sim.core.media import check_media
from echo_workers.gemini_sim.core.models import all_models, find_model
from echo_workers.gemini_sim.core.tools import check_tools, declared


def model(name: str, version: str = "v1beta") -> Any:
    return find_model(name, version, "generateContent", with_retired=True)


def thinking(**config: Any) -> dict[str, Any]:
    return {"generationConfig": {"thinkingConfig": config}}


def tools(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": list(rows)}], **more}


@pytest.mark.parametrize(
    ("name", "config", "text"),
    [
        ("gemini-2.5-flash", {"thinkingLevel": "LOW"}, "Thinking level is not supported for this model."),
        ("gemini-3.8-flash", {"thinkingLevel": "MINIMAL"}, "Thinking level is not supported for this model."),
        ("gemini-4-argon", {"thinkingLevel": "XHIGH"}, "Thinking level is not supported for this model."),
        ("gemini-4-argon", {"thinkingBudget": 100}, "Thinking budget is not supported for this model."),
        ("gemini-2.0-flash", {"thinkingBudget": 100}, "Thinking budget is not supported for this model."),
        (
            "gemini-2.5-pro",
            {"thinkingBudget": 52_428},
            "The thinking budget (52428) is invalid. Please choose a value between 128 and 32768.",
        ),
        ("gemini-2.5-pro", {"thinkingBudget": 0}, "The thinking budget (0) is invalid."),
        (
            "gemini-3-flash-preview",
            {"thinkingBudget": 1, "thinkingLevel": "LOW"},
            "You can only set only one of thinking budget and thinking level.",
        ),
    ],
)
def test_thinking_settings_that_a_model_does_not_take(name: str, config: dict[str, Any], text: str) -> None:
    with pytest.raises(GoogleRefusal) as caught:
        check_generation(thinking(**config), model(name))
    assert caught.value.text.startswith(text)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("gemini-2.5-flash", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", {"thinkingBudget": -1}),
        ("gemini-3-flash-preview", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.7-flash", {"thinkingBudget": 4_000}),
        ("gemini-4-hydrogen", {"thinkingLevel": "XHIGH"}),
    ],
)
def test_thinking_settings_that_a_model_takes(name: str, config: dict[str, Any]) -> None:
    check_generation(thinking(**config), model(name))


def test_how_much_a_model_thinks_follows_its_setting() -> None:
    assert thinks(thinking(thinkingBudget=0), model("gemini-2.5-flash")) == 0
    assert thinks({}, model("gemini-2.5-flash-lite")) == 0
    low, high = (thinks(thinking(thinkingLevel=level), model("gemini-3-flash-preview")) for level in ("LOW", "HIGH"))
    assert 0 < low < high
    assert thinks(thinking(thinkingBudget=32), model("gemini-3.7-flash")) == 32


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"name": "1st"}, "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name."),
        ({"name": "x" * 129}, "Invalid function name."),
        ({"name": "f", "parameters": {}, "parametersJsonSchema": {}}, "only one of parameters and"),
        (
            {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "array"}}}},
            "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].items: missing "
            "field.\n",
        ),
        ({"name": "f", "parameters": {"type": "OBJECT", "required": ["a"]}}, "required[0]: property is not defined"),
        (
            {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "enum": ["1"]}}}},
            "parameters.properties[a].enum: only allowed for STRING type",
        ),
        (
            {"name": "f", "parameters": {"type": "STRING", "properties": {"a": {"type": "STRING"}}}},
            "parameters.properties: only allowed for OBJECT type",
        ),
        (
            {"name": "f", "parametersJsonSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}}},
            "undefined schema",
        ),
        (
            {"name": "f", "parametersJsonSchema": {"properties": {"a": {"$ref": "#", "type": "object"}}}},
            "a schema with $ref may not set type.",
        ),
        ({"name": "f", "parametersJsonSchema": {"properties": {"a": 1}}}, "schema must be an object."),
    ],
)
def test_declarations_that_are_refused(row: dict[str, Any], line: str) -> None:
    with pytest.raises(GoogleRefusal) as caught:
        check_tools(tools(row), model("gemini-3-flash-preview"))
    assert line in caught.value.text


def test_real_json_schema_is_taken_by_the_json_schema_form() -> None:
    schema = {
        "$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N", "description": "rest"}}}},
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {"n": {"$ref": "#/$defs/N"}, "any": {"anyOf": [{"type": "string"}, {"const": 1}]}, "free": True},
    }
    check_tools(tools({"name": "f", "parametersJsonSchema": schema}), model("gemini-3-flash-preview"))


def test_an_object_without_properties_is_taken() -> None:
    request = tools({"name": "f", "parameters": {"type": "OBJECT", "properties": {}}})
    check_tools(request, model("gemini-3-flash-preview"))
    assert declared(request) == {"f": {"type": "OBJECT", "properties": {}}}


def test_functions_beside_a_built_in_tool_need_the_flag_from_three_on() -> None:
    request = tools({"name": "f"})
    request["tools"].append({"googleSearch": {}})
    check_tools(request, model("gemini-2.5-flash"))
    with pytest.raises(GoogleRefusal, match=r"Please enable tool_config\.include_server_side_tool_invocations"):
        check_tools(request, model("gemini-3-flash-preview"))
    request["toolConfig"] = {"includeServerSideToolInvocations": True}
    check_tools(request, model("gemini-3-flash-preview"))


def test_maps_are_taken_by_the_models_that_have_them() -> None:
    request: dict[str, Any] = {
        "tools": [{"googleSearch": {}}, {"urlContext": {}}, {"googleMaps": {"enableWidget": False}}],
        "toolConfig": {"retrievalConfig": {"latLng": {"latitude": 45.764, "longitude": 4.836}}},
    }
    for name in ("gemini-4-argon", "gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-2.5-flash"):
        check_tools(request, model(name))
    for name in ("gemini-4-hydrogen", "gemini-3.1-flash-image", "gemma-4-31b-it", "gemini-2.5-flash-image"):
        with pytest.raises(GoogleRefusal, match="Google Maps tool is not enabled for this model"):
            check_tools(request, model(name))
    with pytest.raises(GoogleRefusal, match="a response mime type: 'application/json' is unsupported"):
        check_tools(request | {"generationConfig": {"responseMimeType": "application/json"}}, model("gemini-4-argon"))
    request["toolConfig"]["retrievalConfig"]["latLng"]["latitude"] = 90.5
    with pytest.raises(GoogleRefusal, match="out of range"):
        check_tools(request, model("gemini-4-argon"))


def test_doubled_unknown_and_forced_names_are_refused() -> None:
    flash = model("gemini-3-flash-preview")
    with pytest.raises(GoogleRefusal, match="Duplicate function declaration found: f"):
        check_tools(tools({"name": "f"}, {"name": "f"}), flash)
    calling = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}}
    with pytest.raises(GoogleRefusal, match="g in allowed_function_names"):
        check_tools(tools({"name": "f"}, toolConfig=calling), flash)
    with pytest.raises(GoogleRefusal, match="no function declarations"):
        check_tools({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, flash)
    with pytest.raises(GoogleRefusal, match="exceeds the maximum of 512"):
        check_tools(tools(*({"name": f"f{at}"} for at in range(513))), flash)


@pytest.mark.parametrize(
    "config",
    [
        {"temperature": 3},
        {"topP": 2},
        {"maxOutputTokens": 0},
        {"responseSchema": {"type": "ARRAY"}},
        {"responseSchema": {"type": "OBJECT"}, "responseJsonSchema": {}},
        {"responseJsonSchema": {"items": 3}},
    ],
)
def test_generation_settings_out_of_range(config: dict[str, Any]) -> None:
    with pytest.raises(GoogleRefusal):
        check_generation({"generationConfig": config}, model("gemini-3-flash-preview"))


@pytest.mark.parametrize("mime", ["", "image/gif", "image/jpg", "image/svg+xml", "application/json", "application/zip"])
@pytest.mark.parametrize("inside", [False, True])
def test_inline_data_of_other_kinds_is_refused(mime: str, inside: bool) -> None:
    blob = {"inlineData": {"mimeType": mime, "data": "AAAA"}}
    part = {"functionResponse": {"name": "f", "parts": [blob]}} if inside else blob
    with pytest.raises(GoogleRefusal) as caught:
        check_media([{"parts": [part]}])
    assert caught.value.text == f"Unsupported MIME type: {mime}"


@pytest.mark.parametrize("mime", ["image/png", "IMAGE/WEBP", "audio/mpeg", "video/mp4", "text/plain; charset=utf-8"])
def test_inline_data_that_is_taken(mime: str) -> None:
    check_media([{"parts": [{"inlineData": {"mimeType": mime, "data": "AAAA"}}]}])


def test_aliases_exist_on_v1beta_only() -> None:
    assert model("gemini-flash-latest").id == "gemini-3.8-flash"
    with pytest.raises(GoogleRefusal, match="gemini-flash-latest is not found for API version v1,"):
        model("gemini-flash-latest", "v1")


def test_retired_models_are_named_as_such_and_not_listed() -> None:
    with pytest.raises(GoogleRefusal, match=r"models/gemini-2\.0-flash is no longer available to new users"):
        find_model("models/gemini-2.0-flash", "v1", "generateContent", with_retired=False)
    listed = {row.id for row in all_models(with_retired=False)}
    assert "gemini-2.0-flash" not in listed
    assert "gemini-4-argon" in listed


def test_a_model_is_refused_for_a_method_it_lacks() -> None:
    with pytest.raises(GoogleRefusal, match="or is not supported for createCachedContent"):
        find_model("gemini-4-argon", "v1beta", "createCachedContent", with_retired=False)
    with pytest.raises(GoogleRefusal, match="or is not supported for embedContent"):
        find_model("gemini-3.8-flash", "v1beta", "embedContent", with_retired=False)


def test_chat_models_of_three_and_four_share_one_signature_scope() -> None:
    chat = {row.signature_scope for row in all_models(with_retired=False) if row.checks_signatures and not row.image}
    assert chat == {"gemini-chat"}
