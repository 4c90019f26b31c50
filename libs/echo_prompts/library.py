"""Reads the templates that ship with the package, once, and fills in what is known only at run time."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from echo_constants import ECHO_VERSION, Bilingual, Locale

#: Raised by one whenever the words of the PIS change; sealed with each chat.
PIS_VERSION: Final = 1


_CONTINUE: Final = Bilingual(
    en="Continue exactly where your last message stopped. Do not repeat anything and do not comment on this.",
    fr="Continuez exactement là où votre dernier message s'est arrêté, sans rien répéter ni commenter.",
)

_WRITER: Final = Bilingual(en="[Message from {name}]", fr="[Message de {name}]")


@cache
def _template(name: str) -> str:
    return files("echo_prompts").joinpath("templates", name).read_text("utf-8")


def pis(locale: Locale) -> str:
    """The system initialisation prompt in one language, placeholders filled."""
    return resolve_placeholders(_template(f"pis.{locale}.md"), {"ECHO_VERSION": ECHO_VERSION})


def continue_words(locale: Locale) -> str:
    """What ECHO says to the model when the user asks for more of a finished or broken-off answer."""
    return _CONTINUE.render(locale)


def writer_words(locale: Locale, name: str) -> str:
    """What stands before each user message of a chat with several writers."""
    return _WRITER.render(locale, name=name)


def resolve_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace `##NAME##` by its value; only for ECHO's own text, never for what a user wrote."""
    for name, value in values.items():
        text = text.replace(f"##{name}##", value)
    return text
