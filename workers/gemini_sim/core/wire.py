"""Reads proto3 JSON as Google's front end does: both spellings, unknown fields refused with its exact texts."""

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.schema import ENUMS, MESSAGES, ONEOF

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DURATION: Final = re.compile(r"-?\d+(\.\d{1,9})?s")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TYPE_NAMES: Final = {
    "string": "TYPE_STRING",
    "bool": "TYPE_BOOL",
    "int32": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float": "TYPE_FLOAT",
    "bytes": "TYPE_BYTES",
}
_ENUM_PACKAGE: Final = "type.googleapis.com/google.ai.generativelanguage.v1beta"


def is_base64(text: str) -> bool:
    """Standard or URL-safe base64, padding optional, no stray bits behind the last byte.

    Source: the Python SDK sends the URL-safe alphabet, the JS SDK the standard one, both recorded; a blob with bits
    behind its last byte is refused, third-party.
    """
    if not _BASE64.fullmatch(text):
        return False
    bare = text.rstrip("=")
    stray = {0: 0, 1: -1, 2: 0b1111, 3: 0b11}[len(bare) % 4]
    if stray < 0:
        return False
    return not stray or not _ALPHABET.index(bare[-1].replace("-", "+").replace("_", "/")) & stray


def decode_base64(text: str) -> bytes | None:
    """Bytes of what `is_base64` accepts; None for anything else."""
    if not is_base64(text):
        return None
    bare = text.rstrip("=")
    return base64.b64decode(bare.replace("-", "+").replace("_", "/") + "=" * (-len(bare) % 4))


def parse_json(raw: bytes) -> dict[str, Any]:
    """The body as a JSON object.

    Raises:
        GoogleRefusal: the body is no JSON object.
    """
    try:
        value = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError) as error:
        raise invalid(
            f"Invalid JSON payload received. {error}", ("", f"Invalid JSON payload received. {error}")
        ) from error
    if not isinstance(value, dict):
        text = 'Invalid JSON payload received. Unknown name "": Root element must be a message.'
        raise invalid(text, ("", text))
    return value


#: Where a value sits: (parent, field name or index, suffix), None = the root. Rendered only for a refusal.
_Path = tuple[Any, str | int, str] | None


def _render(path: _Path) -> str:
    if path is None:
        return ""
    parent, step, suffix = path
    before = _render(parent)
    if isinstance(step, int):
        return f"{before}[{step}]{suffix}"
    return f"{before}.{step}" if before else step


@dataclass(slots=True)
class _Reader:
    violations: list[tuple[str, str]] = field(default_factory=list)

    def unknown(self, name: str, path: _Path, why: str = "Cannot find field.") -> None:
        where = _render(path)
        place = f" at '{where}'" if where else ""
        self.violations.append((where, f'Invalid JSON payload received. Unknown name "{name}"{place}: {why}'))

    def bad_value(self, path: _Path, kind: str, value: Any) -> None:
        where = _render(path)
        self.violations.append((where, f"Invalid value at '{where}' ({kind}), {json.dumps(value, ensure_ascii=False)}"))

    def message(self, name: str, value: Any, path: _Path) -> Any:
        if not isinstance(value, dict):
            self.bad_value(path, f"{_ENUM_PACKAGE}.{name}", value)
            return {}
        fields, exclusive = MESSAGES[name], ONEOF.get(name)
        out: dict[str, Any] = {}
        for key, item in value.items():
            known = fields.get(key)
            if known is None:
                self.unknown(key, path)
            elif item is not None:
                canonical, shown, kind = known
                if exclusive and canonical in exclusive and not exclusive.isdisjoint(out):
                    where = _render(path)
                    text = f"Invalid value at '{where}' (oneof), oneof field 'data' is already set. Cannot set '{key}'"
                    self.violations.append((where, text))
                out[canonical] = self.field(kind, item, path, (path, shown, ""), key)
        return out

    def field(self, kind: str, value: Any, parent: _Path, here: _Path, key: str) -> Any:
        if kind[0] == "[":
            items = value if isinstance(value, list) else [value]  # a lone element stands for a list of one
            inner = kind[1:-1]
            return [self.scalar(inner, item, (here, index, "")) for index, item in enumerate(items)]
        if isinstance(value, list) and kind != "value":
            self.unknown(key, parent, "Proto field is not repeating, cannot start list.")
            return None
        if kind[0] == "{":
            if not isinstance(value, dict):
                self.bad_value(here, "Map", value)
                return {}
            inner = kind[1:-1]
            rows = enumerate(value.items())
            return {name: self.scalar(inner, item, (here, index, ".value")) for index, (name, item) in rows}
        return self.scalar(kind, value, here)

    def scalar(self, kind: str, value: Any, path: _Path) -> Any:
        if kind in MESSAGES:
            return self.message(kind, value, path)
        if kind == "value":
            return value
        if kind == "struct":
            if not isinstance(value, dict):
                self.bad_value(path, "type.googleapis.com/google.protobuf.Struct", value)
            return value
        if kind.startswith("enum:"):
            name = kind[5:]
            if not isinstance(value, str) or value not in ENUMS[name]:
                self.bad_value(path, f"{_ENUM_PACKAGE}.{name}", value)
            return value
        return self.primitive(kind, value, path)

    def primitive(self, kind: str, value: Any, path: _Path) -> Any:
        match kind:
            case "string":
                good = isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value))
            case "bool":
                good = isinstance(value, bool)
            case "int32" | "int64":
                read = _integer(value)
                good, value = read is not None, read if read is not None else value
            case "float":
                good = isinstance(value, int | float) and not isinstance(value, bool)
            case "bytes":
                good = isinstance(value, str) and is_base64(value)
                if isinstance(value, str) and not good:
                    where = _render(path)
                    text = f"Invalid value at '{where}' (TYPE_BYTES), Base64 decoding failed for {json.dumps(value)}"
                    self.violations.append((where, text))
                    return value
            case "duration":
                good = isinstance(value, str) and bool(_DURATION.fullmatch(value))
            case _:
                good = isinstance(value, str)
        if not good:
            self.bad_value(path, _TYPE_NAMES.get(kind, kind), value)
        return value


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    return None


def read_message(name: str, value: Any, path: str = "") -> dict[str, Any]:
    """Check `value` against a message and return it with camelCase names, nulls dropped, structs verbatim.

    `path` is where it sits in the body, for Google's texts.

    Raises:
        GoogleRefusal: all violations at once, one a line, as Google reports them. Source: third-party (400 texts).
    """
    reader = _Reader()
    out: dict[str, Any] = reader.message(name, value, (None, path, "") if path else None)
    if reader.violations:
        text = "\n".join(description for _, description in reader.violations)
        raise invalid(text, *reader.violations)
    return out
