"""Function calls whose arguments arrive in pieces (Vertex `streamFunctionCallArguments`).

A call opens with `{name, willContinue: true}`, goes on with `{partialArgs: [{jsonPath, stringValue…, willContinue}]}`
and closes with a body without `willContinue`, often `{}`. Source: recordings of vercel/ai and googleapis/js-genai.
"""

import re
from typing import Any, Final

from echo_protocol.errors import UnreadableChunk
from echo_protocol.parts import SIGNATURE_KEYS, FunctionCallPart, Wire, read

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_VALUES: Final = (
    ("stringValue", "string_value"),
    ("numberValue", "number_value"),
    ("intValue", "int_value"),
    ("doubleValue", "double_value"),
    ("boolValue", "bool_value"),
)


def is_partial(part: FunctionCallPart) -> bool:
    """True for a call that is not whole in this part."""
    body = part.body
    return bool(read(body, "willContinue", "will_continue") or read(body, "partialArgs", "partial_args"))


class PartialCall:
    """One call under construction."""

    def __init__(self, first: FunctionCallPart) -> None:
        self._wire: Wire = {key: first.wire[key] for key in SIGNATURE_KEYS if key in first.wire}
        self._head = {key: first.body[key] for key in ("id", "name") if key in first.body}
        self._args: dict[str, Any] = dict(first.args)
        self._open_path: str | None = None
        self._pieces: list[str] = []

    def add(self, part: FunctionCallPart) -> bool:
        """Take the next piece; True when the call is whole.

        Raises:
            UnreadableChunk: a path that does not fit what came before.
        """
        for key in SIGNATURE_KEYS:
            if key in part.wire:
                self._wire.setdefault(key, part.wire[key])
        pieces = read(part.body, "partialArgs", "partial_args") or ()
        for piece in pieces:
            self._take(piece)
        return not read(part.body, "willContinue", "will_continue")

    def close(self) -> FunctionCallPart:
        """The whole call, in the shape of a call that came in one piece."""
        self._flush()
        return FunctionCallPart({"functionCall": {**self._head, "args": self._args}, **self._wire})

    def _take(self, piece: Wire) -> None:
        path = str(read(piece, "jsonPath", "json_path") or "")
        value = next((found for names in _VALUES if (found := read(piece, *names)) is not None), None)
        if isinstance(value, str) and path == self._open_path:
            self._pieces.append(value)
        else:
            self._flush()
            if isinstance(value, str):
                self._open_path, self._pieces = path, [value]
            else:
                _set(self._args, path, value)
        if self._open_path == path and not read(piece, "willContinue", "will_continue"):
            self._flush()

    def _flush(self) -> None:
        if self._open_path is not None:
            _set(self._args, self._open_path, "".join(self._pieces))
        self._open_path, self._pieces = None, []


def _set(root: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a JSON path such as `$.recipe.steps[0].text`."""
    keys: list[str | int] = []
    position = 1
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise UnreadableChunk(f"argument path {path!r}")
        name, index, single, double = step.groups()
        keys.append(int(index) if index is not None else next(k for k in (name, single, double) if k is not None))
        position = step.end()
    if not path.startswith("$") or not keys:
        raise UnreadableChunk(f"argument path {path!r}")
    node: Any = root
    for key, following in zip(keys, [*keys[1:], None], strict=True):
        leaf: Any = value if following is None else ([] if isinstance(following, int) else {})
        node = _enter(node, key, leaf, is_last=following is None, path=path)


def _enter(node: Any, key: str | int, leaf: Any, *, is_last: bool, path: str) -> Any:
    """Go one step down, making the container when it is absent; lists only grow by one."""
    if isinstance(key, str) and isinstance(node, dict):
        if is_last or key not in node:
            node[key] = leaf
        return node[key]
    if isinstance(key, int) and isinstance(node, list) and key <= len(node):
        if key == len(node):
            node.append(leaf)
        elif is_last:
            node[key] = leaf
        return node[key]
    raise UnreadableChunk(f"argument path {path!r} does not fit the arguments so far")
