"""Contents as bytes that are replayed verbatim, and the rules for the shape of a turn."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from echo_protocol.errors import EmptyContent, UnreadablePart
from echo_protocol.parts import (
    FunctionCallPart,
    FunctionResponsePart,
    Part,
    answers,
    function_response_part,
    open_calls,
    part_from_wire,
)
from echo_utils import dumps

Role: TypeAlias = Literal["user", "model"]

#: What the model reads when the outcome of a call is lost (stop, crash, edit).
LOST_RESPONSE: dict[str, Any] = {"error": "This call was interrupted; its result is not known."}


class Content(NamedTuple):
    """One entry of `contents`."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def calls(self) -> tuple[FunctionCallPart, ...]:
        """Its function calls that wait for an answer, in order."""
        return open_calls(self.parts)

    @property
    def responses(self) -> tuple[FunctionResponsePart, ...]:
        """Its function responses, in order."""
        return tuple(part for part in self.parts if isinstance(part, FunctionResponsePart))


def content_json(role: Role, parts: Iterable[Part]) -> bytes:
    """Serialise one Content as compact UTF-8; done once, at sealing.

    Raises:
        EmptyContent: there are no parts.
    """
    wires = [part.wire for part in parts]
    if not wires:
        raise EmptyContent(f"a content of role {role} has no parts")
    return dumps({"role": role, "parts": wires})


def join_contents(fragments: Iterable[bytes]) -> bytes:
    """A JSON array made by joining bytes; nothing is parsed.

    Args:
        fragments: each is one serialised Content, or a serialised array of them (`Shadow.contents_json`).
    """
    pieces = (fragment[1:-1] if fragment.startswith(b"[") else fragment for fragment in fragments)
    return b"[" + b",".join(piece for piece in pieces if piece and not piece.isspace()) + b"]"


def parse_contents(data: bytes) -> tuple[Content, ...]:
    """Read a serialised array of Contents.

    Raises:
        UnreadablePart: it is not an array of Contents.
    """
    items = json.loads(data)
    if not isinstance(items, list):
        raise UnreadablePart("contents is not a list")
    return tuple(content_from_wire(item) for item in items)


def content_from_wire(obj: object) -> Content:
    """Read one Content; a role other than `model` is `user` (old samples say `function` or leave it out).

    Raises:
        UnreadablePart: it is not a Content.
    """
    if not isinstance(obj, dict):
        raise UnreadablePart(f"a content is a {type(obj).__name__}")
    parts = obj.get("parts")
    if parts is not None and not isinstance(parts, list):
        raise UnreadablePart("parts is not a list")
    return Content("model" if obj.get("role") == "model" else "user", tuple(part_from_wire(p) for p in parts or ()))


def merge_content_json(first: bytes, second: bytes) -> bytes:
    """One Content from two of the same role, by joining the bytes of their parts.

    For two user turns that meet, such as the closed calls of a stopped answer and the next question.

    Raises:
        UnreadablePart: the two were not written by `content_json` with one role.
    """
    head = first[: first.find(b"[") + 1]
    if not head or not second.startswith(head) or not first.endswith(b"]}"):
        raise UnreadablePart("only contents of one role, as content_json writes them, can be merged")
    return first[:-2] + b"," + second[len(head) :]


def request_json(
    *,
    contents: Sequence[bytes],
    system_instruction: bytes | None = None,
    tools: bytes | None = None,
    tool_config: dict[str, Any] | None = None,
    generation_config: dict[str, Any] | None = None,
    safety_settings: list[dict[str, Any]] | None = None,
    cached_content: str | None = None,
    continuation_token: str | None = None,
) -> bytes:
    """A GenerateContentRequest, always in one key order.

    What stays the same over a chat stands first (cachedContent, systemInstruction, tools), then `contents`, and what
    may differ from hop to hop stands after them, so that two requests share the longest possible prefix of bytes.
    Source: docs/design.md section 5 Prefix; Gemini API docs, Context caching.

    Args:
        contents: fragments as for `join_contents`, replayed verbatim.
        system_instruction: a serialised Content.
        tools: a serialised array of Tool objects.
        tool_config: left out when empty, like the next two.
        generation_config: as `build_ca_generation_config` makes it.
        safety_settings: `{category, threshold}` objects.
        cached_content: `cachedContents/…`; system, tools and toolConfig then live in the cache and must be None.
        continuation_token: base64, from `StreamResult`.
    """
    fields: list[tuple[bytes, bytes | None]] = [
        (b"cachedContent", None if cached_content is None else dumps(cached_content)),
        (b"systemInstruction", system_instruction),
        (b"tools", tools),
        (b"contents", join_contents(contents)),
        (b"toolConfig", dumps(tool_config) if tool_config else None),
        (b"generationConfig", dumps(generation_config) if generation_config else None),
        (b"safetySettings", dumps(safety_settings) if safety_settings else None),
        (b"continuationToken", None if continuation_token is None else dumps(continuation_token)),
    ]
    return b"{" + b",".join(b'"' + name + b'":' + value for name, value in fields if value is not None) + b"}"


