"""Typed events between the engine and the interface, and their renderers."""

from echo_events.render_chat import ChatChunkRenderer, CompletionBuilder
from echo_events.render_responses import ResponsesRenderer, failure_wire
from echo_events.types import (
    MediaShown,
    NoticeShown,
    SourcesFound,
    TerminalEvent,
    TextStreamed,
    ThoughtEnded,
    ThoughtStreamed,
    ToolCalled,
    ToolFinished,
    Transcript,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    TurnStopped,
    UsageCounted,
)

__all__ = [
    "ChatChunkRenderer",
    "CompletionBuilder",
    "MediaShown",
    "NoticeShown",
    "ResponsesRenderer",
    "SourcesFound",
    "TerminalEvent",
    "TextStreamed",
    "ThoughtEnded",
    "ThoughtStreamed",
    "ToolCalled",
    "ToolFinished",
    "Transcript",
    "TurnEvent",
    "TurnFailed",
    "TurnFinished",
    "TurnStopped",
    "UsageCounted",
    "failure_wire",
]
