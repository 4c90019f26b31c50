"""Any JSON Schema becomes declarations that a strict server takes, the same bytes each time.

The checks are written from Google's reference, not from our writer: the fields of `Schema`, the keywords that
`parametersJsonSchema` documents or was recorded to accept, and the texts of its 400 errors.
"""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from echo_protocol import convert_owui_tools

OPENAPI_KEYS = {
    "type", "format", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties", "required",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum", "anyOf",
}  # fmt: skip
JSON_KEYS = {
    "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems", "minimum",
    "maximum", "anyOf", "properties", "additionalProperties", "required", "minLength", "maxLength", "pattern",
    "default",
}  # fmt: skip
TYPES = {"string", "number", "integer", "boolean", "array", "object"}
FORMATS = {
    "string": {"enum", "date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}  # fmt: skip

NAMES = st.sampled_from(["a", "b", "$ref", "type", "a b", "é"])
VALUES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1, 1) | st.text(max_size=3)
REFS = st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/definitions/C", "#/nowhere", "https://a.example/s.json"])
TYPE_NAMES = st.sampled_from([*sorted(TYPES), "null", "STRING", "file"])


PLAIN = {
    "type": TYPE_NAMES | st.lists(TYPE_NAMES, max_size=3),
    "description": st.text(max_size=5),
    "title": st.text(max_size=3),
    "nullable": st.booleans(),
    "enum": st.lists(VALUES, max_size=3),
    "const": VALUES,
    "default": VALUES,
    "format": st.sampled_from(["date-time", "uri", "int32", "float", "email"]),
    "pattern": st.just("^a(?!b)"),
    "minLength": st.integers(0, 3),
    "minimum": st.integers(-3, 3) | st.floats(-1, 1),
    "exclusiveMaximum": st.integers(-3, 3) | st.booleans(),
    "multipleOf": st.integers(1, 3),
    "uniqueItems": st.booleans(),
    "required": st.lists(NAMES, max_size=2),
    "$ref": REFS | st.just(3),
    "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
    "examples": st.lists(VALUES, max_size=1),
}
NESTED = (
    "properties", "patternProperties", "additionalProperties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "not",
)  # fmt: skip
KEYWORDS = st.lists(st.sampled_from([*PLAIN, *NESTED, "properties", "items", "anyOf"]), max_size=4, unique=True)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> Any:
    """A schema of a few keywords, sensible or not."""
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        return draw(st.booleans())
    inner = schemas(depth - 1)
    schema: dict[str, Any] = {}
    for key in draw(KEYWORDS):
        if key in PLAIN:
            schema[key] = draw(PLAIN[key])
        elif key in ("properties", "patternProperties"):
            schema[key] = draw(st.dictionaries(NAMES, inner, max_size=2))
        elif key in ("not", "additionalProperties") or (key == "items" and draw(st.booleans())):
            schema[key] = draw(inner)
        else:
            schema[key] = draw(st.lists(inner, max_size=2))
    return schema


@st.composite
def roots(draw: st.DrawFn) -> dict[str, Any]:
    """The parameters of a tool, with definitions that may refer to each other."""
    root = {
        "type": "object",
        "properties": draw(st.dictionaries(NAMES, schemas(), min_size=1, max_size=3)),
        "$defs": {"A": draw(schemas()), "B": draw(schemas(2))},
        "definitions": {"C": {"type": "string"}},
    }
    extra = draw(schemas(1))
    return {**extra, **root} if isinstance(extra, dict) else root


ROOTS = roots()


@given(ROOTS)
def test_every_schema_becomes_one_that_code_assist_takes(root: dict[str, Any]) -> None:
    conversion = convert_owui_tools([{"name": "f", "parameters": root}], backend="code_assist")
    for declaration in conversion.declarations:
        assert declaration.keys() <= {"name", "description", "parameters"}
        if "parameters" in declaration:
            assert declaration["parameters"]["type"] == "object"
            assert declaration["parameters"]["properties"], "should be non-empty for OBJECT type"
            _check_openapi(declaration["parameters"])
    assert len(conversion.declarations) + len(conversion.left_out) == 1


@given(ROOTS)
def test_every_schema_becomes_one_that_ai_studio_takes(root: dict[str, Any]) -> None:
    conversion = convert_owui_tools([{"name": "f", "parameters": root}])
    for declaration in conversion.declarations:
        assert declaration.keys() <= {"name", "description", "parametersJsonSchema"}
        if "parametersJsonSchema" in declaration:
            assert declaration["parametersJsonSchema"]["type"] == "object"
            _check_json(declaration["parametersJsonSchema"])
    assert len(conversion.declarations) + len(conversion.left_out) == 1


@given(st.lists(st.tuples(st.text(max_size=80), ROOTS), max_size=4))
def test_the_bytes_do_not_depend_on_load_order(tools: list[tuple[str, dict[str, Any]]]) -> None:
    specs = {name: {"name": name, "parameters": root} for name, root in tools}
    forward = convert_owui_tools(specs.values())
    backward = convert_owui_tools(reversed(specs.values()))
    assert forward.tools_json() == backward.tools_json()
    for declared, original in forward.original_names.items():
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", declared)
        assert original in {name.strip() for name in specs}


def _check_openapi(schema: Any) -> None:
    assert isinstance(schema, dict), "a boolean is no Schema"
    assert schema.keys() <= OPENAPI_KEYS, "Unknown name"
    if "anyOf" in schema:
        assert list(schema) == ["anyOf"], "When using any_of, it must be the only field set"
        assert schema["anyOf"]
        for variant in schema["anyOf"]:
            assert "anyOf" not in variant
            _check_openapi(variant)
        return
    assert schema["type"] in TYPES, "Proto field is not repeating"
    if "enum" in schema:
        assert schema["type"] == "string"
        assert schema["enum"]
        assert all(isinstance(value, str) and value for value in schema["enum"])
    assert schema.get("format", "") in FORMATS.get(schema["type"], set()) | {""}
    assert isinstance(schema.get("description", ""), str)
    if schema["type"] == "array":
        _check_openapi(schema["items"])
    else:
        assert "items" not in schema
    _check_properties(schema, _check_openapi)


def _check_json(schema: Any) -> None:
    assert isinstance(schema, dict), "a boolean is no Schema"
    assert schema.keys() <= JSON_KEYS, "Unknown name"
    assert schema.get("type", "string") in TYPES | {"null"}
    for variant in schema.get("anyOf", ()):
        _check_json(variant)
    if "enum" in schema:
        assert schema["enum"]
        assert all(isinstance(value, str | int | float) for value in schema["enum"])
    for item in schema.get("prefixItems", ()):
        _check_json(item)
    if "items" in schema:
        _check_json(schema["items"])
    if isinstance(schema.get("additionalProperties", False), dict):
        _check_json(schema["additionalProperties"])
    _check_properties(schema, _check_json)


def _check_properties(schema: dict[str, Any], check: Any) -> None:
    for value in schema.get("properties", {}).values():
        check(value)
    required = schema.get("required", [])
    assert set(required) <= set(schema.get("properties", {})), "required: property is not defined"
    assert len(required) == len(set(required))
