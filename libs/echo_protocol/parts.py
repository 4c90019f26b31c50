"""The parts of a Gemini `Content` as values.

A part keeps the JSON object it came from in `wire` and is replayed from it, so that unknown keys, explicit nulls and
signatures survive byte for byte. Properties only read. Camel case and snake case are both read, because proto3 JSON
accepts both. Source: Gemini API reference, Part; google-genai 3.6.1 sends both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from echo_protocol.errors import UnreadablePart

Wire: TypeAlias = dict[str, Any]

#: Keys that hold the signature, in the order in which they are looked for.
SIGNATURE_KEYS: Final = ("thoughtSignature", "thought_signature")


def read(wire: Wire, camel: str, snake: str) -> Any:
    """A value under its camel-case name or else its snake-case name; None when absent."""
    value = wire.get(camel)
    return wire.get(snake) if value is None else value


@dataclass(frozen=True, slots=True)
class _Base:
    """What all parts share. `wire` is the verbatim JSON object; treat it as read-only."""

    wire: Wire

    @property
    def signature(self) -> str | None:
        """The thought signature, as it was sent; None when absent, null or empty."""
        value = read(self.wire, "thoughtSignature", "thought_signature")
        return value if isinstance(value, str) and value else None

    @property
    def thought(self) -> bool:
        """True for a part that belongs to the model's thinking, not to its answer."""
        return self.wire.get("thought") is True


@dataclass(frozen=True, slots=True)
class TextPart(_Base):
    """Answer or user text."""

    kind: Literal["text"] = "text"

    @property
    def text(self) -> str:
        """The text; "" is possible when the part only carries a signature."""
        return str(self.wire["text"])


@dataclass(frozen=True, slots=True)
class ThoughtPart(_Base):
    """A summary of the model's thinking (`thought: true`)."""

    kind: Literal["thought"] = "thought"

    @property
    def text(self) -> str:
        """The thought text."""
        return str(self.wire["text"])


@dataclass(frozen=True, slots=True)
class FunctionCallPart(_Base):
    """The model asks for a declared function."""

    kind: Literal["function_call"] = "function_call"

    @property
    def body(self) -> Wire:
        """The inner object `{id?, name, args}`."""
        return _body(self.wire, "functionCall", "function_call")

    @property
    def name(self) -> str:
        """The declared name."""
        return str(self.body.get("name") or "")

    @property
    def args(self) -> dict[str, Any]:
        """The arguments; {} when absent or null."""
        args = self.body.get("args")
        return args if isinstance(args, dict) else {}

    @property
    def call_id(self) -> str | None:
        """The id that the answer must echo; None before Gemini 3. Source: Gemini API docs, Function calling."""
        return _optional(self.body.get("id"))


@dataclass(frozen=True, slots=True)
class FunctionResponsePart(_Base):
    """What a function gave back."""

    kind: Literal["function_response"] = "function_response"

    @property
    def body(self) -> Wire:
        """The inner object `{id?, name, response, parts?}`."""
        return _body(self.wire, "functionResponse", "function_response")

    @property
    def name(self) -> str:
        """The name of the function that was called."""
        return str(self.body.get("name") or "")

    @property
    def response(self) -> dict[str, Any]:
        """The response object; {} when absent."""
        response = self.body.get("response")
        return response if isinstance(response, dict) else {}

    @property
    def call_id(self) -> str | None:
        """The id of the call that this answers."""
        return _optional(self.body.get("id"))

    @property
    def media(self) -> tuple["Part", ...]:
        """Media that came with the response (multipart functionResponse)."""
        parts = self.body.get("parts")
        return tuple(part_from_wire(part) for part in parts) if isinstance(parts, list) else ()


@dataclass(frozen=True, slots=True)
class InlineDataPart(_Base):
    """Media inside the message."""

    kind: Literal["inline_data"] = "inline_data"

    @property
    def body(self) -> Wire:
        """The inner object `{mimeType, data, displayName?}`."""
        return _body(self.wire, "inlineData", "inline_data")

    @property
    def mime_type(self) -> str:
        """The media type."""
        return str(read(self.body, "mimeType", "mime_type") or "")

    @property
    def data(self) -> str:
        """The bytes as base64 text; the server writes standard base64, SDKs may send the URL-safe form."""
        return str(self.body.get("data") or "")


