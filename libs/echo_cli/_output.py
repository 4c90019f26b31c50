"""What echoctl prints: rich text for people, one JSON document for programs.

With `--json` standard output holds exactly one JSON object, `{"ok": true, ...}` or
`{"ok": false, "error": {...}}`; progress goes to standard error, so a pipe stays clean.
"""

import json
import textwrap
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.markup import escape

from echo_cli._exit_codes import ExitCode, exit_code_of
from echo_cli._locale import LOCALE, say, tr
from echo_constants import Bilingual, EchoError

#: The `--json` option of every command: `def doctor(json_mode: JsonFlag = False) -> None`.
JsonFlag = Annotated[
    bool,
    typer.Option(
        "--json",
        help=say("Print one JSON document instead of text.", "Écrire un document JSON au lieu de texte."),
    ),
]


class Output:
    """Printer of one command.

    Args:
        json_mode: True = one JSON document on standard output.
    """

    def __init__(self, *, json_mode: bool) -> None:
        self.json_mode = json_mode
        self.console = Console(highlight=False)
        self.progress = Console(stderr=True, highlight=False)

    def step(self, text: Bilingual, **fields: object) -> None:
        """Tell what is being done; standard error with `--json`."""
        target = self.progress if self.json_mode else self.console
        target.print(f"[dim]›[/dim] {escape(tr(text, **fields))}")

    def warn(self, text: Bilingual, **fields: object) -> None:
        """Tell something that deserves attention, on standard error."""
        self.progress.print(f"[yellow]![/yellow] {escape(tr(text, **fields))}")

    def result(self, data: Mapping[str, Any], human: RenderableType) -> None:
        """Print the outcome: `data` (JSON values) for programs, `human` for people."""
        if self.json_mode:
            typer.echo(json.dumps({"ok": True, **data}, ensure_ascii=False))
        else:
            self.console.print(human)

    def failure(self, error: EchoError) -> ExitCode:
        """Print an error with its remedy and give the exit code that goes with it."""
        code = exit_code_of(error)
        message = error.message.render(LOCALE, **error.fields)
        remedy = error.remedy.render(LOCALE, **error.fields)
        if self.json_mode:
            facts = {"code": error.code, "message": message, "remedy": remedy, "detail": error.detail}
            typer.echo(json.dumps({"ok": False, "exit_code": int(code), "error": facts}, ensure_ascii=False))
            return code
        # Wrapped between words; a long path stays whole.
        shown = textwrap.fill(f"✗ {message}", self.progress.width, break_long_words=False, break_on_hyphens=False)
        lines = [f"[red]{escape(shown)}[/red]", f"[bold]→[/bold] {escape(remedy)}"]
        if error.detail:
            lines.append(f"[dim]{escape(error.detail)}[/dim]")
        lines.append(f"[dim]({error.code})[/dim]")
        self.progress.print("\n".join(lines), soft_wrap=True)  # no frame, so that paths and commands can be copied
        return code
