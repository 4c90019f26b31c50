"""Open WebUI's messages as Gemini contents: user input, Cold Recovery of answers, and API callers' histories."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from echo_protocol.contents import Content, merge_neighbours
from echo_protocol.parts import (
    FunctionCallPart,
    Part,
    file_data_part,
    function_call_part,
    function_response_part,
    inline_data_part,
    text_part,
)
from echo_protocol.tool_output import wrap_tool_output
from echo_utils import dumps, split_thought_process

_DATA_URI: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64,", re.IGNORECASE)
#: What a data URI without a type means. Source: RFC 2397 says text/plain; Open WebUI only leaves it out for images.
_UNNAMED_TYPE: Final = "image/png"
_AUDIO_TYPES: Final = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def user_parts(content: str | Sequence[Any], files: Iterable[Part] = ()) -> list[Part]:
    """The parts of a user message.

    Args:
        content: text, or a list of `text`, `image_url`, `input_audio` and `file` entries as OpenAI and Open WebUI write
            them. Images come as data URIs (→ inlineData) or as Google file URIs (→ fileData); other addresses are
            told as text, because the model cannot open them.
        files: prepared media parts, put after the text.
    """
    parts: list[Part] = []
    for item in [content] if isinstance(content, str) else content:
        part = _user_item(item)
        if part is not None:
            parts.append(part)
    return [*parts, *files]


def assistant_contents(content: str, output_items: Iterable[Mapping[str, Any]] = ()) -> list[Content]:
    """Rebuild an answer from what Open WebUI holds (Cold Recovery).

    With output items, text and calls come in their order, each batch of calls followed by its results; a call without a
    result gets an error, a result without a call is dropped. Without items, the text of `content` counts. Reasoning,
    `<details>` blocks and items of other kinds are left out. [] when nothing remains.
    """
    items = [item for item in output_items if isinstance(item, Mapping)]
    if not items:
        text = split_thought_process(content)[1]
        return [Content("model", (text_part(text),))] if text else []
    results = {str(i.get("call_id")): i for i in items if i.get("type") == "function_call_output"}
    contents: list[Content] = []
    said: list[Part] = []
    answered: list[Part] = []
    for item in items:
        kind = item.get("type")
        if kind == "function_call":
            call = _call_of(item.get("name"), item.get("arguments"))
            said.append(call)
            answered.append(_answer(call, results.get(str(item.get("call_id")))))
        elif kind == "message" and (text := split_thought_process(_item_text(item))[1]):
            if answered:
                contents += [Content("model", tuple(said)), Content("user", tuple(answered))]
                said, answered = [], []
            said.append(text_part(text))
        elif kind in ("function_call_output", "reasoning") and answered and _step_ends(item, items):
            contents += [Content("model", tuple(said)), Content("user", tuple(answered))]
            said, answered = [], []
    contents += [Content("model", tuple(said)), Content("user", tuple(answered))]
    return list(merge_neighbours(contents))


def visible_text(content: str, output_items: Iterable[Mapping[str, Any]] = ()) -> str:
    """The answer as a reader sees it: message items when there are any, else `content`; no thoughts, no blocks."""
    texts = [_item_text(item) for item in output_items if isinstance(item, Mapping) and item.get("type") == "message"]
    return split_thought_process("\n".join(text for text in texts if text) if texts else content)[1]


def openai_messages_to_contents(messages: Iterable[Mapping[str, Any]]) -> tuple[str, list[Content]]:
    """The history of an API caller.

    Returns:
        (system text, contents): system and developer messages joined by a blank line; roles alternate, a run of `tool`
        messages is one user turn, calls keep the caller's `tool_call_id` out of the wire (Gemini never issued it).
    """
    system: list[str] = []
    contents: list[Content] = []
    calls: dict[str, FunctionCallPart] = {}
    for message in messages:
        role = message.get("role")
        content = message.get("content")
        if role in ("system", "developer"):
            system.append(_plain_text(content))
        elif role == "assistant":
            contents.append(Content("model", tuple(_assistant_parts(message, calls))))
        elif role == "tool":
            call = calls.get(str(message.get("tool_call_id")))
            if call is not None:
                response = wrap_tool_output(_plain_text(content))
                contents.append(Content("user", (function_response_part(call, response),)))
        elif isinstance(content, str | list):
            contents.append(Content("user", tuple(user_parts(content))))
    return "\n\n".join(text for text in system if text), list(merge_neighbours(contents))


def _assistant_parts(message: Mapping[str, Any], calls: dict[str, FunctionCallPart]) -> list[Part]:
    text = split_thought_process(_plain_text(message.get("content")))[1]
    parts: list[Part] = [text_part(text)] if text else []
    asked = message.get("tool_calls")
    for item in asked if isinstance(asked, list) else ():
        function = item.get("function") if isinstance(item, Mapping) else None
        if isinstance(function, Mapping):
            call = _call_of(function.get("name"), function.get("arguments"))
            calls[str(item.get("id"))] = call
            parts.append(call)
    return parts


def _user_item(item: Any) -> Part | None:
    if isinstance(item, str):
        return text_part(item) if item else None
    if not isinstance(item, Mapping):
        return None
    match item.get("type"):
        case "text" | "input_text":
            text = item.get("text")
            return text_part(text) if isinstance(text, str) and text else None
        case "image_url" | "input_image":
            holder = item.get("image_url")
            return _media(holder.get("url") if isinstance(holder, Mapping) else holder)
        case "input_audio":
            audio = item.get("input_audio")
            if isinstance(audio, Mapping) and isinstance(audio.get("data"), str):
                kind = str(audio.get("format") or "wav").lower()
                return inline_data_part(_AUDIO_TYPES.get(kind, f"audio/{kind}"), audio["data"])
        case "file":
            file = item.get("file")
            if isinstance(file, Mapping):
                return _media(file.get("file_data"))
    return None


def _media(url: Any) -> Part | None:
    """A data URI → inlineData, a Google file → fileData, any other address → its text."""
    if not isinstance(url, str) or not url:
        return None
    head = _DATA_URI.match(url)
    if head is not None:
        return inline_data_part((head[1] or _UNNAMED_TYPE).lower(), url[head.end() :])
    if url.startswith("gs://") or "generativelanguage.googleapis.com" in url.split("/files/")[0]:
        return file_data_part("application/octet-stream", url)
    return text_part(url)


def _call_of(name: Any, arguments: Any) -> FunctionCallPart:
    """A call from another's record; arguments that are not a JSON object are kept as text under `arguments`."""
    parsed: Any = arguments
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            parsed = arguments
    args = parsed if isinstance(parsed, dict) else {} if parsed is None else {"arguments": parsed}
    return function_call_part(str(name or "unknown"), args)


def _answer(call: FunctionCallPart, item: Mapping[str, Any] | None) -> Part:
    if item is None:
        return function_response_part(call, wrap_tool_output("The result of this call was lost.", error=True))
    return function_response_part(call, wrap_tool_output(_item_text({**item, "content": item.get("output")})))


def _step_ends(item: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> bool:
    """True when the next item that matters is not another result of the same step."""
    position = next(i for i, other in enumerate(items) if other is item)
    following = next((other for other in items[position + 1 :] if other.get("type") != "reasoning"), None)
    return following is not None and following.get("type") == "function_call"


def _item_text(item: Mapping[str, Any]) -> str:
    """The text of an output item, whose content is a string or a list of `{text}`."""
    return _plain_text(item.get("content"))


def _plain_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [i if isinstance(i, str) else i.get("text") if isinstance(i, Mapping) else None for i in content]
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    return "" if content is None else dumps(content).decode("utf-8")
