"""What a stream says while it runs, and what remains of it at the end."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from echo_protocol.parts import (
    CodeExecutionResultPart,
    ExecutableCodePart,
    FileDataPart,
    FunctionCallPart,
    InlineDataPart,
    Part,
    ToolCallPart,
    ToolResponsePart,
    open_calls,
)
from echo_protocol.usage import Usage

Outcome: TypeAlias = Literal[
    "complete",
    "tool_calls",
    "max_tokens",
    "max_tokens_while_thinking",
    "prompt_blocked",
    "answer_blocked",
    "empty",
    "thoughts_only",
    "malformed_call",
    "unexpected_tool_call",
    "continuation",
    "no_finish_reason",
    "other",
]


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """More thought text."""

    text: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More answer text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallReceived:
    """A complete function call."""

    part: FunctionCallPart


@dataclass(frozen=True, slots=True)
class MediaReceived:
    """An image, sound or file that the model made; `part.thought` is True for a draft."""

    part: InlineDataPart | FileDataPart


@dataclass(frozen=True, slots=True)
class ServerToolUsed:
    """Google ran something on its side: code, or one of its own tools."""

    part: ExecutableCodePart | CodeExecutionResultPart | ToolCallPart | ToolResponsePart


@dataclass(frozen=True, slots=True)
class CitationsReceived:
    """Sources of the answer.

    Args:
        grounding: `groundingMetadata`, {} when the chunk had none.
        citations: `citationMetadata.citationSources`.
        url_context: `urlContextMetadata.urlMetadata`.
    """

    grounding: dict[str, Any]
    citations: tuple[dict[str, Any], ...] = ()
    url_context: tuple[dict[str, Any], ...] = ()


StreamEvent: TypeAlias = ThoughtDelta | TextDelta | CallReceived | MediaReceived | ServerToolUsed | CitationsReceived


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult:
    """One hop, whole.

    Args:
        parts: joined parts, thoughts included (`replayable` removes them).
        outcome: what the turn machine acts on.
        finish_reason: as sent, also when unknown; None when the stream was cut.
        block_reason: set when the prompt was refused.
        continuation_token: to be resent with the same request when `outcome` is "continuation".
        grounding: the last `groundingMetadata`.
    """

    parts: tuple[Part, ...]
    outcome: Outcome
    finish_reason: str | None = None
    finish_message: str | None = None
    block_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    model_version: str | None = None
    response_id: str | None = None
    continuation_token: str | None = None
    grounding: dict[str, Any] | None = None
    citations: tuple[dict[str, Any], ...] = ()
    url_context: tuple[dict[str, Any], ...] = ()

    @property
    def calls(self) -> tuple[FunctionCallPart, ...]:
        """The function calls that wait for an answer, in order."""
        return open_calls(self.parts)

    @property
    def text(self) -> str:
        """The answer text without thoughts."""
        return "".join(part.text for part in self.parts if part.kind == "text")
