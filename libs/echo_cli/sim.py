"""`echoctl sim`: the Gemini simulator alone."""

import importlib.util
import os
import sys
from typing import Annotated, ClassVar, Final

import typer

from echo_cli._app import command
from echo_cli._locale import say
from echo_cli._output import JsonFlag
from echo_cli._ports import require_free_port
from echo_constants import Bilingual, ConfigError

SIMULATOR_MODULE: Final = "echo_workers.gemini_sim"


class SimulatorMissingError(ConfigError):
    """This copy of ECHO came without its workers."""

    code: ClassVar[str] = "simulator_missing"
    message: ClassVar[Bilingual] = Bilingual(
        en="This copy of ECHO has no Gemini simulator.",
        fr="Cette copie d'ECHO n'a pas de simulateur Gemini.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Install the complete package, or set GEMINI_API_KEY to talk to Google.",
        fr="Installez le paquet complet, ou définissez GEMINI_API_KEY pour parler à Google.",
    )


def simulator_command(host: str, port: int) -> list[str]:
    """The program and arguments that run the simulator on `host`:`port`.

    Raises:
        SimulatorMissingError: the simulator is not installed.
    """
    try:
        found = importlib.util.find_spec(f"{SIMULATOR_MODULE}.__main__")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise SimulatorMissingError(f"module {SIMULATOR_MODULE} cannot be run")
    return [sys.executable, "-m", SIMULATOR_MODULE, "--host", host, "--port", str(port)]


def sim(
    port: Annotated[int, typer.Option(min=1, max=65535, help=say("Port to listen on.", "Port d'écoute."))] = 8900,
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
