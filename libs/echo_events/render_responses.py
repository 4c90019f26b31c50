"""Turn events as Responses events, the form in which Open WebUI's page shows native cards and interleaved thoughts.

Rules that Open WebUI 0.12.4 needs (read in its reducer `handle_responses_streaming_event`): every event names its
`output_index`; item ids are unique in the message; a function_call without its function_call_output would be run again.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from echo_events.types import (
    MediaShown,
    NoticeShown,
    SignGiven,
    SourcesFound,
    TextStreamed,
    ThoughtEnded,
    ThoughtStreamed,
    ToolCalled,
    ToolFinished,
    ToolProgressed,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    UsageCounted,
)
from echo_utils import dumps

Wire = dict[str, Any]

#: Of no type that Open WebUI's page handles; it crosses the socket and is dropped there (0.12.4, `Chat.svelte`).
BEAT: Final[Wire] = {"type": "echo:heartbeat", "data": {}}


class ResponsesRenderer:
    """Stateful: one per answer.

    Args:
        prefix: makes item ids unique, also against those that a continued message already has. Indices begin at 0
            all the same: Open WebUI shifts them itself.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._index = -1
        self._open: Wire | None = None
        self._text: list[str] = []
        self._calls: dict[str, Wire] = {}
        self._progressed: set[str] = set()

    def render(self, event: TurnEvent) -> list[Wire]:
        """The wire dicts for one event, in order; empty when the form has nothing to show."""
        match event:
            case TextStreamed(text):
                return self._delta("message", text)
            case ThoughtStreamed(text):
                return self._delta("reasoning", text)
            case ThoughtEnded(duration_s):
                return self._close(duration_s)
            case ToolCalled() | ToolProgressed() | ToolFinished():
                return [*self._close(), *self._tool(event)]
            case MediaShown(url):
                return [picture_chunk(url)]
            case SourcesFound(sources):
                return [{"event": {"type": "source", "data": dict(source)}} for source in sources]
            case NoticeShown(text, _, done, hidden):
                data = {"description": text, "done": done} | ({"hidden": True} if hidden else {})
                return [{"event": {"type": "status", "data": data}}]
            case SignGiven():
                return [{"event": dict(BEAT)}]
            case UsageCounted(usage):
                return [{"choices": [], "usage": dict(usage)}]
            case TurnFailed():
                return [*self._close(), page_failure(event)]
            case TurnFinished(reason):
                return [*self._close(), finish_chunk(reason)]
            case _:
                return self._close()

    def _delta(self, kind: str, text: str) -> list[Wire]:
        goes_on = self._open is not None and self._open["type"] == kind
        opening = [] if goes_on else [*self._close(), self._begin(kind)]
        self._text.append(text)
        delta = {
            "type": "response.output_text.delta" if kind == "message" else "response.reasoning_text.delta",
            "output_index": self._index,
            "item_id": self._item_id(),
            "content_index": 0,
            "delta": text,
        }
        return [*opening, delta]

    def _begin(self, kind: str) -> Wire:
        item: Wire = {"type": kind, "id": self._next_id(), "status": "in_progress"}
        if kind == "message":
            item |= {"role": "assistant", "content": [{"type": "output_text", "text": ""}]}
        else:
            item |= {"content": [{"type": "output_text", "text": ""}], "summary": None}
        self._open = item
        return self._added(item)

    def _close(self, duration_s: float | None = None) -> list[Wire]:
        item, self._open = self._open, None
        if item is None:
            return []
        done = {**item, "status": "completed", "content": [{"type": "output_text", "text": "".join(self._text)}]}
        if item["type"] == "reasoning":
            done["duration"] = int(duration_s or 0)
        self._text.clear()
        return [{"type": "response.output_item.done", "output_index": self._index, "item": done}]

    def _tool(self, event: ToolCalled | ToolProgressed | ToolFinished) -> list[Wire]:
        match event:
            case ToolCalled():
                return self._tool_called(event)
            case ToolProgressed():
                return self._tool_progressed(event)
            case ToolFinished():
                return self._tool_finished(event)

    def _tool_called(self, event: ToolCalled) -> list[Wire]:
        self._next_id()
        item = {
            "type": "function_call",
            "id": event.call_id,
            "call_id": event.call_id,
            "name": event.name,
            "arguments": event.arguments_json,
            "status": "completed",
        }
        self._calls[event.call_id] = self._added(item)
        return [self._calls[event.call_id]]

    def _tool_progressed(self, event: ToolProgressed) -> list[Wire]:
        """The call again, which replaces itself by its id: a card without a result shows its name and arguments."""
        called = self._calls.get(event.call_id)
        if called is None:
            return []
        self._progressed.add(event.call_id)
        item = called["item"]
        arguments = _with_steps(item["arguments"], event.steps)
        return [called | {"item": item | {"name": f"{item['name']}: {event.doing}", "arguments": arguments}}]

    def _tool_finished(self, event: ToolFinished) -> list[Wire]:
        called = self._calls.pop(event.call_id, None)
        again = [called] if called is not None and event.call_id in self._progressed else []
        item: Wire = {
            "type": "function_call_output",
            "id": self._next_id(),
            "call_id": event.call_id,
            "status": "completed",
            "output": [{"type": "input_text", "text": event.text}],
        }
        if event.files:
            item["files"] = [dict(entry) for entry in event.files]
        if event.embeds:
            item["embeds"] = list(event.embeds)
        return [*again, self._added(item)]

    def _next_id(self) -> str:
        self._index += 1
        return self._item_id()

    def _item_id(self) -> str:
        return f"{self._prefix}-{self._index}"

    def _added(self, item: Mapping[str, Any]) -> Wire:
        return {"type": "response.output_item.added", "output_index": self._index, "item": dict(item)}


def _with_steps(arguments_json: str, steps: Sequence[str]) -> str:
    """The arguments that an opened card shows, with what was done so far under them."""
    try:
        arguments = json.loads(arguments_json)
    except ValueError:
        return arguments_json
    if not steps or not isinstance(arguments, dict):
        return arguments_json
    return dumps(arguments | {"…": " · ".join(steps)}).decode()


def picture_chunk(url: str) -> Wire:
    """A picture beside the answer.

    As a delta, because Open WebUI then adds it to those that the message has; its `files` event shows only the last one
    until the page is loaded again. Source: `get_image_urls` in open_webui.utils.middleware, release 0.12.4.
    """
    return {"choices": [{"index": 0, "delta": {"images": [{"type": "image_url", "image_url": {"url": url}}]}}]}


def finish_chunk(reason: str) -> Wire:
    """The last chunk of an answer, from which Open WebUI records its finish reason."""
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def page_failure(event: TurnFailed) -> Wire:
    """A failure as Open WebUI stores it with the message and shows it: a text, like its own errors."""
    return {"error": failure_text(event)}


def api_failure(event: TurnFailed) -> Wire:
    """A failure in OpenAI's form."""
    return {"error": {"message": failure_text(event), "code": event.code, "type": "echo_error"}}


def failure_text(event: TurnFailed) -> str:
    """What the page's error box says."""
    return f"{event.message} ({event.reference})"
