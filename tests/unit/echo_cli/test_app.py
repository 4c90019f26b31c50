"""What every command does alike: language, --json, errors."""

import json
import logging
import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from echo_cli import build_app
from echo_cli._app import COMMANDS, command
from echo_cli._exit_codes import ExitCode
from echo_cli._locale import shell_locale
from echo_cli._ports import PortBusyError, free_port
from echo_cli.uninstall import NotEchoDataError
from echo_constants import ECHO_VERSION, Bilingual

STEP = Bilingual(en="Doing", fr="En cours")


def test_the_shell_chooses_the_language() -> None:
    assert shell_locale({"LANG": "fr_FR.UTF-8"}) == "fr"
    assert shell_locale({"LC_ALL": "C.UTF-8", "LANG": "fr_FR.UTF-8"}) == "en"
    assert shell_locale({"ECHO_LANG": "fr", "LC_ALL": "en_GB.UTF-8"}) == "fr"
    assert shell_locale({"LANG": "de_DE.UTF-8"}) == shell_locale({}) == "en"


def test_every_command_is_offered_with_help_and_json() -> None:
    runner = CliRunner()
    for name in COMMANDS:
        shown = runner.invoke(build_app(), [name, "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0
        # `serve` becomes the server itself: its output is Open WebUI's log.
        assert ("--json" in shown.stdout) == (name != "serve")
    assert runner.invoke(build_app(), ["--version"]).stdout == f"echoctl {ECHO_VERSION}\n"


def test_help_is_french_in_a_french_shell() -> None:
    argv = [sys.executable, "-m", "echo_cli", "--help"]
    shown = subprocess.run(argv, capture_output=True, text=True, env={"ECHO_LANG": "fr", "PYTHONPATH": "libs"})
    assert "Démarrer Open WebUI" in shown.stdout


@pytest.mark.parametrize(
    ("command_line", "told"),
    [
        ("up --help", "Afficher cette aide et s'arrêter."),
        ("up --nope", "L'option --nope n'existe pas."),
        ("nope", "La commande 'nope' n'existe pas."),
        ("up --port", "L'option '--port' demande une valeur."),
        ("up --port abc", "Valeur incorrecte pour '--port' : ce n'est pas un nombre."),
        ("up --port 70000", "Valeur incorrecte pour '--port' : au plus 65535."),
        ("verify a b", "Il y a des arguments en trop : a b"),
        ("export", "Il manque l'option '--out'."),
    ],
)
def test_a_wrong_command_line_is_told_in_french_in_a_french_shell(command_line: str, told: str) -> None:
    argv = [sys.executable, "-m", "echo_cli", *command_line.split()]
    env = {"ECHO_LANG": "fr", "PYTHONPATH": "libs", "COLUMNS": "200"}
    shown = subprocess.run(argv, capture_output=True, text=True, env=env)
    assert told in shown.stdout + shown.stderr
    assert shown.returncode == (0 if "--help" in command_line else ExitCode.USAGE)
    assert not re.search(r"Error|Show this|Try |Missing|Invalid", shown.stdout + shown.stderr)


def test_json_mode_prints_one_document_and_progress_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with command(True) as out:
        out.step(STEP)
        out.result({"n": 1}, "one")
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"ok": True, "n": 1}
    assert "Doing" in captured.err


def test_an_error_becomes_its_message_remedy_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    error = PortBusyError("in use", host="127.0.0.1", port=3000, option="--port", free=3001)
    with pytest.raises(typer.Exit) as ended, command(True):
        raise error
    document = json.loads(capsys.readouterr().out)
    assert ended.value.exit_code == document["exit_code"] == ExitCode.PORT_BUSY
    assert document["error"]["code"] == "port_busy"
    assert "--port 3001" in document["error"]["remedy"]

    with pytest.raises(typer.Exit), command(False):
        raise error
    assert "--port 3001" in capsys.readouterr().err


def test_a_long_message_is_wrapped_between_words_and_a_remedy_can_be_copied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    path = "/a/" + "very/" * 12 + "long/path"
    with pytest.raises(typer.Exit), command(False):
        raise NotEchoDataError(path=path)
    told = capsys.readouterr().err.splitlines()
    assert path in "\n".join(told)
    shown, remedy = told[: told.index(next(line for line in told if line.startswith("→")))], told[-2]
    assert len(shown) > 2 and all(len(line) <= 40 for line in shown if path not in line)
    assert remedy == "→ Give ECHO's data folder with --data, or use --keep-data."


def test_markup_in_an_error_is_shown_and_not_interpreted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), command(False):
        raise PortBusyError("[bold]x[/nonsense]", host="[red]", port=1, option="--port", free=2)
    assert "[bold]x[/nonsense]" in capsys.readouterr().err


def test_a_defect_is_told_as_one_and_logged_with_its_place(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(typer.Exit) as ended, command(True):
        raise ZeroDivisionError("nobody expected this")
    document = json.loads(capsys.readouterr().out)
    assert ended.value.exit_code == ExitCode.INTERNAL
    assert document["error"]["code"] == "internal"
    assert caplog.records[-1].exc_info is not None


def test_ctrl_c_ends_with_130() -> None:
    with pytest.raises(typer.Exit) as ended, command(False):
        raise KeyboardInterrupt
    assert ended.value.exit_code == ExitCode.INTERRUPTED


def test_a_command_that_asks_without_a_terminal_changes_nothing() -> None:
    port = free_port()
    argv = ["uninstall", "--url", f"http://127.0.0.1:{port}", "--token", "t", "--json"]
    answer = CliRunner().invoke(build_app(), argv)
    assert answer.exit_code == ExitCode.UPSTREAM
    assert json.loads(answer.stdout)["error"]["code"] == "owui_unreachable"
