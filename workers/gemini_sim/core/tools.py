"""Tool declarations and schemas that the server refuses."""

import re
from collections.abc import Iterator
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import ServerModel

#: Source: function calling, documented (name up to 128 characters).
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_DECLARATIONS_MAX: Final = 512
#: What a schema node with `$ref` may hold besides keys that begin with `$`.
#: Source: JSON Schema in parametersJsonSchema, documented; description and default third-party.
_BESIDE_REF: Final = frozenset({"description", "default"})
#: Shapes of the keywords that are looked at. Source: JSON Schema, validation vocabulary.
_KEYWORDS: Final[dict[str, type | tuple[type, ...]]] = {
    "$ref": str,
    "type": (str, list),
    "properties": dict,
    "$defs": dict,
    "definitions": dict,
    "required": list,
    "enum": list,
    "anyOf": list,
    "oneOf": list,
    "allOf": list,
    "prefixItems": list,
    "minItems": int,
    "maxItems": int,
    "minLength": int,
    "maxLength": int,
    "minimum": (int, float),
    "maximum": (int, float),
}
_SERVER_TOOLS: Final = frozenset({"functionDeclarations", "mcpServers"})


def declared(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Declared functions: name -> parameter schema (either form, `{}` when it takes none)."""
    found: dict[str, dict[str, Any]] = {}
    for tool in request.get("tools", []):
        for row in tool.get("functionDeclarations", []):
            schema = row.get("parametersJsonSchema", row.get("parameters", {}))
            found[row.get("name", "")] = schema if isinstance(schema, dict) else {}
    return found


def _rows(request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(request.get("tools", [])):
        for at, row in enumerate(tool.get("functionDeclarations", [])):
            yield f"GenerateContentRequest.tools[{index}].function_declarations[{at}]", row


def check_tools(request: dict[str, Any], model: ServerModel) -> None:
    """Names, one schema form a function, schema shapes, and the flag that mixes built-in tools with functions.

    Raises:
        GoogleRefusal: 400. Source: names documented; texts third-party.
    """
    rows = list(_rows(request))
    if len(rows) > _DECLARATIONS_MAX:
        raise invalid(f"The number of function declarations exceeds the maximum of {_DECLARATIONS_MAX}.")
    faults: list[str] = []
    for path, row in rows:
        faults += _row_faults(path, row)
    if faults:
        raise invalid("".join(f"* {fault}\n" for fault in faults))
    names = [row["name"] for _, row in rows]
    doubled = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if doubled is not None:
        raise invalid(f"Duplicate function declaration found: {doubled}")
    _check_config(request, names, model)
    _check_maps(request, model)


def _check_maps(request: dict[str, Any], model: ServerModel) -> None:
    """Source: both texts about the tool are third-party reports, the range is that of `google.type.LatLng`."""
    if any("googleMaps" in tool for tool in request.get("tools", [])):
        if not model.maps:
            raise invalid("Google Maps tool is not enabled for this model")
        if request.get("generationConfig", {}).get("responseMimeType") == "application/json":
            raise invalid("Google Maps tool with a response mime type: 'application/json' is unsupported")
    place = request.get("toolConfig", {}).get("retrievalConfig", {}).get("latLng", {})
    if abs(place.get("latitude", 0)) > 90 or abs(place.get("longitude", 0)) > 180:
        raise invalid("Invalid value at 'tool_config.retrieval_config.lat_lng': out of range.")


def _check_config(request: dict[str, Any], names: list[str], model: ServerModel) -> None:
    builtin = any(not _SERVER_TOOLS.issuperset(tool) for tool in request.get("tools", []))
    config = request.get("toolConfig", {})
    if builtin and names and model.generation >= 3 and not config.get("includeServerSideToolInvocations"):
        raise invalid(
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function "
            "calling."
        )
    calling = config.get("functionCallingConfig", {})
    unknown = [name for name in calling.get("allowedFunctionNames", []) if name not in names]
    if unknown and names:
        raise invalid(f"Function name {unknown[0]} in allowed_function_names is not in function_declarations.")
    if calling.get("mode") == "ANY" and not names:
        raise invalid("Function calling mode ANY is set but no function declarations are provided.")


def _row_faults(path: str, row: dict[str, Any]) -> list[str]:
    faults = []
    if not _NAME.fullmatch(row.get("name", "")):
        faults.append(
            f"{path}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric "
            "(a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
        )
    if "parameters" in row and "parametersJsonSchema" in row:
        faults.append(f"{path}: only one of parameters and parameters_json_schema may be set.")
    if "parameters" in row:
        faults += schema_faults(row["parameters"], f"{path}.parameters")
    if "parametersJsonSchema" in row:
        faults += json_schema_faults(row["parametersJsonSchema"], f"{path}.parameters_json_schema")
    return faults


def schema_faults(schema: dict[str, Any], path: str) -> list[str]:
    """What the OpenAPI subset forbids beyond unknown fields, one line a fault.

    Source: third-party reports of the texts; an OBJECT without properties is accepted, recorded.
    """
    kind = str(schema.get("type", "")).upper()
    faults = []
    if kind == "ARRAY" and "items" not in schema:
        faults.append(f"{path}.items: missing field.")
    if schema.get("enum") and kind != "STRING":
        faults.append(f"{path}.enum: only allowed for STRING type")
    if kind != "OBJECT":
        faults += [
            f"{path}.{name}: only allowed for OBJECT type" for name in ("properties", "required") if schema.get(name)
        ]
    else:
        known = schema.get("properties", {})
        for at, name in enumerate(schema.get("required", [])):
            if name not in known:
                faults.append(f"{path}.required[{at}]: property is not defined")
    for name, child in schema.get("properties", {}).items():
        faults += schema_faults(child, f"{path}.properties[{name}]")
    if "items" in schema:
        faults += schema_faults(schema["items"], f"{path}.items")
    for at, child in enumerate(schema.get("anyOf", [])):
        faults += schema_faults(child, f"{path}.any_of[{at}]")
    return faults


def json_schema_faults(schema: Any, path: str, root: Any = None) -> list[str]:
    """What real JSON Schema must keep to here: keywords of the right shape, local references that stand alone.

    The root may set more beside its reference (recorded). Source: JSON Schema support, documented; the texts are our
    own wording, Google's are not recorded.
    """
    if isinstance(schema, bool):
        return []
    if not isinstance(schema, dict):
        return [f"{path}: schema must be an object."]
    faults = [
        f"{path}.{name}: must be {_shape_name(shape)}."
        for name, shape in _KEYWORDS.items()
        if name in schema and (not isinstance(schema[name], shape) or isinstance(schema[name], bool))
    ]
    if faults:
        return faults
    reference = schema.get("$ref")
    if reference is not None:
        others = sorted(key for key in schema if not key.startswith("$") and key not in _BESIDE_REF)
        if others and root is not None:
            faults.append(f"{path}: a schema with $ref may not set {', '.join(others)}.")
        if not _resolves(schema if root is None else root, reference):
            faults.append(f"{path}: reference to undefined schema at {reference}")
    for where, child in _children(schema, path):
        faults += json_schema_faults(child, where, schema if root is None else root)
    return faults


def _shape_name(shape: type | tuple[type, ...]) -> str:
    names = {dict: "an object", list: "an array", str: "a string", int: "a number", float: "a number"}
    shapes = shape if isinstance(shape, tuple) else (shape,)
    return " or ".join(dict.fromkeys(names[one] for one in shapes))


def _children(schema: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name in ("properties", "$defs", "definitions"):
        yield from ((f"{path}.{name}[{key}]", child) for key, child in schema.get(name, {}).items())
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield f"{path}.{name}", schema[name]
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from ((f"{path}.{name}[{at}]", child) for at, child in enumerate(schema.get(name, [])))


def _resolves(root: Any, reference: Any) -> bool:
    node = root
    for step in str(reference).removeprefix("#").strip("/").split("/"):
        if step:
            if not isinstance(node, dict) or step not in node:
                return False
            node = node[step]
    return True
