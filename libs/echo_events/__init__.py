"""Typed events between the engine and the interface, and their renderers."""

from echo_events.render_chat import ChatChunkRenderer, CompletionBuilder
from echo_events.render_responses import ResponsesRenderer, api_failure, page_failure
from echo_events.types import (
    CallsHandedOver,
    HandedCall,
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
    "CallsHandedOver",
    "ChatChunkRenderer",
    "CompletionBuilder",
    "HandedCall",
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
    "api_failure",
    "page_failure",
]
