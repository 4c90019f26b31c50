"""`echoctl verify`: whether the records of chats still are what was sealed. Nothing is changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from echo_cli._app import command
from echo_cli._breaks import words_of
from echo_cli._chat_files import ChatFile, ChatOption, UserOption, chat_files
from echo_cli._data_dir import DataOption, data_dir_here
from echo_cli._exit_codes import ExitCode
from echo_cli._locale import say, tr
from echo_cli._output import JsonFlag
from echo_cli._secret import secret_of
from echo_constants import Bilingual
from echo_http import SystemClock
from echo_state_manager import StoreError, VerifyReport, verify_file
from echo_state_manager.crypto import MasterSecret

SOUND: Final = Bilingual(
    en="{chats} chats, {messages} messages, {chains} chains: every hash follows from what was sealed.",
    fr="{chats} conversations, {messages} messages, {chains} chaînes : chaque empreinte découle de ce qui a été "
    "scellé.",
)
UNSOUND: Final = Bilingual(
    en="{unsound} of {chats} chats are not in order. `echoctl repair` rebuilds what can be rebuilt; a message whose "
    "record cannot be trusted is then sent as the page shows it.",
    fr="{unsound} conversations sur {chats} ne sont pas en ordre. `echoctl repair` reconstruit ce qui peut l'être ; un "
    "message dont l'enregistrement n'est pas fiable est ensuite envoyé tel que la page l'affiche.",
)
WHERE: Final = Bilingual(en="chat {chat} of user {user}", fr="conversation {chat} de l'utilisateur {user}")
WHAT_WHERE: Final = Bilingual(en="{where}: {what}", fr="{where} : {what}")
AT_MESSAGE: Final = Bilingual(en="first break at message {message}: ", fr="première rupture au message {message} : ")
MORE: Final = Bilingual(en=" (and {count} more)", fr=" (et {count} autres)")
ASIDE: Final = Bilingual(en="Set aside earlier: {path}", fr="Mis de côté auparavant : {path}")


@dataclass(frozen=True, slots=True)
class Verified:
    """What verifying one file gave: a report, or why there is none."""

    file: ChatFile
    report: VerifyReport | None = None
    error: StoreError | None = None

    @property
    def is_sound(self) -> bool:
        """Whether everything is as it was sealed."""
        return self.report is not None and self.report.is_sound


async def verify_all(files: Sequence[ChatFile], secret: MasterSecret | None) -> list[Verified]:
    """Verify files one after the other; what is wrong with one does not keep the others from being verified."""
    now_s = int(SystemClock().now_s())
    results = []
    for file in files:
        try:
            results.append(Verified(file, await verify_file(file.path, now_s, secret)))
        except StoreError as error:
            results.append(Verified(file, error=error))
    return results


def verify(
    user: UserOption = "",
    chat: ChatOption = "",
    data: DataOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Derive every hash again; exit code 10 when something does not agree."""
    with command(json_mode) as output:
        root = data_dir_here(data)
        results = asyncio.run(verify_all(chat_files(root, user, chat), secret_of(root)))
        output.result(_facts(results), _text(results))
        if not all(result.is_sound for result in results):
            raise typer.Exit(ExitCode.CHECK_FAILED)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "verify",
        help=say(
            "Check that the records of chats are what was sealed; nothing is changed.",
            "Vérifier que les enregistrements des conversations sont ce qui a été scellé ; rien n'est modifié.",
        ),
    )(verify)


def _counts(results: Sequence[Verified]) -> dict[str, int]:
    reports = [result.report for result in results if result.report is not None]
    return {
        "chats": len(results),
        "messages": sum(report.messages for report in reports),
        "chains": sum(report.chains for report in reports),
        "unsound": sum(not result.is_sound for result in results),
    }


def _facts(results: Sequence[Verified]) -> dict[str, Any]:
    return {
        **_counts(results),
        "sound": all(result.is_sound for result in results),
        "problems": [problem_facts(result) for result in results if not result.is_sound],
        "set_aside": [str(path) for result in results for path in result.file.set_aside()],
    }


def problem_facts(result: Verified) -> dict[str, Any]:
    """A file that is not in order, as JSON values."""
    breaks = result.report.breaks if result.report else ()
    return {
        "user": result.file.user_id,
        "chat": result.file.chat_id,
        "path": str(result.file.path),
        "error": None if result.error is None else {"code": result.error.code, "message": tr(result.error.message)},
        "breaks": [
            {"kind": found.kind, "message_id": found.message_id, "what": tr(words_of(found)), "detail": found.detail}
            for found in breaks
        ],
    }


def problem_text(result: Verified) -> str:
    """The first thing that is not in order in a file, for people."""
    where = tr(WHERE, chat=result.file.chat_id, user=result.file.user_id)
    if result.report is None or result.report.first_break is None:
        what = tr(result.error.message) if result.error else ""
        return tr(WHAT_WHERE, where=where, what=what)
    first = result.report.first_break
    more = len(result.report.breaks) - 1
    at = tr(AT_MESSAGE, message=first.message_id) if first.message_id else ""
    what = f"{at}{tr(words_of(first))}{tr(MORE, count=more) if more else ''}"
    return tr(WHAT_WHERE, where=where, what=what)


def _text(results: Sequence[Verified]) -> RenderableType:
    lines: list[RenderableType] = []
    for result in results:
        if not result.is_sound:
            lines.append(Text(f"✗ {problem_text(result)}", style="red"))
            detail = result.report.first_break.detail if result.report and result.report.first_break else ""
            lines.append(Text(f"    {detail or result.error}", style="dim"))
    counts = _counts(results)
    lines.append(Text(f"✓ {tr(SOUND, **counts)}", style="green") if not lines else Text(f"→ {tr(UNSOUND, **counts)}"))
    aside = [path for result in results for path in result.file.set_aside()]
    lines += [Text(f"! {tr(ASIDE, path=path)}", style="yellow") for path in aside]
    return Group(*lines)
