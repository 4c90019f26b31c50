"""Any JSON Schema as a tree of plain nodes: references followed, unions named, oddities turned into notes.

What a node cannot say is kept as a short note for the description, so that the model can still respect it. Recursion
is unrolled a few levels and then left open, as Google does itself. Source: Gemini API reference,
GenerationConfig.responseJsonSchema ("unrolled to a limited degree").
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

#: How often one definition may appear on a path before it is left open.
_MAX_UNROLL: Final = 2
#: Nodes of one tool; a schema beyond this would cost more context than it gives.
MAX_NODES: Final = 2_000
_MAX_DEPTH: Final = 24
_NOTE_MAX_CHARS: Final = 200

TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
#: The bounds that mean something for a type.
LIMITS: Final = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_TYPE_BY_KEY: Final = {
    "properties": "object", "additionalProperties": "object", "required": "object", "patternProperties": "object",
    "items": "array", "prefixItems": "array", "minItems": "array", "maxItems": "array", "uniqueItems": "array",
    "pattern": "string", "minLength": "string", "maxLength": "string",
    "minimum": "number", "maximum": "number", "multipleOf": "number",
    "exclusiveMinimum": "number", "exclusiveMaximum": "number",
}  # fmt: skip
#: Keywords that no Gemini dialect takes; they are told in words.
_NOTED: Final = (
    "not", "if", "then", "else", "patternProperties", "propertyNames", "contains", "multipleOf", "dependentRequired",
    "dependentSchemas",
)  # fmt: skip


class SchemaTooLarge(ValueError):
    """The schema has more nodes or levels than a tool may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One schema. `type` None means any value, unless `variants` says which.

    Args:
        limits: minimum, maxLength and the like, in a fixed order.
        extra: `additionalProperties`: None = not said.
        notes: constraints in words.
    """

    type: str | None = None
    nullable: bool = False
    variants: tuple["Node", ...] = ()
    properties: Mapping[str, "Node"] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    items: "Node | None" = None
    prefix: tuple["Node", ...] = ()
    extra: "bool | Node | None" = None
    enum: tuple[Any, ...] = ()
    format: str | None = None
    pattern: str | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)
    default: Any = None
    description: str = ""
    notes: tuple[str, ...] = ()


def read_schema(schema: Mapping[str, Any]) -> Node:
    """Read a schema.

    Raises:
        SchemaTooLarge: more than `MAX_NODES` nodes, or nested too deeply.
    """
    return _Reader(schema).node(schema, {}, 0)


class _Reader:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def node(self, raw: Any, seen: Mapping[str, int], depth: int) -> Node:
        """Read one schema; `seen` counts the references on the way to it."""
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > _MAX_DEPTH:
            raise SchemaTooLarge(f"more than {MAX_NODES} nodes or {_MAX_DEPTH} levels")
        if not isinstance(raw, Mapping):
            return Node()  # true, or something that is no schema: any value
        schema, seen, cut = self._expanded(raw, seen)
        if cut:
            return Node(type="object", description=_text(schema.get("description")), notes=("same shape as above",))
        types, nullable = _types_of(schema)
        union = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(union, list) and union:
            return self._union(schema, union, seen, depth, nullable=nullable)
        if len(types) > 1:
            bare = {key: value for key, value in schema.items() if key not in ("type", "nullable", "description")}
            variants = tuple(self.node({**_for_type(bare, t), "type": t}, seen, depth + 1) for t in types)
            return Node(variants=variants, nullable=nullable, description=_text(schema.get("description")))
        return self._plain(schema, types[0] if types else None, seen, depth, nullable=nullable)

    def _expanded(
        self, raw: Mapping[str, Any], seen: Mapping[str, int]
    ) -> tuple[dict[str, Any], Mapping[str, int], bool]:
        """Follow `$ref` and fold `allOf` in; the flag says that a recursion is cut here."""
        schema = dict(raw)
        counts = dict(seen)
        while True:
            ref = schema.pop("$ref", None)
            parts = schema.pop("allOf", None)
            if isinstance(ref, str):
                counts[ref] = counts.get(ref, 0) + 1
                if counts[ref] > _MAX_UNROLL:
                    return schema, counts, True
                schema = _both(self._target(ref), schema)
            if isinstance(parts, list):
                for part in parts:
                    if isinstance(part, Mapping):
                        schema = _both(schema, part)
            if "$ref" not in schema and "allOf" not in schema:
                return schema, counts, False

    def _target(self, ref: str) -> dict[str, Any]:
        """What a local reference points at; {} for one that leads nowhere or outside."""
        node: Any = self._root
        if not ref.startswith("#"):
            return {}
        for step in ref[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            node = node.get(key) if isinstance(node, Mapping) else None
        return dict(node) if isinstance(node, Mapping) else {}

    def _union(
        self, schema: Mapping[str, Any], union: list[Any], seen: Mapping[str, int], depth: int, *, nullable: bool
    ) -> Node:
        """`anyOf` and `oneOf`, with what stands beside them folded into each variant."""
        beside = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "description", "default", "nullable")}
        description = _text(schema.get("description"))
        if "type" in beside and all(isinstance(v, Mapping) and not _says_type(v) for v in union):
            plain = self.node({**beside, "description": description}, seen, depth + 1)
            return replace(plain, nullable=plain.nullable or nullable, notes=(*plain.notes, _note("anyOf", union)))
        variants: list[Node] = []
        for raw in union:
            variant = self.node(_both(raw, beside) if isinstance(raw, Mapping) else raw, seen, depth + 1)
            nullable |= variant.nullable or variant.type == "null"
            variant = replace(variant, nullable=False)
            if variant.type != "null" and variant not in variants:
                variants.append(variant)
        if not variants:
            return Node(type="null", description=description)
        if len(variants) == 1:
            only = variants[0]
            return replace(only, nullable=nullable, description=description or only.description)
        return Node(variants=tuple(variants), nullable=nullable, description=description, default=schema.get("default"))

    def _plain(
        self, schema: Mapping[str, Any], kind: str | None, seen: Mapping[str, int], depth: int, *, nullable: bool
    ) -> Node:
        enum, enum_null = _enum_of(schema)
        notes = [_note(key, schema[key]) for key in _NOTED if key in schema]
        limits = {key: schema[key] for key in LIMITS.get(kind or "", ()) if _is_number(schema.get(key))}
        for key, bound, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
            if bound in LIMITS.get(kind or "", ()) and _is_number(schema.get(key)):
                limits[bound] = schema[key] + step if kind == "integer" else schema[key]
                notes += [] if kind == "integer" else [_note(key, schema[key])]
        properties = schema.get("properties")
        names = properties if isinstance(properties, Mapping) else {}
        items = schema.get("items")
        prefix = schema.get("prefixItems")
        if isinstance(items, list):
            prefix, items = items, schema.get("additionalItems")
        extra = schema.get("additionalProperties")
        required = schema.get("required")
        return Node(
            type=kind,
            nullable=nullable or enum_null,
            properties={
                str(name): self.node(value, seen, depth + 1) for name, value in names.items() if value is not False
            },
            required=tuple(dict.fromkeys(n for n in required if n in names and names[n] is not False))
            if isinstance(required, list)
            else (),
            items=self.node(items, seen, depth + 1) if isinstance(items, Mapping) else None,
            prefix=tuple(self.node(item, seen, depth + 1) for item in prefix) if isinstance(prefix, list) else (),
            extra=self.node(extra, seen, depth + 1)
            if isinstance(extra, Mapping)
            else extra
            if isinstance(extra, bool)
            else None,
            enum=enum,
            format=schema.get("format") if isinstance(schema.get("format"), str) else None,
            pattern=schema.get("pattern") if isinstance(schema.get("pattern"), str) else None,
            limits=limits,
            default=schema.get("default"),
            description=_text(schema.get("description")),
            notes=tuple(notes),
        )


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """What satisfies both schemas, as far as keys can say it; the second wins where they differ."""
    merged = {**first, **second}
    for key in ("properties", "$defs", "definitions"):
        if isinstance(first.get(key), Mapping) and isinstance(second.get(key), Mapping):
            merged[key] = {**first[key], **second[key]}
    if isinstance(first.get("required"), list) and isinstance(second.get("required"), list):
        merged["required"] = list(dict.fromkeys([*first["required"], *second["required"]]))
    if isinstance(first.get("allOf"), list) and isinstance(second.get("allOf"), list):
        merged["allOf"] = [*first["allOf"], *second["allOf"]]
    return merged


def _types_of(schema: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The types without null, and whether null is allowed."""
    raw = schema.get("type")
    named = [str(t).lower() for t in (raw if isinstance(raw, list) else [raw]) if t is not None]
    known = list(dict.fromkeys(t for t in named if t in TYPES))
    nullable = schema.get("nullable") is True or ("null" in known and len(known) > 1)
    types = [t for t in known if t != "null"] if len(known) > 1 else known
    if not types and "const" in schema:
        types = [_type_of_value(schema["const"])]
    if not types and isinstance(schema.get("enum"), list):
        types = list(dict.fromkeys(_type_of_value(v) for v in schema["enum"] if v is not None))
    if not types:
        types = [t for key, t in _TYPE_BY_KEY.items() if key in schema][:1]
    return types, nullable


