"""What an administrator's text must be, so that ECHO can work with it.

ConfigError
├── UnknownPromptError   there is no such text, or not in that language
└── PromptRefusedError   the text would not work
"""

import re
from collections.abc import Mapping
from typing import Final

from echo_constants import Bilingual, ConfigError
from echo_prompts.library import PROMPT_NAMES, PromptKey, PromptName, locales_of

#: Sent with every request, so it must not be a book. Source: our choice, about 8,000 tokens.
MAX_PROMPT_CHARS: Final = 32_000

_PLACEHOLDER: Final = re.compile(r"##([A-Z_]+)##")
#: What ECHO fills in. The PIS is sealed for a chat's life, so it cannot name the model, which changes.
PLACEHOLDERS: Final[Mapping[PromptName, frozenset[str]]] = {
    "pis": frozenset({"ECHO_VERSION"}),
    "init": frozenset({"ECHO_VERSION", "MODEL_ID", "MODEL_ORIGIN"}),
    "reminder": frozenset({"ECHO_VERSION", "MODEL_ID", "MODEL_ORIGIN"}),
}

#: What a text must hold, because ECHO puts something there.
NEEDED: Final[Mapping[PromptName, str]] = {
    "writer": "{name}",
    "subagent": "{today}",
    "checkpoint": "{tokens}",
}


class UnknownPromptError(ConfigError):
    """There is no text of this name, or not in this language."""

    code = "prompt_unknown"
    audience = "admin"
    api_status = 404
    message = Bilingual(en="ECHO has no such prompt.", fr="ECHO n'a pas de tel prompt.")
    remedy = Bilingual(
        en="`echoctl prompts list` shows those there are.",
        fr="`echoctl prompts list` montre ceux qui existent.",
    )


class PromptRefusedError(ConfigError):
    """A text that ECHO could not work with; nothing was changed."""

    code = "prompt_refused"
    audience = "admin"
    api_status = 400
    message = Bilingual(
        en="This prompt would not work, so nothing was changed.",
        fr="Ce prompt ne fonctionnerait pas, rien n'a donc été modifié.",
    )
    remedy = Bilingual(
        en="Write some text, at most 32,000 characters, with the placeholders of the shipped prompt and no others; "
        "docs/prompts.md lists them.",
        fr="Écrivez un texte d'au plus 32 000 caractères, avec les substitutions du prompt livré et sans autres ; "
        "docs/prompts.md les énumère.",
    )


def prompt_key(name: str, locale: str) -> PromptKey:
    """The key of a text.

    Raises:
        UnknownPromptError: there is none.
    """
    for known in PROMPT_NAMES:
        for language in locales_of(known):
            if (known, language) == (name, locale):
                return known, language
    raise UnknownPromptError(f"{name}.{locale}")


def check_text(key: PromptKey, text: str) -> str:
    """The text as it is kept: trimmed.

    Raises:
        PromptRefusedError: it is empty, too long, or has placeholders that nobody fills in.
    """
    name, _ = key
    words = text.replace("\r\n", "\n").strip()
    if not words or len(words) > MAX_PROMPT_CHARS:
        raise PromptRefusedError(f"{name}: {len(words)} characters")
    unknown = set(_PLACEHOLDER.findall(words)) - PLACEHOLDERS.get(name, frozenset())
    if unknown:
        raise PromptRefusedError(f"{name}: {', '.join(sorted(unknown))}")
    if (needed := NEEDED.get(name)) and needed not in words:
        raise PromptRefusedError(f"{name}: {needed} is missing")
    return words
