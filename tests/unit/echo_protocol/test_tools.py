"""Open WebUI's tools as declarations that each backend takes."""

import json
import re
from typing import Any

import pytest

from echo_protocol import Backend, convert_owui_tools, gemini_name

TEXT = {"type": "string"}
BACKENDS: tuple[Backend, ...] = ("ai_studio", "code_assist")


def spec(name: str, properties: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    return {"name": name, "description": "d", "parameters": {"type": "object", "properties": properties or {}, **rest}}


def schema_of(backend: Backend, **properties: Any) -> dict[str, Any]:
    (declaration,) = convert_owui_tools([spec("f", properties)], backend=backend).declarations
    schema: dict[str, Any] = declaration["parametersJsonSchema" if backend == "ai_studio" else "parameters"]
    value: dict[str, Any] = schema["properties"]["x"]
    return value


def test_both_spellings_of_a_spec_are_read() -> None:
    bare = convert_owui_tools([spec("f", {"a": {"type": "string"}})])
    wrapped = convert_owui_tools([{"type": "function", "function": spec("f", {"a": {"type": "string"}})}])
    assert bare == wrapped
    assert bare.declarations == (
        {
            "name": "f",
            "description": "d",
            "parametersJsonSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
        },
    )
    assert bare.original_names == {"f": "f"}


def test_the_order_of_the_specs_does_not_show_in_the_bytes() -> None:
    specs = [spec("b", {"a": {"type": "string"}}), spec("a"), spec("c.d")]
    assert convert_owui_tools(specs).tools_json() == convert_owui_tools(specs[::-1]).tools_json()
    assert convert_owui_tools([]).tools_json() is None
    tools = json.loads(convert_owui_tools(specs).tools_json() or b"")
    assert [d["name"] for d in tools[0]["functionDeclarations"]] == ["a", "b", "c.d"]


@pytest.mark.parametrize(
    "name", ["a b", "é", "1st", "-x", "a/b", "x" * 65, "server_" + "y" * 90, "読む", ":x", "a" * 64 + "b"]
)
def test_a_name_that_gemini_refuses_is_changed_reversibly(name: str) -> None:
    changed = gemini_name(name)
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", changed)
    assert convert_owui_tools([spec(name)]).original_names == {changed: name}
    assert gemini_name(changed) == changed


def test_names_that_look_alike_stay_apart() -> None:
    names = ["a b", "a_b", "a/b", "z" * 70, "z" * 71]
    conversion = convert_owui_tools([spec(name) for name in names])
    assert sorted(conversion.original_names.values()) == sorted(names)
    assert conversion.left_out == ()


def test_equal_duplicates_merge_and_different_ones_are_told() -> None:
    conversion = convert_owui_tools([spec("f"), spec("f"), spec("f", {"x": {"type": "string"}})])
    assert len(conversion.declarations) == 1
    assert "parametersJsonSchema" not in conversion.declarations[0]
    ((name, reason),) = conversion.left_out
    assert name == "f"
    assert "first" in reason.en
    assert "premier" in reason.fr


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tool_without_parameters_declares_none(backend: Backend) -> None:
    for parameters in (
        None,
        {},
        {"type": "object", "properties": {}},
        {"type": "object", "additionalProperties": False},
    ):
        (declaration,) = convert_owui_tools([{"name": "f", "parameters": parameters}], backend=backend).declarations
        assert declaration == {"name": "f", "description": ""}


@pytest.mark.parametrize(
    "parameters", [{"type": "array"}, {"type": "string"}, {"anyOf": [{"type": "object"}, {"type": "integer"}]}]
)
def test_parameters_that_are_no_object_leave_the_tool_out(parameters: dict[str, Any]) -> None:
    conversion = convert_owui_tools([{"name": "f", "parameters": parameters}, {"name": ""}, {}])
    assert conversion.declarations == ()
    assert conversion.original_names == {}
    assert [name for name, _ in conversion.left_out] == ["f", "", ""]


def test_a_tool_that_is_too_large_is_left_out_and_the_rest_stays() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        deep = {"type": "object", "properties": {"a": deep}}
    wide = spec("wide", {f"p{n}": {"type": "string"} for n in range(3000)})
    conversion = convert_owui_tools([spec("deep", {"x": deep}), wide, spec("ok")])
    assert [d["name"] for d in conversion.declarations] == ["ok"]
    assert [name for name, _ in conversion.left_out] == ["deep", "wide"]


def test_more_than_512_tools_are_cut_with_a_notice() -> None:
    conversion = convert_owui_tools([spec(f"t{n:03}") for n in range(514)])
    assert len(conversion.declarations) == len(conversion.original_names) == 512
    assert [name for name, _ in conversion.left_out] == ["t512", "t513"]


@pytest.mark.parametrize(
    ("schema", "json_form", "openapi_form"),
    [
        (
            {"type": ["string", "null"], "format": "uri"},
            {"anyOf": [{"type": "string", "format": "uri"}, {"type": "null"}]},
            {"type": "string", "nullable": True, "description": "(format: uri)"},
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "n", "default": None},
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "n"},
            {"type": "integer", "nullable": True, "description": "n"},
        ),
        (
            {"type": ["integer", "string"], "description": "n"},
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "description": "n"},
            {"anyOf": [{"type": "integer", "description": "n"}, {"type": "string", "description": "n"}]},
        ),
        (
            {"const": "a"},
            {"type": "string", "enum": ["a"]},
            {"type": "string", "enum": ["a"]},
        ),
        (
            {"enum": [1, 2]},
            {"type": "integer", "enum": [1, 2]},
            {"type": "integer", "description": "(one of: 1, 2)"},
        ),
        (
            {"enum": ["a", None]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            {"type": "string", "nullable": True, "enum": ["a"]},
        ),
        (
            {"type": "string", "format": "date-time", "pattern": "^a", "minLength": 1, "default": "a"},
            {"type": "string", "format": "date-time", "pattern": "^a", "minLength": 1, "default": "a"},
            {
                "type": "string", "format": "date-time", "pattern": "^a", "minLength": 1,
                "description": '(default: "a")',
            },
        ),
        (
            {"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "multipleOf": 3},
            {"type": "integer", "maximum": 9, "minimum": 1, "description": "(multipleOf: 3)"},
            {"type": "integer", "maximum": 9, "minimum": 1, "description": "(multipleOf: 3)"},
        ),
        ({"type": "array"}, {"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            {
                "type": "array",
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "description": "(a fixed list of 2 values)",
            },
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}},
            {"type": "object", "description": '(further keys hold: {"type":"integer"})'},
        ),
        (
            True,
            {},
            {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]},
        ),
        (
            {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                       {"properties": {"b": {"type": "string"}}, "required": ["b", "c"]}]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
            {
                "type": "object", "properties": {"a": {"type": "string"}},
                "description": '(anyOf: [{"required":["a"]}])',
            },
            {
                "type": "object", "properties": {"a": {"type": "string"}},
                "description": '(anyOf: [{"required":["a"]}])',
            },
        ),
        (
            {"anyOf": [{"type": "null"}, {"const": None}], "description": "n"},
            {"type": "null", "description": "n"},
            {"type": "string", "nullable": True, "description": "n"},
        ),
        (
            {"type": ["array", "null"], "items": {"type": ["string", "integer", "null"]}},
            {
                "anyOf": [
                    {"type": "array", "items": {"anyOf": [TEXT, {"type": "integer"}, {"type": "null"}]}},
                    {"type": "null"},
                ],
            },
            {
                "type": "array", "nullable": True,
                "items": {"anyOf": [{**TEXT, "nullable": True}, {"type": "integer", "nullable": True}]},
            },
        ),
        (
            {"type": "object", "minProperties": 1, "maxLength": 3},
            {"type": "object", "properties": {}, "description": "(minProperties: 1)"},
            {"type": "object", "minProperties": 1},
        ),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
            {"type": "array", "prefixItems": [TEXT], "items": {"type": "integer"}},
            {"type": "array", "items": {"type": "integer"}, "description": "(a fixed list of 1 values)"},
        ),
        (
            {"type": ["integer", "string"], "enum": [1, "a", True]},
            {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["a"]}]},
            {"anyOf": [{"type": "integer", "description": "(one of: 1)"}, {"type": "string", "enum": ["a"]}]},
        ),
        (
            {"enum": [True, False], "description": "n"},
            {"type": "boolean", "description": "n\n(one of: true, false)"},
            {"type": "boolean", "description": "n\n(one of: true, false)"},
        ),
        (
            {"enum": ["a", 1.5, [1], {"b": 2}]},
            {"anyOf": [{**TEXT, "enum": ["a"]}, {"type": "number", "enum": [1.5]},
                       {"type": "array", "description": "(one of: [1])"},
                       {"type": "object", "properties": {}, "description": '(one of: {"b":2})'}]},
            {"anyOf": [{**TEXT, "enum": ["a"]}, {"type": "number", "description": "(one of: 1.5)"},
                       {"type": "array", "items": TEXT, "description": "(one of: [1])"},
                       {"type": "object", "description": '(one of: {"b":2})'}]},
        ),
        (
            {"anyOf": [True, {"type": "string"}], "default": "a"},
            {"anyOf": [{}, {"type": "string"}]},
            {"anyOf": [{**TEXT, "description": "(any value, as JSON)"}, TEXT]},
        ),
        (
            {"allOf": [{"allOf": [{"type": "string"}]}, {"allOf": [{"minLength": 2}]}], "$ref": 3},
            {"type": "string", "minLength": 2},
            {"type": "string", "minLength": 2},
        ),
        (
            {"oneOf": [{"const": "a"}, {"const": "b"}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]},
        ),
    ],
)  # fmt: skip
def test_each_backend_gets_its_dialect(schema: Any, json_form: dict[str, Any], openapi_form: dict[str, Any]) -> None:
    assert schema_of("ai_studio", x=schema) == json_form
    assert schema_of("code_assist", x=schema) == openapi_form


