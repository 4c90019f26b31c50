"""The language that echoctl speaks: French where the shell speaks French, English elsewhere."""

import os
from collections.abc import Mapping
from typing import Final

from echo_constants import Bilingual, Locale, locale_of


def shell_locale(environ: Mapping[str, str]) -> Locale:
    """The language of a shell: ECHO_LANG first, then what POSIX looks at.

    Source: POSIX.1-2024, XBD 8.2 "Internationalization Variables" (LC_ALL, then LC_MESSAGES, then LANG).
    """
    for name in ("ECHO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            return locale_of(value.split(".")[0])
    return "en"


LOCALE: Final[Locale] = shell_locale(os.environ)


def tr(text: Bilingual, **fields: object) -> str:
    """The text in the language of this run."""
    return text.render(LOCALE, **fields)


def say(en: str, fr: str) -> str:
    """A text without fields, for command and option help, in the language of this run."""
    return fr if LOCALE == "fr" else en
