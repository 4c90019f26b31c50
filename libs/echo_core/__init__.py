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
from echo_core.compaction import EchoCompactionEngine
from echo_core.compaction_replay import strip_checkpoint_tag
from echo_core.engine import TurnEngine, TurnPlan
from echo_core.records import Seal, Shadow, ShadowState, SignatureRow, VersionLock
from echo_core.turn_record import TurnRecord
from echo_core.usage import CONTEXT_STATS_KEY, ContextStats, RoundUsage, usage_shown

__all__ = [
    "CONTEXT_STATS_KEY",
    "AnswerBlocked",
    "AnswerBrokenOff",
    "BadToolCall",
    "ContextStats",
    "EchoCompactionEngine",
    "EmptyAnswer",
    "IllegalTransition",
    "PromptBlocked",
    "RoundUsage",
    "Seal",
    "Shadow",
    "ShadowState",
    "SignatureRow",
    "TokensSpentThinking",
    "TurnEngine",
    "TurnPlan",
    "TurnRecord",
    "VersionLock",
    "strip_checkpoint_tag",
    "usage_shown",
]
