"""Tool results on their way to the model and back.

A tool of ECHO may return an object whose reserved keys are not for the model's JSON: `echo_tool_multiparts` holds media
parts, `aec_event` and `aec_directive` hold artifacts that are told once. Source: docs/design.md section 7.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from echo_protocol.parts import Part, part_from_wire
from echo_utils import dumps

MEDIA_KEY: Final = "echo_tool_multiparts"
TRANSIENT_KEYS: Final = ("aec_event", "aec_directive")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """A raw result taken apart.

    Args:
        value: what the model reads as the result.
        media: parts for the multipart functionResponse.
        transients: artifacts to be told once, first in first out.
    """

    value: Any
    media: tuple[Part, ...] = ()
    transients: tuple[str, ...] = ()


def split_tool_output(raw: Any) -> ToolOutput:
    """Take media and transient artifacts out of a raw result; lasting resources stay in the value.

    Raises:
        UnreadablePart: an entry of `echo_tool_multiparts` is not a JSON object.
    """
    if not isinstance(raw, Mapping) or not any(key in raw for key in (MEDIA_KEY, *TRANSIENT_KEYS)):
        return ToolOutput(value=raw)
    media: list[Part] = []
    transients: list[str] = []
    value: dict[str, Any] = {}
    for key, held in raw.items():
        items = held if isinstance(held, list) else [held]
        if key == MEDIA_KEY:
            media += [part_from_wire(item) for item in items if item is not None]
        elif key in TRANSIENT_KEYS:
            transients += [item for item in items if isinstance(item, str)]
        else:
            value[key] = held
    inner: Any = value["output"] if set(value) == {"output"} else value
    return ToolOutput(value=inner, media=tuple(media), transients=tuple(transients))


def wrap_tool_output(output: Any, *, error: bool = False) -> dict[str, Any]:
    """The response object of a functionResponse: `{"output": …}` or `{"error": …}`.

    Gemini asks for an object. Media and transient artifacts are left out; `split_tool_output` has them.
    Source: Gemini API reference, FunctionResponse.response.
    """
    return {"error" if error else "output": split_tool_output(output).value}


def unbox_tool_output(response: Mapping[str, Any]) -> str:
    """The text of a response object, for the page. `unbox_tool_output(wrap_tool_output(text)) == text`.

    An error reads `error: …`, which Open WebUI shows as a failed call. Other objects than ours come as JSON; the
    `result` of an SDK is opened too.
    """
    value = split_tool_output(response).value
    if isinstance(value, Mapping) and len(value) == 1:
        key, held = next(iter(value.items()))
        if key in ("output", "result"):
            value = held
        elif key == "error":
            return f"error: {_as_text(held)}"
    return _as_text(value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode("utf-8")
