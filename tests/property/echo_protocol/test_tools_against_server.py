"""Whatever tools there are, the strict server takes the request: what cannot be said is left out with a reason."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from echo_protocol import Backend, convert_owui_tools, request_json
from echo_utils import well_formed
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.tools import check_tools
from echo_workers.gemini_sim.core.wire import parse_json, read_message

MODEL = find_model("gemini-3.8-flash", "v1beta", "generateContent", with_retired=True)

TEXT = st.text(st.characters(), max_size=6) | st.sampled_from(["\ud800", "", "#", "#/$defs/A", "é" * 100])
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**63, -(2**70), 10**400, float("nan"), float("inf")])
ANY_JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
WORDS = """
type properties required items prefixItems enum const anyOf oneOf allOf $ref $defs definitions nullable format pattern
default description title minimum additionalProperties maximum exclusiveMinimum minLength maxItems minProperties not if
additionalItems examples patternProperties propertyNames uniqueItems multipleOf
"""
KEYWORDS = st.sampled_from(WORDS.split())
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "STRING", "any"])
SCHEMAS = st.recursive(
    ANY_JSON,
    lambda inner: st.dictionaries(
        KEYWORDS, inner | TYPES | st.lists(inner | TYPES, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=12,
)
SPECS = st.fixed_dictionaries({}, optional={"name": TEXT | ANY_JSON, "description": ANY_JSON, "parameters": SCHEMAS})
TOOLS = st.lists(SPECS | SPECS.map(lambda spec: {"type": "function", "function": spec}) | ANY_JSON, max_size=5)

SELF = {"type": "object", "properties": {"child": {"$ref": "#"}}}
RING = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}


@given(TOOLS, st.sampled_from(["ai_studio", "code_assist"]))
@example([{"name": "f", "parameters": {"properties": {"n": {"type": "integer", "maximum": 2**70}}}}], "ai_studio")
@example([{"name": "f", "parameters": {"properties": {"n": {"enum": [2**70, float("nan")]}}}}], "ai_studio")
@example([{"name": "f", "parameters": {"properties": {"n": {"default": {"a": 10**400}}}}}], "code_assist")
@example([{"name": "\ud800", "description": "\ud800", "parameters": {"properties": {"\ud800": {}}}}], "ai_studio")
@example([{"name": "f", "parameters": SELF}, {"name": "g", "parameters": RING}], "code_assist")
def test_the_server_takes_whatever_tools_there_are(specs: list[Any], backend: Backend) -> None:
    conversion = convert_owui_tools(specs, backend=backend)
    question = b'{"role":"user","parts":[{"text":"Hi"}]}'
    request = read_message(
        "GenerateContentRequest", parse_json(request_json(contents=[question], tools=conversion.tools_json()))
    )
    check_tools(request, MODEL)
    declared = {tool["name"] for tool in conversion.declarations}
    assert set(conversion.original_names) == declared
    told = {name for name, _ in conversion.left_out}
    for name in filter(None, map(_name, specs)):
        assert well_formed(name) in told or name in conversion.original_names.values()
    assert all(why.en and why.fr for _, why in conversion.left_out)


def _name(spec: Any) -> str:
    function = spec.get("function", spec) if isinstance(spec, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name.strip() if isinstance(name, str) else ""


@given(st.lists(st.text(min_size=1, max_size=90), unique=True, max_size=8))
def test_names_lead_back_to_their_tools_and_never_collide(names: list[str]) -> None:
    conversion = convert_owui_tools([{"name": name} for name in names])
    back = sorted(conversion.original_names.values())
    assert back == sorted({name.strip() for name in names} - {""})
    assert json.loads(conversion.tools_json() or b"[{}]")[0].get("functionDeclarations", []) == list(
        conversion.declarations
    )