@pytest.mark.parametrize("backend", BACKENDS)
def test_references_are_followed_and_recursion_is_left_open(backend: Backend) -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/a~1b"}}}
    parameters = {
        "$ref": "#/$defs/root",
        "$defs": {"a/b": node, "root": {"properties": {"x": {"$ref": "#/$defs/a~1b"}}}},
    }
    (declaration,) = convert_owui_tools([{"name": "f", "parameters": parameters}], backend=backend).declarations
    text = json.dumps(declaration)
    assert "$ref" not in text
    assert text.count('"name": {"type": "string"}') == 2
    assert text.count("same shape as above") == 1


def test_a_reference_to_the_root_and_one_that_leads_nowhere_are_survived() -> None:
    loops = {
        "type": "object",
        "properties": {"x": {"$ref": "#"}, "y": {"$ref": "#/no/such"}, "z": {"$ref": "http://a"}},
    }
    (declaration,) = convert_owui_tools([{"name": "f", "parameters": loops}]).declarations
    assert declaration["parametersJsonSchema"]["properties"]["y"] == {}


def test_a_root_union_becomes_one_object() -> None:
    parameters = {
        "anyOf": [
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "required": ["a", "b"],
            },
            {"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "string"}}, "required": ["a"]},
        ]
    }
    (declaration,) = convert_owui_tools([{"name": "f", "parameters": parameters}]).declarations
    schema = declaration["parametersJsonSchema"]
    assert schema["properties"].keys() == {"a", "b", "c"}
    assert schema["required"] == ["a"]
