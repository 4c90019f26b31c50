"""`echoctl uninstall`: take ECHO out of Open WebUI, and its data only when told so."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import typer
from rich.console import Group
from rich.text import Text

from echo_cli._account import DEFAULT_URL, EmailOption, PasswordOption, TokenOption, UrlOption, signed_in_admin
from echo_cli._app import command
from echo_cli._data_dir import DataNotNamedError, DataOption, data_dir
from echo_cli._exit_codes import ExitCode
from echo_cli._functions import discover_functions
from echo_cli._installer import Installer, Report
from echo_cli._locale import say
from echo_cli._output import JsonFlag
from echo_cli._server_process import server_environment
from echo_cli.install import report_data, report_table
from echo_constants import Bilingual, ConfigError
from echo_paths import EchoPaths


class DeclinedError(ConfigError):
    """A question was answered with no, or could not be asked."""

    code: ClassVar[str] = "declined"
    exit_code: ClassVar[ExitCode] = ExitCode.DECLINED
    message: ClassVar[Bilingual] = Bilingual(en="Nothing was removed.", fr="Rien n'a été supprimé.")
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Run again with --yes, and with --keep-data to keep ECHO's records.",
        fr="Relancez avec --yes, et avec --keep-data pour garder les données d'ECHO.",
    )


class NotEchoDataError(ConfigError):
    """The folder to be removed does not look like ECHO's data."""

    code: ClassVar[str] = "not_echo_data"
    message: ClassVar[Bilingual] = Bilingual(
        en="{path} does not look like ECHO's data; it was not touched.",
        fr="{path} ne ressemble pas aux données d'ECHO ; rien n'y a été touché.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Give ECHO's data folder with --data, or use --keep-data.",
        fr="Donnez le dossier de données d'ECHO avec --data, ou utilisez --keep-data.",
    )


def uninstall(
    url: UrlOption = DEFAULT_URL,
    token: TokenOption = "",
    email: EmailOption = "",
    password: PasswordOption = "",
    data: DataOption = None,
    keep_data: Annotated[
        bool,
        typer.Option("--keep-data", help=say("Keep ECHO's records.", "Garder les données d'ECHO.")),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help=say("Do not ask.", "Ne pas poser de question."))] = False,
    json_mode: JsonFlag = False,
) -> None:
    """Remove ECHO's functions and model record; remove its data after a question."""
    with command(json_mode) as out:
        present = echo_data_folder(data, server_environment(url))
        folder = None if keep_data else present
        with signed_in_admin(url, token=token, email=email, password=password) as api:
            question = say("Remove ECHO from this Open WebUI?", "Retirer ECHO de cet Open WebUI ?")
            _require_yes(question, yes=yes, can_ask=not json_mode)
            if folder is not None and not yes:
                folder = folder if _asked_to_remove(folder) else None
            report = Installer(api, discover_functions()).uninstall()
        if folder is not None:
            shutil.rmtree(folder)
        removed = str(folder) if folder is not None else None
        kept = present if folder is None else None
        out.result({**report_data(report), "data_removed": removed}, _text(report, removed, kept))


def echo_data_folder(data: Path | None, environ: Mapping[str, str] | None = None) -> Path | None:
    """ECHO's data folder on this machine; None when there is none, as when Open WebUI runs elsewhere.

    Args:
        data: the `--data` option.
        environ: what the server runs with; None = it cannot be seen, so that our own counts.

    Raises:
        NotEchoDataError: the folder exists and holds other things.
    """
    try:
        paths = EchoPaths(data_dir(data, os.environ if environ is None else environ))
    except DataNotNamedError:
        return None
    if not paths.root.is_dir():
        return None
    entries = set(paths.root.iterdir())
    if entries and paths.identity_db not in entries:
        raise NotEchoDataError(path=str(paths.root))
    return paths.root


def _require_yes(question: str, *, yes: bool, can_ask: bool) -> None:
    if yes:
        return
    if not can_ask or not sys.stdin.isatty() or not typer.confirm(question):
        raise DeclinedError


def _asked_to_remove(folder: Path) -> bool:
    warning = say(
        f"Also remove all of ECHO's records in {folder}? This cannot be undone.",
        f"Supprimer aussi toutes les données d'ECHO dans {folder} ? C'est irréversible.",
    )
    return typer.confirm(warning)


def _text(report: Report, removed: str | None, kept: Path | None) -> Group:
    if not report.changed:
        return Group(Text(say("ECHO was not installed here.", "ECHO n'était pas installé ici.")))
    where = (
        say("Removed with its data: ", "Supprimé avec ses données : ") + removed
        if removed
        else say("ECHO's records were kept in ", "Les données d'ECHO sont restées dans ") + str(kept)
        if kept
        else say(
            "ECHO's records were kept where Open WebUI keeps its data.",
            "Les données d'ECHO sont restées là où Open WebUI garde les siennes.",
        )
    )
    return Group(report_table(report), Text(where))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("uninstall", help=say("Take ECHO out of Open WebUI.", "Retirer ECHO d'Open WebUI."))(uninstall)
