"""`echoctl serve`: what the container runs. Open WebUI in this process, with ECHO in it."""

import importlib
import importlib.util
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from echo_cli._app import command
from echo_cli._locale import say
from echo_cli._stack import OpenWebuiMissingError
from echo_paths import EchoPaths, require_local_file_system
from echo_state_manager.crypto import master_secret

#: What uvicorn imports in each worker.
APPLICATION: Final = "echo_cli._owui_app:app"


def serve(
    host: Annotated[
        str, typer.Option(envvar="HOST", help=say("Address to listen on.", "Adresse d'écoute."))
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="PORT", min=1, max=65535, help=say("Port to listen on.", "Port d'écoute."))
    ] = 8080,
) -> None:
    """Serve until stopped. Settings come from the environment, as for `open-webui serve`."""
    with command(False):
        if importlib.util.find_spec("open_webui") is None:
            raise OpenWebuiMissingError
        master_secret(os.environ)
        require_local_file_system(EchoPaths.from_environment(os.environ).root)
    _run(host, port)


def _run(host: str, port: int) -> None:
    """As `open-webui serve` does it. Source: `open_webui/__init__.py`, 0.12.4."""
    os.environ["FROM_INIT_PY"] = "true"
    libs = str(Path(__file__).resolve().parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [libs, os.environ.get("PYTHONPATH", "")]))
    # uvicorn ends in order and then sends itself the signal again: being asked to stop is no failure.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn = importlib.import_module("uvicorn")
    uvicorn.run(
        APPLICATION,
        host=host,
        port=port,
        forwarded_allow_ips=os.environ.get("FORWARDED_ALLOW_IPS", "*"),
        workers=int(os.environ.get("UVICORN_WORKERS", "1")),
        ws_per_message_deflate=os.environ.get("UVICORN_WS_PER_MESSAGE_DEFLATE", "true").lower() == "true",
    )


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "serve",
        help=say(
            "Run Open WebUI with ECHO in this process (what the container does).",
            "Faire tourner Open WebUI avec ECHO dans ce processus (ce que fait le conteneur).",
        ),
    )(serve)
