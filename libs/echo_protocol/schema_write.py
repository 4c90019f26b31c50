"""A tree of nodes as one of the two schema dialects that Gemini takes. Keys come in one order.

`json_dialect` is `parametersJsonSchema` (real JSON Schema, a subset); `openapi_dialect` is `parameters` (Google's
`Schema` message). Source: Gemini API reference, FunctionDeclaration and Schema; Google's error text
"When using any_of, it must be the only field set".
"""

import json
from typing import Any, Final

from echo_protocol.schema_read import Node

#: Formats that `Schema` knows, by type. Source: Gemini API reference, Schema.format.
_OPENAPI_FORMATS: Final = {
    "string": ("enum", "date-time"),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}
_JSON_LIMITS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_ANY_OPENAPI: Final = ("string", "number", "boolean", "object")


def json_dialect(node: Node) -> dict[str, Any]:
    """Write for `parametersJsonSchema`."""
    notes = list(node.notes)
    if node.variants:
        variants = [json_dialect(variant) for variant in node.variants]
        if node.nullable:
            variants.append({"type": "null"})
        return _described({"anyOf": variants}, node, notes)
    out: dict[str, Any] = {} if node.type is None else {"type": node.type}
    values = [v for v in node.enum if isinstance(v, str | int | float) and not isinstance(v, bool)]
    if node.enum and len(values) == len(node.enum):
        out["enum"] = values
    elif node.enum:
        notes.append(_one_of(node.enum))
    if node.format is not None:
        out["format"] = node.format
    out |= {} if node.pattern is None else {"pattern": node.pattern}
    for key, limit in node.limits.items():
        if key in _JSON_LIMITS:
            out[key] = limit
        else:
            notes.append(f"{key}: {limit}")
    out |= _json_children(node)
    if node.default is not None:
        out["default"] = node.default
    if node.nullable and out:
        return _described({"anyOf": [out, {"type": "null"}]}, node, notes)
    return _described(out, node, notes)


def _json_children(node: Node) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if node.prefix:
        out["prefixItems"] = [json_dialect(item) for item in node.prefix]
    if node.items is not None:
        out["items"] = json_dialect(node.items)
    if node.properties or node.type == "object":
        out["properties"] = {name: json_dialect(value) for name, value in node.properties.items()}
    if node.required:
        out["required"] = list(node.required)
    if node.extra is not None:
        out["additionalProperties"] = json_dialect(node.extra) if isinstance(node.extra, Node) else node.extra
    return out


def openapi_dialect(node: Node) -> dict[str, Any]:
    """Write for `parameters`. Nothing stands beside `anyOf`; its description and nullability go into the variants."""
    if node.type is None and not node.variants:
        any_value = tuple(Node(type=kind) for kind in _ANY_OPENAPI)
        node = Node(variants=any_value, nullable=node.nullable, description=node.description, notes=node.notes)
    if node.variants:
        return {"anyOf": [_openapi_variant(variant, node) for variant in _flat(node)]}
    notes = list(node.notes)
    kind = "string" if node.type is None or node.type == "null" else node.type
    out: dict[str, Any] = {"type": kind}
    if node.nullable or node.type == "null":
        out["nullable"] = True
    if node.enum and kind == "string" and all(isinstance(v, str) and v for v in node.enum):
        out["enum"] = list(node.enum)
    elif node.enum:
        notes.append(_one_of(node.enum))
    _openapi_format(node, out, notes)
    out |= node.limits
    out |= _openapi_children(node, kind, notes)
    if node.default is not None:
        notes.append(f"default: {_short(node.default)}")
    return _described(out, node, notes)


def _openapi_children(node: Node, kind: str, notes: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if kind == "array":
        inner = node.items if node.items is not None else Node(variants=node.prefix) if node.prefix else None
        out["items"] = {"type": "string"} if inner is None else openapi_dialect(_single(inner))
        if node.prefix:
            notes.append(f"a fixed list of {len(node.prefix)} values")
    if node.properties:
        out["properties"] = {name: openapi_dialect(value) for name, value in node.properties.items()}
    if node.required:
        out["required"] = list(node.required)
    if isinstance(node.extra, Node) and kind == "object":
        notes.append(f"further keys hold: {_short(json_dialect(node.extra))}")
    return out


def _openapi_format(node: Node, out: dict[str, Any], notes: list[str]) -> None:
    if node.format is not None and node.format in _OPENAPI_FORMATS.get(out["type"], ()):
        out["format"] = node.format
    elif node.format is not None:
        notes.append(f"format: {node.format}")
    if node.pattern is not None and node.type == "string":
        out["pattern"] = node.pattern


def _flat(node: Node) -> list[Node]:
    """Variants with nested unions opened."""
    flat: list[Node] = []
    for variant in node.variants:
        flat.extend(_flat(variant) if variant.variants else [variant])
    return flat


def _openapi_variant(variant: Node, parent: Node) -> dict[str, Any]:
    if variant.type is None:
        variant = Node(type="string", description=variant.description, notes=(*variant.notes, "any value, as JSON"))
    out = openapi_dialect(variant)
    if parent.nullable:
        out["nullable"] = True
    about = "\n".join(t for t in (parent.description, *parent.notes) if t)
    if about:
        out["description"] = f"{about}\n{out['description']}" if "description" in out else about
    return out


def _single(node: Node) -> Node:
    return node.variants[0] if len(node.variants) == 1 else node


def _described(out: dict[str, Any], node: Node, notes: list[str]) -> dict[str, Any]:
    text = "\n".join(t for t in (node.description, *(f"({note})" for note in notes)) if t)
    return {**out, "description": text} if text else out


def _one_of(values: tuple[Any, ...]) -> str:
    return "one of: " + ", ".join(_short(value) for value in values)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= 200 else text[:199] + "…"
