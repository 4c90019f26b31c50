"""Open WebUI's messages as Gemini contents: user input, Cold Recovery of answers, and API callers' histories."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from echo_protocol.contents import LOST_RESPONSE, Content, merge_neighbours
from echo_protocol.media import item_part
from echo_protocol.parts import (
    FunctionCallPart,
    InlineDataPart,
    Part,
    TextPart,
    function_call_part,
    function_response_part,
    text_part,
)
from echo_protocol.tool_output import wrap_tool_output
from echo_utils import defused, dumps, split_thought_process

#: Begins the ids of cards that show what Google ran itself; they stand for no functionCall.
SERVER_CARD: Final = "google_"


def user_parts(content: str | Sequence[Any], files: Iterable[Part] = ()) -> list[Part]:
    """The parts of a user message, in order; empty text is left out, and text that looks like an artifact is none.

    Args:
        content: text, or a list of `text`, `image_url`, `input_audio` and `file` entries as OpenAI and Open WebUI write
            them. Data URIs become inlineData, Google file URIs fileData; what Gemini cannot take becomes a short note.
        files: prepared media parts, put after the content.
    """
    items = [content] if isinstance(content, str) else content
    parts = [part for item in items if (part := item_part(item)) is not None]
    return [*(text_part(defused(p.text)) if isinstance(p, TextPart) else p for p in parts), *files]


def assistant_contents(content: str, output_items: Iterable[Mapping[str, Any]] = ()) -> list[Content]:
    """Rebuild an answer from what Open WebUI holds (Cold Recovery).

    With output items, text and calls come in their order. Calls that follow each other are one step; its results come
    right after it, in call order. A call without a result gets an error, a result without a call is dropped. Without
    items, the text of `content` counts. Reasoning, `<details>` blocks and other items are left out.

    Returns:
        Contents in turn shape, model first; [] when nothing remains.
    """
    items = [item for item in output_items if isinstance(item, Mapping) and not _is_server_card(item)]
    if not items:
        text = split_thought_process(content)[1]
        return [Content("model", (text_part(defused(text)),))] if text else []
    results = {item.get("call_id"): item for item in items if item.get("type") == "function_call_output"}
    contents: list[Content] = []
    said: list[Part] = []
    answered: list[Part] = []
    step_over = False
    for item in items:
        kind = item.get("type")
        text = split_thought_process(_plain_text(item.get("content")))[1] if kind == "message" else ""
        if answered and (text or (step_over and kind == "function_call")):
            contents += [Content("model", tuple(said)), Content("user", tuple(answered))]
            said, answered, step_over = [], [], False
        if text:
            said.append(text_part(defused(text)))
        elif kind == "function_call":
            call = _call_of(item.get("name"), item.get("arguments"))
            said.append(call)
            answered.append(_answer(call, results.get(item.get("call_id"))))
        elif kind in ("function_call_output", "reasoning"):
            step_over = bool(answered)
    contents += [Content("model", tuple(said)), Content("user", tuple(answered))]
    return list(merge_neighbours(contents))


def visible_text(content: str, output_items: Iterable[Mapping[str, Any]] = ()) -> str:
    """The answer as a reader sees it: message items when there are any, else `content`; no thoughts, no blocks."""
    messages = [item for item in output_items if isinstance(item, Mapping) and item.get("type") == "message"]
    texts = [_plain_text(item.get("content")) for item in messages]
    return split_thought_process("\n".join(text for text in texts if text) if texts else content)[1]


def openai_messages_to_contents(
    messages: Iterable[Mapping[str, Any]], known_calls: Mapping[str, FunctionCallPart] | None = None
) -> tuple[str, list[Content]]:
    """The history of an API caller.

    Roles alternate in the result, and a run of `tool` messages is one user turn. The caller's `tool_call_id` links
    results to calls but does not go on the wire, because Gemini never issued it. A result whose call is missing is
    kept as text. Calls without a result are left for `close_dangling_calls`.

    Args:
        messages: OpenAI-shaped, oldest first.
        known_calls: calls made before these messages, by the id that the caller uses.

    Returns:
        (system text, contents): system and developer messages joined by a blank line, and the rest.
    """
    system: list[str] = []
    contents: list[Content] = []
    calls = dict(known_calls or {})
    for message in messages:
        role = message.get("role")
        content = message.get("content")
        if role in ("system", "developer"):
            system.append(_plain_text(content))
        elif role == "assistant":
            contents.append(Content("model", tuple(_assistant_parts(message, calls))))
        elif role == "tool":
            contents.append(Content("user", (_tool_part(message, calls),)))
        elif isinstance(content, str | list):
            contents.append(Content("user", tuple(user_parts(content))))
    return "\n\n".join(text for text in system if text), list(merge_neighbours(contents))


def _is_server_card(item: Mapping[str, Any]) -> bool:
    return str(item.get("call_id") or "").startswith(SERVER_CARD)


def _assistant_parts(message: Mapping[str, Any], calls: dict[str, FunctionCallPart]) -> list[Part]:
    text = split_thought_process(_plain_text(message.get("content")))[1]
    parts: list[Part] = [text_part(defused(text))] if text else []
    asked = message.get("tool_calls")
    for item in asked if isinstance(asked, list) else ():
        function = item.get("function") if isinstance(item, Mapping) else None
        if isinstance(function, Mapping):
            call = _call_of(function.get("name"), function.get("arguments"))
            calls[str(item.get("id"))] = call
            parts.append(call)
    return parts


def _tool_part(message: Mapping[str, Any], calls: Mapping[str, FunctionCallPart]) -> Part:
    call = calls.get(str(message.get("tool_call_id")))
    content = message.get("content")
    if call is None:
        return text_part(f"[result of an earlier call]\n{_plain_text(content)}")
    return _response(call, content)


def _call_of(name: Any, arguments: Any) -> FunctionCallPart:
    """A call from another's record; arguments that are not a JSON object are kept under `arguments`."""
    parsed: Any = arguments
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            parsed = arguments
    args = parsed if isinstance(parsed, dict) else {} if parsed is None else {"arguments": parsed}
    return function_call_part(str(name or "unknown"), args)


def _answer(call: FunctionCallPart, item: Mapping[str, Any] | None) -> Part:
    return function_response_part(call, LOST_RESPONSE) if item is None else _response(call, item.get("output"))


def _response(call: FunctionCallPart, content: Any) -> Part:
    """A result with its text as output and its images as media of the response."""
    items = content if isinstance(content, list) else []
    media = [part for item in items if isinstance(part := item_part(item), InlineDataPart)]
    notes = [p.text for i in items if not _is_text(i) and isinstance(p := item_part(i), TextPart)]
    text = "\n".join(t for t in (_plain_text(content), *notes) if t) if notes else _plain_text(content)
    return function_response_part(call, wrap_tool_output(text), media)


def _is_text(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, Mapping) and isinstance(item.get("text"), str))


def _plain_text(content: Any) -> str:
    """The text of a content that is a string, a list of `{text}`, or any other JSON value."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [i if isinstance(i, str) else i.get("text") if isinstance(i, Mapping) else None for i in content]
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    return "" if content is None else dumps(content).decode("utf-8")
