"""Every text in which ECHO itself speaks to a model: shipped as versioned files, replaceable by an administrator."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from echo_constants import LOCALES, Locale

PromptName: TypeAlias = Literal[
    "pis",
    "init",
    "reminder",
    "continue",
    "nudge_empty",
    "nudge_malformed_call",
    "nudge_unknown_tool",
    "note_repeats",
    "note_stuck",
    "note_last_round",
    "judge",
    "writer",
    "subagent",
    "subagent_context",
    "level_tool",
    "level_plan",
    "checkpoint",
    "checkpoint_review",
    "memory_reading",
]
PROMPT_NAMES: Final[tuple[PromptName, ...]] = get_args(PromptName)

#: A declaration is sealed once for all writers of a chat, whatever their languages; all tools are declared in English.
#: What asks for a checkpoint or for memories is never shown, and has them written in the language of the conversation.
ENGLISH_ONLY: Final[frozenset[PromptName]] = frozenset(
    {"level_tool", "level_plan", "checkpoint", "checkpoint_review", "memory_reading"}
)

#: Why ECHO asks again: the answer broke off, was empty, its call was unreadable, or it called what is not offered.
NudgeKind = Literal["go_on", "empty", "malformed_call", "unknown_tool"]

_NUDGES: Final[Mapping[NudgeKind, PromptName]] = {
    "go_on": "continue",
    "empty": "nudge_empty",
    "malformed_call": "nudge_malformed_call",
    "unknown_tool": "nudge_unknown_tool",
}

_FILE: Final = re.compile(r"---\nversion: (\d+)\n---\n(.+)\n", re.DOTALL)

PromptKey: TypeAlias = tuple[PromptName, Locale]


@dataclass(frozen=True, slots=True)
class ShippedPrompt:
    """A text as it comes with ECHO.

    Args:
        version: raised by one whenever the words change.
        text: with its placeholders.
    """

    version: int
    text: str


@cache
def shipped(name: PromptName, locale: Locale) -> ShippedPrompt:
    """The text of one file in `templates/`: front matter with `version`, then the words."""
    raw = files("echo_prompts").joinpath("templates", f"{name}.{locale}.md").read_text("utf-8")
    found = _FILE.fullmatch(raw)
    if found is None:
        raise ValueError(f"{name}.{locale}.md is no prompt file")
    return ShippedPrompt(int(found[1]), found[2])


def locales_of(name: PromptName) -> tuple[Locale, ...]:
    """The languages in which a text exists."""
    return ("en",) if name in ENGLISH_ONLY else LOCALES


@dataclass(frozen=True, slots=True)
class PromptBook:
    """The texts that hold now.

    Args:
        overrides: an administrator's, each in place of the shipped one.
    """

    overrides: Mapping[PromptKey, str] = field(default_factory=lambda: MappingProxyType({}))

    def text(self, name: PromptName, locale: Locale) -> str:
        """One text, with its placeholders; in English where it has no other language."""
        key = (name, locale if locale in locales_of(name) else "en")
        found = self.overrides.get(key)
        return shipped(*key).text if found is None else found

    def nudge(self, locale: Locale, kind: NudgeKind) -> str:
        """What ECHO says to the model when an answer broke off or was none, so that it goes on."""
        return self.text(_NUDGES[kind], locale)

    def writer(self, locale: Locale, name: str) -> str:
        """What stands before each user message of a chat with several writers."""
        return self.text("writer", locale).replace("{name}", name)

    def subagent(self, locale: Locale, today: str) -> str:
        """The system instruction of a sub-agent.

        Args:
            locale: the language that it works in.
            today: the date, ISO 8601.
        """
        return self.text("subagent", locale).replace("{today}", today)

    def subagent_question(self, locale: Locale, task: str, context: str) -> str:
        """What a sub-agent is asked: its task, and the context that it was given, if any."""
        return f"{task}\n\n{self.text('subagent_context', locale)}\n{context}" if context else task

    def checkpoint(self, tokens: int) -> str:
        """The system instruction for writing a checkpoint of at most so many tokens."""
        return self.text("checkpoint", "en").replace("{tokens}", str(tokens))

    def checkpoint_review(self) -> str:
        """The system instruction for the second look at a checkpoint."""
        return self.text("checkpoint_review", "en")

    def memory_reading(self) -> str:
        """The system instruction for reading messages for what to remember."""
        return self.text("memory_reading", "en")


#: The texts as they come with ECHO.
SHIPPED: Final = PromptBook()