@dataclass(frozen=True, slots=True)
class FileDataPart(_Base):
    """Media by reference."""

    kind: Literal["file_data"] = "file_data"

    @property
    def body(self) -> Wire:
        """The inner object `{fileUri, mimeType}`."""
        return _body(self.wire, "fileData", "file_data")

    @property
    def mime_type(self) -> str:
        """The media type."""
        return str(read(self.body, "mimeType", "mime_type") or "")

    @property
    def uri(self) -> str:
        """Where the file is."""
        return str(read(self.body, "fileUri", "file_uri") or "")


@dataclass(frozen=True, slots=True)
class ExecutableCodePart(_Base):
    """Code that the model runs on Google's side."""

    kind: Literal["executable_code"] = "executable_code"

    @property
    def body(self) -> Wire:
        """The inner object `{id?, language, code}`."""
        return _body(self.wire, "executableCode", "executable_code")

    @property
    def code(self) -> str:
        """The source text."""
        return str(self.body.get("code") or "")

    @property
    def language(self) -> str:
        """The language, e.g. PYTHON."""
        return str(self.body.get("language") or "")


@dataclass(frozen=True, slots=True)
class CodeExecutionResultPart(_Base):
    """What that code gave."""

    kind: Literal["code_execution_result"] = "code_execution_result"

    @property
    def body(self) -> Wire:
        """The inner object `{id?, outcome, output}`."""
        return _body(self.wire, "codeExecutionResult", "code_execution_result")

    @property
    def outcome(self) -> str:
        """OUTCOME_OK, OUTCOME_FAILED or OUTCOME_DEADLINE_EXCEEDED."""
        return str(self.body.get("outcome") or "")

    @property
    def output(self) -> str:
        """Standard output or the error text."""
        return str(self.body.get("output") or "")


@dataclass(frozen=True, slots=True)
class ToolCallPart(_Base):
    """Google calls one of its own tools; shown, echoed, never executed here."""

    kind: Literal["tool_call"] = "tool_call"

    @property
    def body(self) -> Wire:
        """The inner object `{id, toolType, args}`."""
        return _body(self.wire, "toolCall", "tool_call")

    @property
    def tool_type(self) -> str:
        """Which tool, e.g. GOOGLE_SEARCH_WEB."""
        return str(read(self.body, "toolType", "tool_type") or "")

    @property
    def args(self) -> dict[str, Any]:
        """The arguments; {} when absent."""
        args = self.body.get("args")
        return args if isinstance(args, dict) else {}


@dataclass(frozen=True, slots=True)
class ToolResponsePart(_Base):
    """What Google's tool gave back to the model."""

    kind: Literal["tool_response"] = "tool_response"

    @property
    def body(self) -> Wire:
        """The inner object `{id, toolType, response}`."""
        return _body(self.wire, "toolResponse", "tool_response")

    @property
    def tool_type(self) -> str:
        """Which tool, e.g. GOOGLE_SEARCH_WEB."""
        return str(read(self.body, "toolType", "tool_type") or "")

    @property
    def response(self) -> dict[str, Any]:
        """The response object; {} when absent."""
        response = self.body.get("response")
        return response if isinstance(response, dict) else {}


@dataclass(frozen=True, slots=True)
class OpaquePart(_Base):
    """A kind that this version does not know; kept and replayed as it is."""

    kind: Literal["opaque"] = "opaque"


Part: TypeAlias = (
    TextPart
    | ThoughtPart
    | FunctionCallPart
    | FunctionResponsePart
    | InlineDataPart
    | FileDataPart
    | ExecutableCodePart
    | CodeExecutionResultPart
    | ToolCallPart
    | ToolResponsePart
    | OpaquePart
)

