"""The engine without IO: ports, records, the turn machine and the Suture's planning."""

from echo_core.answer_errors import (
    AnswerBlocked,
    AnswerBrokenOff,
    BadToolCall,
    EmptyAnswer,
    IllegalTransition,
    PromptBlocked,
    TokensSpentThinking,
)
from echo_core.engine import TurnEngine, TurnPlan, TurnRecord, openai_usage
from echo_core.records import Seal, Shadow, ShadowState, SignatureRow, VersionLock

__all__ = [
    "AnswerBlocked",
    "AnswerBrokenOff",
    "BadToolCall",
    "EmptyAnswer",
    "IllegalTransition",
    "PromptBlocked",
    "Seal",
    "Shadow",
    "ShadowState",
    "SignatureRow",
    "TokensSpentThinking",
    "TurnEngine",
    "TurnPlan",
    "TurnRecord",
    "VersionLock",
    "openai_usage",
]
