"""Turn events as `chat.completion` chunks and objects, the form that plain API callers understand."""

from typing import Any

from echo_events.render_responses import api_failure, finish_chunk
from echo_events.types import (
    PARAGRAPH,
    CallsHandedOver,
    MediaShown,
    TextStreamed,
    ThoughtStreamed,
    ToolCalled,
    Transcript,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    UsageCounted,
)

Wire = dict[str, Any]


class ChatChunkRenderer:
    """Stateful: one per answer.

    Args:
        completion_id: the id of the completion, the same in each chunk.
        created_s: epoch seconds.
        model: the model id that the caller asked for.
    """

    def __init__(self, *, completion_id: str, created_s: int, model: str) -> None:
        self._head = {
            "id": completion_id,
            "object": "chat.completion.chunk",
            "created": created_s,
            "model": model,
        }
        self._begun = False
        self._has_text = False
        self._in_text = False

    def render(self, event: TurnEvent) -> list[Wire]:
        """The chunks for one event; tools that ECHO ran itself and notices are not shown to API callers."""
        match event:
            case TextStreamed(text):
                gap = PARAGRAPH if self._has_text and not self._in_text else ""
                self._has_text = self._in_text = True
                return [self._delta(content=gap + text)]
            case ThoughtStreamed(text):
                self._in_text = False
                return [self._delta(reasoning_content=text)]
            case ToolCalled():
                self._in_text = False
                return []
            case CallsHandedOver():
                return [self._delta(tool_calls=[{"index": at, **one} for at, one in enumerate(_tool_calls(event))])]
            case MediaShown(url):
                return [self._delta(content=f"\n![image]({url})\n")]
            case UsageCounted(usage):
                return [{**self._head, "choices": [], "usage": dict(usage)}]
            case TurnFinished(reason):
                return [{**self._head, **finish_chunk(reason)}]
            case TurnFailed():
                return [api_failure(event)]
            case _:
                return []

    def _delta(self, **delta: Any) -> Wire:
        if not self._begun:
            self._begun = True
            delta = {"role": "assistant", **delta}
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


class CompletionBuilder:
    """Collects the events of one turn into a single `chat.completion` object; arguments as `ChatChunkRenderer`."""

    def __init__(self, *, completion_id: str, created_s: int, model: str) -> None:
        self._head = {"id": completion_id, "object": "chat.completion", "created": created_s, "model": model}
        self._transcript = Transcript()
        self._usage: Wire = {}
        self._reason = "stop"
        self._failure: TurnFailed | None = None
        self._tool_calls: list[Wire] = []

    def add(self, event: TurnEvent) -> None:
        """Take one event in."""
        match event:
            case UsageCounted(usage):
                self._usage = dict(usage)
            case TurnFinished(reason):
                self._reason = reason
            case TurnFailed():
                self._failure = event
            case CallsHandedOver():
                self._tool_calls = _tool_calls(event)
            case MediaShown(url):
                self._transcript.add(TextStreamed(f"\n![image]({url})\n"))
            case _:
                self._transcript.add(event)

    @property
    def refusal(self) -> TurnFailed | None:
        """The failure of a turn that brought no text, None when there is something to build."""
        return None if self._transcript.text else self._failure

    def build(self) -> Wire:
        """The completion; with `error` beside it when the turn failed after some text."""
        seen = self._transcript
        message: Wire = {"role": "assistant", "content": seen.text}
        if self._tool_calls:
            message |= {"content": seen.text or None, "tool_calls": self._tool_calls}
        if seen.thoughts:
            message["reasoning_content"] = seen.thoughts
        completion = {**self._head, "choices": [{"index": 0, "message": message, "finish_reason": self._reason}]}
        if self._usage:
            completion["usage"] = self._usage
        if self._failure is not None:
            completion |= api_failure(self._failure)
        return completion


def _tool_calls(event: CallsHandedOver) -> list[Wire]:
    """Source: OpenAI API reference, chat completion object, `tool_calls`."""
    return [
        {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}
        for call in event.calls
    ]
