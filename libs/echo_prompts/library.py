"""Reads the templates that ship with the package, once, and fills in what is known only at run time."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from echo_constants import ECHO_VERSION, Locale

#: Raised by one whenever the words of the PIS change; sealed with each chat.
PIS_VERSION: Final = 1


@cache
def _template(name: str) -> str:
    return files("echo_prompts").joinpath("templates", name).read_text("utf-8")


def pis(locale: Locale) -> str:
    """The system initialisation prompt in one language, placeholders filled."""
    return resolve_placeholders(_template(f"pis.{locale}.md"), {"ECHO_VERSION": ECHO_VERSION})


def resolve_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace `##NAME##` by its value; only for ECHO's own text, never for what a user wrote."""
    for name, value in values.items():
        text = text.replace(f"##{name}##", value)
    return text
