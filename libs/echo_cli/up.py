"""`echoctl up`: Open WebUI with ECHO on this machine, until it is stopped."""

import os
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from echo_cli._app import command
from echo_cli._exit_codes import ExitCode
from echo_cli._installer import Report
from echo_cli._locale import say
from echo_cli._output import JsonFlag, Output
from echo_cli._ports import free_port
from echo_cli._stack import Backend, Stack, StackSettings
from echo_cli.install import report_data
from echo_constants import Bilingual

_NO_KEY = Bilingual(
    en="GEMINI_API_KEY is not set: the simulator answers instead of Google. To talk to Google, stop and start again "
    "with GEMINI_API_KEY=... in front of the command.",
    fr="GEMINI_API_KEY n'est pas définie : le simulateur répond à la place de Google. Pour parler à Google, arrêtez "
    "et relancez avec GEMINI_API_KEY=... devant la commande.",
)
_STOPPING = Bilingual(en="Stopping", fr="Arrêt en cours")
_STOPPED = Bilingual(en="Stopped", fr="Arrêté")

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: How often the children are looked after.
_WATCH_S = 0.5

#: About 100 words a second (a chunk has up to 4): slow enough to see thoughts arrive and to press Stop.
_DEMO_CHUNK_DELAY_MS = 40


class _StopRequestedError(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived. Not an `Exception`: no handler on the way may swallow it."""


def up(
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help=say(
                "Use the simulator even if GEMINI_API_KEY is set.",
                "Utiliser le simulateur même si GEMINI_API_KEY est définie.",
            ),
        ),
    ] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help=say("Open WebUI's port.", "Port d'Open WebUI."))] = 3000,
    sim_port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help=say("The simulator's port; 0 = any free one.", "Port du simulateur ; 0 = un libre.")
        ),
    ] = 0,
    host: Annotated[
        str, typer.Option(help=say("Address that Open WebUI listens on.", "Adresse d'écoute d'Open WebUI."))
    ] = "127.0.0.1",
    data: Annotated[Path, typer.Option(help=say("Data folder.", "Dossier de données."))] = Path("echo-data"),
    admin_email: Annotated[
        str | None,
        typer.Option(help=say("Administrator, made at the first start.", "Administrateur, créé au premier démarrage.")),
    ] = None,
    admin_password: Annotated[
        str | None,
        typer.Option(
            envvar="ECHO_ADMIN_PASSWORD",
            help=say("His or her password; generated when absent.", "Son mot de passe ; généré s'il manque."),
        ),
    ] = None,
    json_mode: JsonFlag = False,
) -> None:
    """Start Open WebUI with ECHO and stay until Ctrl-C."""
    with command(json_mode) as out:
        backend = _backend(demo, out)
        settings = StackSettings(
            data=data,
            host=host,
            port=port,
            sim_port=sim_port or free_port(),
            backend=backend,
            chunk_delay_ms=_DEMO_CHUNK_DELAY_MS,
            admin_email=admin_email,
            admin_password=admin_password,
        )
        _run(Stack(settings, out), out)


def _backend(demo: bool, out: Output) -> Backend:
    if demo:
        return "simulator"
    if os.environ.get("GEMINI_API_KEY"):
        return "google"
    out.warn(_NO_KEY)
    return "simulator"


def _run(stack: Stack, out: Output) -> None:
    before = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
    _on_stop_signals(_raise_stop)
    ready = stopping = False
    try:
        report = stack.start()
        ready = True
        out.result(_facts(stack, report), _panel(stack))
        while True:
            stack.check()
            threading.Event().wait(_WATCH_S)
    except _StopRequestedError:
        stopping = True
        out.step(_STOPPING)
        if not ready:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        _on_stop_signals(signal.SIG_IGN)  # being impatient must not leave children behind; ending is bounded
        stack.stop()
        if stopping:
            out.step(_STOPPED)
        for number, handler in before.items():
            signal.signal(number, handler)


def _on_stop_signals(handler: Any) -> None:
    for number in _STOP_SIGNALS:
        signal.signal(number, handler)


def _raise_stop(_number: int, _frame: FrameType | None) -> None:
    _on_stop_signals(signal.SIG_IGN)
    raise _StopRequestedError


def _facts(stack: Stack, report: Report | None) -> dict[str, Any]:
    account = stack.account
    simulated = stack.settings.backend == "simulator"
    return {
        "url": stack.url,
        "pid": os.getpid(),
        "admin": {"email": account.email, "password": account.password} if account else None,
        "backend": stack.settings.backend,
        "simulator_url": stack.sim_url if simulated else None,
        "data": str(stack.data),
        "install": report_data(report) if report else None,
    }


def _panel(stack: Stack) -> Panel:
    grid = Table.grid(padding=(0, 2))
    account = stack.account
    answers = (
        say("the simulator, on ", "le simulateur, sur ") + stack.sim_url
        if stack.settings.backend == "simulator"
        else say("Google, with GEMINI_API_KEY", "Google, avec GEMINI_API_KEY")
    )
    rows = [
        (say("Open", "Ouvrir"), stack.url),
        (say("E-mail", "E-mail"), account.email if account else "?"),
        (say("Password", "Mot de passe"), account.password if account else "?"),
        (say("Who answers", "Qui répond"), answers),
        (say("Data", "Données"), str(stack.data)),
        (say("Logs", "Journaux"), str(stack.data / "run" / "logs")),
        (say("Stop", "Arrêter"), "Ctrl-C"),
    ]
    for label, value in rows:
        grid.add_row(Text(label, style="dim"), Text(value, overflow="fold"))
    return Panel(grid, title=say("ECHO is ready", "ECHO est prêt"), border_style="green", expand=False)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "up",
        help=say(
            "Start Open WebUI with ECHO on this machine (Ctrl-C stops it).",
            "Démarrer Open WebUI avec ECHO sur cette machine (Ctrl-C l'arrête).",
        ),
    )(up)
