"""`echoctl install`: put ECHO into a running Open WebUI."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from echo_cli._account import DEFAULT_URL, EmailOption, PasswordOption, TokenOption, UrlOption, signed_in_admin
from echo_cli._app import command
from echo_cli._functions import discover_functions
from echo_cli._installer import Action, Installer, Report
from echo_cli._locale import say
from echo_cli._output import JsonFlag
from echo_constants import Bilingual, ConfigError


class ValveSyntaxError(ConfigError):
    """A `--valve` is not NAME=VALUE."""

    code: ClassVar[str] = "valve_syntax"
    message: ClassVar[Bilingual] = Bilingual(
        en="--valve {given} is not NAME=VALUE.", fr="--valve {given} n'est pas de la forme NOM=VALEUR."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Write --valve NAME=VALUE, or --valve NAME=@file to read the value from a file.",
        fr="Écrivez --valve NOM=VALEUR, ou --valve NOM=@fichier pour lire la valeur dans un fichier.",
    )


def install(
    url: UrlOption = DEFAULT_URL,
    token: TokenOption = "",
    email: EmailOption = "",
    password: PasswordOption = "",
    valve: Annotated[
        list[str] | None,
        typer.Option(
            "--valve",
            metavar="NAME=VALUE",
            help=say(
                "Value for a valve of the pipe that is not set yet; NAME=@file reads it from a file. May be repeated.",
                "Valeur d'une vanne du pipe qui n'est pas encore réglée ; NOM=@fichier la lit. Répétable.",
            ),
        ),
    ] = None,
    enable: Annotated[
        bool,
        typer.Option(
            "--enable",
            help=say("Also switch on what somebody switched off.", "Réactiver aussi ce que quelqu'un a désactivé."),
        ),
    ] = False,
    json_mode: JsonFlag = False,
) -> None:
    """Install or update ECHO."""
    with command(json_mode) as out:
        valves = dict(parse_valve(given) for given in valve or ())
        functions = discover_functions()
        with signed_in_admin(url, token=token, email=email, password=password) as api:
            report = Installer(api, functions).install(valves=valves, enable=enable)
        out.result(report_data(report), _text(report))


def parse_valve(given: str) -> tuple[str, str]:
    """Split `NAME=VALUE`; `@file` as the value is replaced by the file's content without surrounding space.

    Raises:
        ValveSyntaxError: not that form, or the file cannot be read.
    """
    name, equals, value = given.partition("=")
    if not equals or not name.isidentifier():
        raise ValveSyntaxError(given=given)
    if value.startswith("@"):
        try:
            value = Path(value[1:]).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ValveSyntaxError(str(error), given=given) from error
    return name, value


def report_data(report: Report) -> dict[str, Any]:
    """A report as JSON values."""
    changes = [{"kind": change.kind, "id": change.id, "action": change.action} for change in report.changes]
    return {"changed": report.changed, "changes": changes, "switched_off": report.switched_off}


_WORDS: dict[Action, Bilingual] = {
    "created": Bilingual(en="installed", fr="installé"),
    "updated": Bilingual(en="updated", fr="mis à jour"),
    "finished": Bilingual(en="installation finished", fr="installation terminée"),
    "enabled": Bilingual(en="switched on", fr="activé"),
    "valves_set": Bilingual(en="valves set", fr="vannes réglées"),
    "retired": Bilingual(en="removed (no longer part of ECHO)", fr="retiré (ne fait plus partie d'ECHO)"),
    "removed": Bilingual(en="removed", fr="supprimé"),
    "unchanged": Bilingual(en="unchanged", fr="inchangé"),
}


def report_table(report: Report) -> Table:
    """What a report changed, for people."""
    table = Table.grid(padding=(0, 2))
    for change in report.changes:
        if change.action != "unchanged":
            words = _WORDS[change.action]
            table.add_row(Text(change.kind, style="dim"), change.id, say(words.en, words.fr))
    return table


def _text(report: Report) -> RenderableType:
    closing = (
        say("ECHO is in place.", "ECHO est en place.")
        if report.changed
        else say("Nothing to do: ECHO was already up to date.", "Rien à faire : ECHO était déjà à jour.")
    )
    lines: list[RenderableType] = [report_table(report), Text(closing, style="green")]
    if report.switched_off:
        names = ", ".join(report.switched_off)
        text = say("Switched off, left as it is (--enable): ", "Désactivé, laissé tel quel (--enable) : ")
        lines.append(Text(text + names, style="yellow"))
    return Group(*lines)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "install",
        help=say(
            "Install or update ECHO in a running Open WebUI.",
            "Installer ou mettre à jour ECHO dans un Open WebUI qui tourne.",
        ),
    )(install)
