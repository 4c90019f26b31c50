"""Open WebUI's tool specs as Gemini function declarations."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from echo_constants import Bilingual
from echo_protocol.models import Backend
from echo_protocol.schema_read import Node, SchemaTooLarge, read_schema
from echo_protocol.schema_write import json_dialect, openapi_dialect
from echo_utils import canonical_json, dumps, plain_json, sha256_tagged, untagged, well_formed

#: Source: Gemini API reference, FunctionDeclaration.name (128 characters; 64 in older editions and on cloudcode).
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_BAD_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_.:-]")
_NAME_MAX_CHARS: Final = 64
_MARK_CHARS: Final = 8
#: Source: Gemini API reference, Tool.functionDeclarations.
_MAX_DECLARATIONS: Final = 512

_NO_NAME: Final = Bilingual(en="The tool has no name.", fr="L'outil n'a pas de nom.")
_TOO_LARGE: Final = Bilingual(
    en="The tool's parameters are too large or too deeply nested.",
    fr="Les paramètres de l'outil sont trop volumineux ou trop imbriqués.",
)
_NO_OBJECT: Final = Bilingual(
    en="The tool's parameters are not a set of named values.",
    fr="Les paramètres de l'outil ne sont pas un ensemble de valeurs nommées.",
)
_UNREADABLE: Final = Bilingual(
    en="The tool's parameters cannot be read.", fr="Les paramètres de l'outil sont illisibles."
)
_TWICE: Final = Bilingual(
    en="Another tool has the same name; the first one is used.",
    fr="Un autre outil porte le même nom ; le premier est utilisé.",
)
_TOO_MANY: Final = Bilingual(
    en="More than 512 tools are active; this one was left out.",
    fr="Plus de 512 outils sont actifs ; celui-ci a été écarté.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConversion:
    """What became of the tools.

    Args:
        declarations: functionDeclarations, sorted by name, so that their bytes do not depend on load order.
        original_names: Gemini name → Open WebUI name, for every declaration.
        left_out: (Open WebUI name, why) of tools that could not be declared.
        google: wire names of Google's own tools that stand beside them.
    """

    declarations: tuple[dict[str, Any], ...]
    original_names: Mapping[str, str]
    left_out: tuple[tuple[str, Bilingual], ...] = ()
    google: tuple[str, ...] = ()

    def tools_json(self) -> bytes | None:
        """The `tools` array for `request_json`; None when there is nothing to declare."""
        array: list[dict[str, Any]] = [{name: {}} for name in self.google]
        if self.declarations:
            array.insert(0, {"functionDeclarations": list(self.declarations)})
        return dumps(array) if array else None


def convert_owui_tools(specs: Iterable[Mapping[str, Any]], *, backend: Backend = "ai_studio") -> ToolConversion:
    """Translate tool specs.

    AI Studio gets `parametersJsonSchema`, Code Assist the older `parameters`. Names that Gemini refuses are changed and
    marked with a hash of the original, so that two of them never collide. Equal duplicates become one.

    Args:
        specs: OpenAI tools (`{"type": "function", "function": {name, description, parameters}}`) or bare specs
            (`{name, description, parameters}`).
        backend: decides the dialect.
    """
    declared: dict[str, dict[str, Any]] = {}
    originals: dict[str, str] = {}
    left_out: list[tuple[str, Bilingual]] = []
    for spec in specs:
        function = spec.get("function", spec) if isinstance(spec, Mapping) else None
        said = function.get("name") if isinstance(function, Mapping) else None
        name = said.strip() if isinstance(said, str) else ""
        if not isinstance(function, Mapping) or not name:
            left_out.append((well_formed(name), _NO_NAME))
            continue
        declaration = _declaration(gemini_name(name), function, backend)
        if isinstance(declaration, Bilingual):
            left_out.append((well_formed(name), declaration))
            continue
        before = declared.setdefault(declaration["name"], declaration)
        originals.setdefault(declaration["name"], name)
        if canonical_json(before) != canonical_json(declaration):
            left_out.append((well_formed(name), _TWICE))
    names = sorted(declared)
    left_out += [(well_formed(originals.pop(name)), _TOO_MANY) for name in names[_MAX_DECLARATIONS:]]
    return ToolConversion(
        declarations=tuple(declared[name] for name in names[:_MAX_DECLARATIONS]),
        original_names=originals,
        left_out=tuple(left_out),
    )


def gemini_name(name: str) -> str:
    """A name that Gemini takes; a good one comes back as it is, others are cut and marked with a hash."""
    if _NAME.fullmatch(name):
        return name
    mark = untagged(sha256_tagged(name.encode("utf-8", "backslashreplace")))[:_MARK_CHARS]
    plain = _BAD_CHARACTER.sub("_", name)
    if not plain[0].isalpha() and plain[0] != "_":
        plain = "_" + plain
    return f"{plain[: _NAME_MAX_CHARS - _MARK_CHARS - 1]}_{mark}"


class _NotAnObject(ValueError):
    """The parameters of a tool are a list, a number or the like."""


def _declaration(name: str, function: Mapping[str, Any], backend: Backend) -> dict[str, Any] | Bilingual:
    """The declaration, or why there can be none."""
    try:
        declaration = _written(name, plain_json(function), backend)
        dumps(declaration)
    except SchemaTooLarge:
        return _TOO_LARGE
    except _NotAnObject:
        return _NO_OBJECT
    except (TypeError, ValueError, RecursionError):  # no JSON, or nested beyond measure
        return _UNREADABLE
    return declaration


def _written(name: str, function: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    description = function.get("description")
    declaration: dict[str, Any] = {"name": name, "description": description if isinstance(description, str) else ""}
    parameters = function.get("parameters")
    node = _as_object(read_schema(parameters)) if isinstance(parameters, Mapping) else Node()
    if backend == "ai_studio" and (node.properties or node.extra not in (None, False)):
        declaration["parametersJsonSchema"] = json_dialect(node)
    elif backend == "code_assist" and node.properties:
        # an empty object is refused: "parameters.properties: should be non-empty for OBJECT type"
        declaration["parameters"] = openapi_dialect(node)
    return declaration


def _as_object(node: Node) -> Node:
    """The root as one object, as Gemini asks for: a union becomes one object with the properties of all variants.

    Raises:
        _NotAnObject: the arguments could be something else than an object.
    """
    if node.variants:
        shapes = [_as_object(variant) for variant in node.variants]
        properties = {name: value for shape in reversed(shapes) for name, value in shape.properties.items()}
        required = tuple(n for n in shapes[0].required if all(n in shape.required for shape in shapes))
        return Node(type="object", properties=properties, required=required, description=node.description)
    if node.type not in (None, "object"):
        raise _NotAnObject
    return replace(node, type="object", nullable=False, default=None, enum=())
