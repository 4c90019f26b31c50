"""From a finish reason and what came with it to the one word that the turn machine acts on."""

from typing import Final

from echo_protocol.parts import Part, open_calls
from echo_protocol.stream_types import Outcome

#: The answer was stopped by a policy. Source: Gemini API reference, FinishReason.
_BLOCKED: Final = frozenset(
    {
        "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION",
    }
)  # fmt: skip
_FIXED: Final[dict[str, Outcome]] = {
    "CONTINUATION": "continuation",
    "MALFORMED_FUNCTION_CALL": "malformed_call",
    "UNEXPECTED_TOOL_CALL": "unexpected_tool_call",
    "TOO_MANY_TOOL_CALLS": "unexpected_tool_call",
}
_VISIBLE_KINDS: Final = frozenset({"inline_data", "file_data", "executable_code", "code_execution_result"})


def outcome_of(parts: tuple[Part, ...], finish_reason: str | None, block_reason: str | None) -> Outcome:
    """Classify one hop.

    Calls count whenever the hop was not refused: there is no finish reason for calls, and cloudcode ends some with
    OTHER or MAX_TOKENS. Source: recorded answers; CLIProxyAPI, antigravity_executor.go.
    """
    if block_reason is not None and not parts:
        return "prompt_blocked"
    if finish_reason is None:
        return "no_finish_reason"
    if finish_reason in _FIXED:
        return _FIXED[finish_reason]
    if finish_reason in _BLOCKED:
        return "answer_blocked"
    if open_calls(parts):
        return "tool_calls"
    visible = any(_is_visible(part) for part in parts)
    if finish_reason == "MAX_TOKENS":
        return "max_tokens" if visible else "max_tokens_while_thinking"
    if finish_reason != "STOP":
        return "other"
    if visible:
        return "complete"
    return "thoughts_only" if any(part.thought for part in parts) else "empty"


def _is_visible(part: Part) -> bool:
    if part.thought:
        return False
    return bool(part.text.strip()) if part.kind == "text" else part.kind in _VISIBLE_KINDS