def merge_neighbours(contents: Iterable[Content]) -> tuple[Content, ...]:
    """Put neighbours of one role into one Content and drop empty ones, so that roles alternate."""
    merged: list[Content] = []
    for content in contents:
        if not content.parts:
            continue
        if merged and merged[-1].role == content.role:
            merged[-1] = Content(content.role, merged[-1].parts + content.parts)
        else:
            merged.append(content)
    return tuple(merged)


def close_dangling_calls(contents: Iterable[Content]) -> tuple[Content, ...]:
    """Give every call an answer, in call order, right after its turn; then merge neighbours of one role.

    A call without an answer (stop, crash) gets `LOST_RESPONSE`. Answers that are out of order are put in order, those
    without a call are dropped. Contents that are in order already come back with the same parts.
    """
    pending: tuple[FunctionCallPart, ...] = ()
    closed: list[Content] = []
    for content in merge_neighbours(contents):
        if content.role == "model":
            closed.append(content)
            pending = content.calls
            continue
        rest = tuple(part for part in content.parts if not isinstance(part, FunctionResponsePart))
        if _in_order(pending, content):
            closed.append(content)
        else:
            closed.append(Content("user", _answers(pending, content.responses) + rest))
        pending = ()
    if pending:
        closed.append(Content("user", _answers(pending, ())))
    return merge_neighbours(closed)


def check_turn_shape(contents: Sequence[Content]) -> list[str]:
    """What Gemini would refuse about the shape of a conversation; [] when all is well.

    Source: the 400 texts of the API ("Please ensure that the number of function response parts is equal …", "Please
    ensure that function call turn comes immediately after a user turn …"); Gemini API docs, Thought signatures.
    """
    problems: list[str] = []
    if contents and contents[0].role != "user":
        problems.append("contents[0]: a conversation starts with a user turn")
    for index, content in enumerate(contents):
        if not content.parts:
            problems.append(f"contents[{index}]: no parts")
        if index and contents[index - 1].role == content.role:
            problems.append(f"contents[{index}]: two {content.role} turns follow each other")
        if content.role == "model":
            following = contents[index + 1] if index + 1 < len(contents) else Content("user", ())
            if content.calls and not _in_order(content.calls, following):
                problems.append(f"contents[{index}]: its calls are not answered in order by the next turn")
            continue
        asked = index > 0 and bool(contents[index - 1].calls)
        if content.calls:
            problems.append(f"contents[{index}]: a user turn holds a functionCall")
        if content.responses and not asked:
            problems.append(f"contents[{index}]: a functionResponse without a call")
    return problems


def _in_order(calls: Sequence[FunctionCallPart], content: Content) -> bool:
    """True when the responses answer the calls one by one."""
    responses = content.responses
    if len(calls) != len(responses):
        return False
    return all(answers(response, call) for call, response in zip(calls, responses, strict=True))


def _answers(
    calls: Sequence[FunctionCallPart], responses: Sequence[FunctionResponsePart]
) -> tuple[FunctionResponsePart, ...]:
    """One answer a call, in call order, from what there is."""
    left = list(responses)
    given: list[FunctionResponsePart] = []
    for call in calls:
        found = next((response for response in left if answers(response, call)), None)
        if found is not None:
            left.remove(found)
        given.append(found if found is not None else function_response_part(call, LOST_RESPONSE))
    return tuple(given)
