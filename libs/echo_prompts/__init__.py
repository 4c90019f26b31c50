"""Prompt files, versioned, in both languages."""

from echo_prompts.checks import (
    MAX_PROMPT_CHARS,
    PLACEHOLDERS,
    PromptRefusedError,
    UnknownPromptError,
    check_text,
    prompt_key,
)
from echo_prompts.library import (
    ENGLISH_ONLY,
    PROMPT_NAMES,
    SHIPPED,
    NudgeKind,
    PromptBook,
    PromptKey,
    PromptName,
    ShippedPrompt,
    locales_of,
    shipped,
)

__all__ = [
    "ENGLISH_ONLY",
    "MAX_PROMPT_CHARS",
    "PLACEHOLDERS",
    "PROMPT_NAMES",
    "SHIPPED",
    "NudgeKind",
    "PromptBook",
    "PromptKey",
    "PromptName",
    "PromptRefusedError",
    "ShippedPrompt",
    "UnknownPromptError",
    "check_text",
    "locales_of",
    "prompt_key",
    "shipped",
]