def _enum_of(schema: Mapping[str, Any]) -> tuple[tuple[Any, ...], bool]:
    """Allowed values (`const` is one) without null, and whether null was among them."""
    raw = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(raw, list):
        return (), False
    values: list[Any] = []
    for value in raw:
        if value is not None and not any(type(v) is type(value) and v == value for v in values):
            values.append(value)
    return tuple(values), None in raw and bool(values)


def _type_of_value(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "null" if value is None else "object"


def _for_type(schema: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The keywords that mean something for one type of a union."""
    kept = {
        k: v for k, v in schema.items() if _TYPE_BY_KEY.get(k, kind) in (kind, "number" if kind == "integer" else kind)
    }
    if isinstance(kept.get("enum"), list):
        kept["enum"] = [v for v in kept["enum"] if _type_of_value(v) == kind]
        if not kept["enum"]:
            del kept["enum"]
    return kept


def _says_type(schema: Mapping[str, Any]) -> bool:
    return any(
        key in schema for key in ("type", "$ref", "enum", "const", "properties", "items", "anyOf", "oneOf", "allOf")
    )


def _note(key: str, value: Any) -> str:
    text = f"{key}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'), default=str)}"
    return text if len(text) <= _NOTE_MAX_CHARS else text[: _NOTE_MAX_CHARS - 1] + "…"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf")
    )
