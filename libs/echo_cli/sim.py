"""`echoctl sim`: the Gemini simulator alone."""

import os
import sys
from typing import Annotated

import typer

from echo_cli._app import command
from echo_cli._locale import say
from echo_cli._output import JsonFlag
from echo_cli._ports import require_free_port
from echo_cli._simulator import simulator_command


def sim(
    port: Annotated[int, typer.Option(min=1, max=65535, help=say("Port to listen on.", "Port d'écoute."))] = 3900,
    host: Annotated[str, typer.Option(help=say("Address to listen on.", "Adresse d'écoute."))] = "127.0.0.1",
    json_mode: JsonFlag = False,
) -> None:
    """Run the simulator until it is stopped."""
    with command(json_mode) as out:
        program = simulator_command(host, port)
        require_free_port(host, port, "--port")
        url = f"http://{host}:{port}"
        out.result(
            {"url": url, "pid": os.getpid()},
            say("Simulator on ", "Simulateur sur ") + url + say("  (Ctrl-C stops it)", "  (Ctrl-C l'arrête)"),
        )
        sys.stdout.flush()
        os.execv(program[0], program)  # noqa: S606 - the same process: signals and the exit code are the simulator's own


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "sim",
        help=say("Run the local Gemini simulator alone.", "Lancer seul le simulateur Gemini local."),
    )(sim)
