"""Prompt files, versioned, in both languages."""

from echo_prompts.library import (
    PIS_VERSION,
    NudgeKind,
    continue_words,
    judge_words,
    nudge_words,
    pis,
    subagent_question,
    subagent_words,
    writer_words,
)

__all__ = [
    "PIS_VERSION",
    "NudgeKind",
    "continue_words",
    "judge_words",
    "nudge_words",
    "pis",
    "subagent_question",
    "subagent_words",
    "writer_words",
]
