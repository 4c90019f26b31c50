"""Typer's own words, which have no French: panel titles, `--help`, and what is wrong with a command line."""

import re
from collections.abc import Callable
from typing import Any, Final

import typer
from typer import rich_utils
from typer.core import TyperGroup

from echo_cli._locale import LOCALE, say

#: Typer's class for a wrong command line; what it exports of it is this subclass only.
_UsageError: Final[Any] = typer.BadParameter.__base__

_PANELS: Final = {
    "ARGUMENTS_PANEL_TITLE": "Arguments",
    "OPTIONS_PANEL_TITLE": "Options",
    "COMMANDS_PANEL_TITLE": "Commandes",
    "ERRORS_PANEL_TITLE": "Erreur",
    "ABORTED_TEXT": "Interrompu.",
    "DEFAULT_STRING": "[défaut : {}]",
    "ENVVAR_STRING": "[variable : {}]",
    "REQUIRED_LONG_STRING": "[obligatoire]",
    "RICH_HELP": "Essayez [blue]'{command_path} {help_option}'[/] pour l'aide.",
}

#: English beginnings of messages, with what becomes of them. Source: typer 0.29, `_click/exceptions.py`,
#: `_click/parser.py`, `core.py` and `_param_types.py`.
_FRENCH: Final = tuple(
    (re.compile(pattern, re.DOTALL), french)
    for pattern, french in (
        (r"Missing command\.", "Il manque une commande."),
        (r"No such command (.+?)\.(.*)", r"La commande \1 n'existe pas.\2"),
        (r"No such option: (\S+)(.*)", r"L'option \1 n'existe pas.\2"),
        (r"Missing argument (.+?)\.", r"Il manque l'argument \1."),
        (r"Missing option (.+?)\.", r"Il manque l'option \1."),
        (r"Option (.+?) requires an argument\.", r"L'option \1 demande une valeur."),
        (r"Option (.+?) does not take a value\.", r"L'option \1 ne prend pas de valeur."),
        (r"Got unexpected extra argument\S* \((.+)\)", r"Il y a des arguments en trop : \1"),
        (r"Invalid value for (.+?): (.*)", r"Valeur incorrecte pour \1 : \2"),
        (r"Invalid value: (.*)", r"Valeur incorrecte : \1"),
    )
)
_DETAILS: Final = (
    (re.compile(r"Input should be a valid (?:integer|number),.*"), "ce n'est pas un nombre."),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"au plus \1."),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"au moins \1."),
    (re.compile(r"(\S+) is not one of (.+?)\."), r"\1 ne fait pas partie de \2."),
    (re.compile(r"(?:File|Directory|Path) (\S+) does not exist\."), r"\1 n'existe pas."),
    (re.compile(r"Did you mean (.+?)\?"), r"Vouliez-vous dire \1 ?"),
    (re.compile(r"\(Possible options: (.+?)\)"), r"(Options possibles : \1)"),
)


class SpokenGroup(TyperGroup):
    """The commands of echoctl, in the language of the shell."""

    def get_help_option(self, ctx: Any) -> Any:
        """Typer's `--help`, told in the language of this run."""
        return _spoken(super().get_help_option(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command with such a `--help`."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _spoken(found.get_help_option(ctx))
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Reads the options before the command."""
        return _in_words(ctx, lambda: super(SpokenGroup, self).parse_args(ctx, args))

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        return _in_words(ctx, lambda: super(SpokenGroup, self).invoke(ctx))


def speak() -> None:
    """Give typer's panels their titles in the language of this run."""
    if LOCALE == "fr":
        for name, text in _PANELS.items():
            setattr(rich_utils, name, text)


def in_french(message: str) -> str:
    """What typer says about a wrong command line, in French as far as it is known."""
    for pattern, french in _FRENCH:
        found = pattern.fullmatch(message)
        if found is not None:
            message = found.expand(french)
            break
    for pattern, french in _DETAILS:
        message = pattern.sub(french, message)
    return message


def _spoken(option: Any) -> Any:
    if option is not None:
        option.help = say("Show this message and exit.", "Afficher cette aide et s'arrêter.")
    return option


def _in_words(ctx: Any, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except _UsageError as error:
        # Help that is shown for want of arguments is no message, though it comes as such an error.
        if LOCALE != "fr" or type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise _UsageError(in_french(error.format_message()), error.ctx or ctx) from error