_KINDS: Final[dict[str, type[Any]]] = {
    "functionCall": FunctionCallPart,
    "function_call": FunctionCallPart,
    "functionResponse": FunctionResponsePart,
    "function_response": FunctionResponsePart,
    "inlineData": InlineDataPart,
    "inline_data": InlineDataPart,
    "fileData": FileDataPart,
    "file_data": FileDataPart,
    "executableCode": ExecutableCodePart,
    "executable_code": ExecutableCodePart,
    "codeExecutionResult": CodeExecutionResultPart,
    "code_execution_result": CodeExecutionResultPart,
    "toolCall": ToolCallPart,
    "tool_call": ToolCallPart,
    "toolResponse": ToolResponsePart,
    "tool_response": ToolResponsePart,
}


def part_from_wire(obj: object) -> Part:
    """Read one part. `part_from_wire(x).wire == x` for every JSON object x.

    A data key whose value is null counts as absent, as in proto3 JSON.

    Raises:
        UnreadablePart: obj is not a JSON object.
    """
    if not isinstance(obj, dict):
        raise UnreadablePart(f"a part is a {type(obj).__name__}")
    for key, value in obj.items():
        kind = _KINDS.get(key)
        if kind is not None and isinstance(value, dict):
            part: Part = kind(obj)
            return part
    if isinstance(obj.get("text"), str):
        return ThoughtPart(obj) if obj.get("thought") is True else TextPart(obj)
    return OpaquePart(obj)


def text_part(text: str) -> TextPart:
    """A text part of our own."""
    return TextPart({"text": text})


def inline_data_part(mime_type: str, data: str, *, display_name: str | None = None) -> InlineDataPart:
    """A media part; `data` is base64 text."""
    body: Wire = {"mimeType": mime_type, "data": data}
    if display_name is not None:
        body["displayName"] = display_name
    return InlineDataPart({"inlineData": body})


def file_data_part(mime_type: str, uri: str) -> FileDataPart:
    """A reference to an uploaded file."""
    return FileDataPart({"fileData": {"mimeType": mime_type, "fileUri": uri}})


def function_call_part(name: str, args: dict[str, Any], *, call_id: str | None = None) -> FunctionCallPart:
    """A call that a model made elsewhere (Cold Recovery, API callers)."""
    body: Wire = {} if call_id is None else {"id": call_id}
    return FunctionCallPart({"functionCall": {**body, "name": name, "args": args}})


def function_response_part(
    call: FunctionCallPart, response: dict[str, Any], parts: Sequence[Part] = ()
) -> FunctionResponsePart:
    """Answer a call. The id is echoed only if the call had one.

    Old endpoints refuse an unknown `id`, new ones refuse a missing one. Source: the 400 texts
    in kimi-cli issue 1582 (`Unknown name "id"`) and CLIProxyAPI issue 5199 (`functionResponse.id does not match`).

    Args:
        call: the call that is answered.
        response: the response object, as `wrap_tool_output` builds it.
        parts: media that go with it (multipart functionResponse).
    """
    body: Wire = {} if call.call_id is None else {"id": call.call_id}
    body |= {"name": call.name, "response": response}
    if parts:
        body["parts"] = [part.wire for part in parts]
    return FunctionResponsePart({"functionResponse": body})


def open_calls(parts: Iterable[Part]) -> tuple[FunctionCallPart, ...]:
    """The calls that wait for an answer: all but those that the same parts answer.

    Google answers calls to its server-side MCP tools inside the model's own turn.
    Source: googleapis/js-genai, system tests with server-side MCP tools.
    """
    waiting: list[FunctionCallPart] = []
    for part in parts:
        if isinstance(part, FunctionCallPart):
            waiting.append(part)
        elif isinstance(part, FunctionResponsePart):
            answered = next((call for call in waiting if answers(part, call)), None)
            if answered is not None:
                waiting.remove(answered)
    return tuple(waiting)


def answers(response: FunctionResponsePart, call: FunctionCallPart) -> bool:
    """True when a response fits a call: by id where both have one, else by name."""
    if call.call_id is not None and response.call_id is not None:
        return call.call_id == response.call_id
    return call.name == response.name


def _body(wire: Wire, camel: str, snake: str) -> Wire:
    body = read(wire, camel, snake)
    return body if isinstance(body, dict) else {}


def _optional(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
