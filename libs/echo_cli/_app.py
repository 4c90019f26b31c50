"""The command line as a whole: the commands, and what happens to errors.

To add a command: write `libs/echo_cli/<name>.py` with `def register(app: typer.Typer) -> None`, and put its
name into `COMMANDS`. The command function takes `json_mode: JsonFlag = False` and runs its body inside
`with command(json_mode) as out:`; a raised `EchoError` becomes its message, remedy and exit code.
"""

import importlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from echo_cli._exit_codes import ExitCode
from echo_cli._first_aid import explain
from echo_cli._locale import say
from echo_cli._output import Output
from echo_cli._spoken import SpokenGroup, speak
from echo_constants import ECHO_VERSION, EchoError

logger = logging.getLogger(__name__)

#: Modules of this package that hold a command, in the order that --help shows.
COMMANDS: Final = (
    "up",
    "serve",
    "sim",
    "install",
    "uninstall",
    "bundle",
    "doctor",
    "verify",
    "repair",
    "prompts",
    "backup",
    "export",
)


@contextmanager
def command(json_mode: bool) -> Iterator[Output]:
    """Run the body of a command.

    Raises:
        typer.Exit: with the exit code of an error that the body raised, or 130 after Ctrl-C.
    """
    out = Output(json_mode=json_mode)
    try:
        yield out
    except EchoError as error:
        if os.environ.get("ECHO_DEBUG"):
            logger.exception("Command failed")
        raise typer.Exit(out.failure(error)) from error
    except KeyboardInterrupt as interrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from interrupt
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as defect:
        logger.exception("Command failed unexpectedly")
        raise typer.Exit(out.failure(EchoError(repr(defect)))) from defect


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"echoctl {ECHO_VERSION}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help=say("Print the version and stop.", "Écrire la version et s'arrêter."),
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help=say("Show logs and tracebacks of errors.", "Montrer les journaux et les traces d'erreur.")
        ),
    ] = False,
) -> None:
    """Options before the command."""
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, stream=sys.stderr)
    if debug:
        os.environ["ECHO_DEBUG"] = "1"


def build_app() -> typer.Typer:
    """The typer application with all commands."""
    speak()
    app = typer.Typer(
        name="echoctl",
        cls=SpokenGroup,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
        help=say(
            "ECHO for Open WebUI: start it, install it, look after it.",
            "ECHO pour Open WebUI : le démarrer, l'installer, l'entretenir.",
        ),
    )
    app.callback()(_root)
    for name in COMMANDS:
        importlib.import_module(f"echo_cli.{name}").register(app)
    return app


def main() -> None:
    """Entry point of the `echoctl` program."""
    try:
        app = build_app()
    except (ImportError, SystemError, AttributeError) as error:  # what a package of a wrong version raises
        sys.exit(explain(error))
    app()
