"""`echoctl prompts`: the words in which ECHO speaks to models: shown, tried, replaced, taken back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from echo_cli._app import command
from echo_cli._data_dir import DataOption, data_dir_here
from echo_cli._locale import say, tr
from echo_cli._output import JsonFlag
from echo_constants import Bilingual, ConfigError
from echo_http import SystemClock
from echo_paths import EchoPaths
from echo_runtime.prompt_desk import PromptDesk, PromptState
from echo_state_manager.prompts import PromptStore

T = TypeVar("T")

#: Who did it, in the list of versions.
AUTHOR: Final = "echoctl"

HEAD: Final = (
    Bilingual(en="Prompt", fr="Prompt"),
    Bilingual(en="Language", fr="Langue"),
    Bilingual(en="Text in use", fr="Texte en vigueur"),
)
OWN: Final = Bilingual(en="version {version}", fr="version {version}")
OF_ECHO: Final = Bilingual(en="shipped ({version})", fr="livré ({version})")
OUTDATED: Final = Bilingual(
    en=", made from an older shipped text", fr=", établie à partir d'un texte livré plus ancien"
)
HOLDS: Final = Bilingual(
    en="{name}.{language}: {what} holds from the next message on. Living chats are told of a changed `pis` in their "
    "next message; what is sealed in them stays.",
    fr="{name}.{language} : {what} vaut dès le prochain message. Les discussions en cours apprennent un `pis` modifié "
    "dans leur prochain message ; ce qui y est scellé reste.",
)
SAME: Final = Bilingual(en="The same text as now.", fr="Le même texte que maintenant.")


class PromptFileError(ConfigError):
    """The file with the new text cannot be read as UTF-8 text."""

    code = "prompt_file"
    audience = "admin"
    message = Bilingual(en="{path} cannot be read as text.", fr="{path} est illisible en tant que texte.")
    remedy = Bilingual(en="Give a text file in UTF-8.", fr="Donnez un fichier texte en UTF-8.")


Name = Annotated[str, typer.Argument(help=say("The prompt's name, e.g. pis.", "Nom du prompt, p. ex. pis."))]
Language = Annotated[str, typer.Option("--language", "-l", help=say("en or fr.", "en ou fr."))]
TextFile = Annotated[
    Path, typer.Argument(dir_okay=False, help=say("File with the new text.", "Fichier contenant le nouveau texte."))
]
Version = Annotated[
    int,
    typer.Option("--to", help=say("Version to return to; 0 is the shipped text.", "Version à rétablir ; 0 = livré.")),
]

prompts = typer.Typer(
    no_args_is_help=True,
    help=say(
        "Show and change the words in which ECHO speaks to models; every version is kept.",
        "Montrer et changer les mots par lesquels ECHO parle aux modèles ; chaque version est gardée.",
    ),
)


def _at_desk(data: Path | None, work: Callable[[PromptDesk], Awaitable[T]]) -> T:
    async def run() -> T:
        desk = PromptDesk(PromptStore(EchoPaths(data_dir_here(data)).prompts_db, SystemClock()))
        try:
            return await work(desk)
        finally:
            await desk.aclose()

    return asyncio.run(run())


def _what(state: PromptState) -> str:
    if not state.version:
        return tr(OF_ECHO, version=state.shipped_version)
    return tr(OWN, version=state.version) + (tr(OUTDATED) if state.outdated else "")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptFileError(str(error), path=str(path)) from error


@prompts.command("list", help=say("All prompts, and whose text is in use.", "Tous les prompts et le texte en vigueur."))
def list_prompts(data: DataOption = None, json_mode: JsonFlag = False) -> None:
    """All prompts, and whose text is in use."""
    with command(json_mode) as output:
        states = _at_desk(data, lambda desk: desk.states())
        table = Table(*(tr(head) for head in HEAD))
        for state in states:
            table.add_row(state.name, state.locale, _what(state))
        output.result({"prompts": [asdict(state) for state in states]}, table)


@prompts.command("show", help=say("The text in use, and its versions with --json.", "Le texte en vigueur."))
def show(name: Name, language: Language = "en", data: DataOption = None, json_mode: JsonFlag = False) -> None:
    """The text in use."""
    with command(json_mode) as output:

        async def work(desk: PromptDesk) -> dict[str, Any]:
            versions = [asdict(version) for version in await desk.history(name, language)]
            return {"prompt": asdict(await desk.state(name, language)), "versions": versions}

        facts = _at_desk(data, work)
        output.result(facts, Text(facts["prompt"]["text"]))


@prompts.command(
    "preview", help=say("What a text would be; changes nothing.", "Ce qu'un texte donnerait ; sans effet.")
)
def preview(
    name: Name, file: TextFile, language: Language = "en", data: DataOption = None, json_mode: JsonFlag = False
) -> None:
    """What a text would be; nothing is changed."""
    with command(json_mode) as output:
        text = _read(file)
        found = _at_desk(data, lambda desk: desk.preview(name, language, text))
        output.result(asdict(found), Text(f"{found.text}\n\n{found.diff or tr(SAME)}"))


@prompts.command("set", help=say("Put a text in place of the one in use.", "Remplacer le texte en vigueur."))
def set_prompt(
    name: Name, file: TextFile, language: Language = "en", data: DataOption = None, json_mode: JsonFlag = False
) -> None:
    """Put a text in place of the one in use."""
    with command(json_mode) as output:
        text = _read(file)
        state = _at_desk(data, lambda desk: desk.put(name, language, text, AUTHOR))
        output.result({"prompt": asdict(state)}, Text(tr(HOLDS, name=name, language=language, what=_what(state))))


@prompts.command("rollback", help=say("Return to an earlier version.", "Revenir à une version antérieure."))
def rollback(
    name: Name, to: Version = 0, language: Language = "en", data: DataOption = None, json_mode: JsonFlag = False
) -> None:
    """Return to an earlier version, or to the shipped text."""
    with command(json_mode) as output:
        state = _at_desk(data, lambda desk: desk.roll_back(name, language, to, AUTHOR))
        output.result({"prompt": asdict(state)}, Text(tr(HOLDS, name=name, language=language, what=_what(state))))


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(prompts, name="prompts")
