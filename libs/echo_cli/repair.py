"""`echoctl repair`: rebuilds what can be rebuilt of the records of chats, and keeps what was there before."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from echo_cli._app import command
from echo_cli._chat_files import ChatFile, ChatOption, UserOption, chat_files
from echo_cli._data_dir import DataOption, data_dir_here
from echo_cli._exit_codes import ExitCode
from echo_cli._locale import say, tr
from echo_cli._output import JsonFlag
from echo_cli._secret import secret_of
from echo_cli.verify import WHAT_WHERE, WHERE
from echo_constants import Bilingual
from echo_http import SystemClock
from echo_state_manager import BroughtBack, FileRepair, RepairReport, StoreError, bring_back, repair_file
from echo_state_manager.crypto import MasterSecret

NOTHING: Final = Bilingual(
    en="{chats} chats are sound; nothing was changed.", fr="{chats} conversations sont saines ; rien n'a été modifié."
)
SUMMARY: Final = Bilingual(
    en="{repaired} of {chats} chats repaired, {failed} could not be.",
    fr="{repaired} conversations réparées sur {chats}, {failed} n'ont pu l'être.",
)
KEPT: Final = Bilingual(en="as it was before: {path}", fr="l'état d'avant : {path}")
SAVED: Final = Bilingual(
    en="The file was damaged; {rows} rows could still be read.",
    fr="Le fichier était abîmé ; {rows} lignes ont pu être lues.",
)

BACK: Final = Bilingual(
    en="out of {path}: {added} message(s) are back, {restored} have their signatures again",
    fr="depuis {path} : {added} message(s) retrouvés, {restored} ont de nouveau leurs signatures",
)

#: What a report says, by the name of its field.
DONE: Final[dict[str, Bilingual]] = {
    "dropped": Bilingual(
        en="{count} message(s) without a record now, sent as the page shows them: {ids}",
        fr="{count} message(s) désormais sans enregistrement, envoyés tels que la page les affiche : {ids}",
    ),
    "former_dropped": Bilingual(
        en="former versions of {count} message(s) were removed: {ids}",
        fr="versions antérieures de {count} message(s) supprimées : {ids}",
    ),
    "rehashed": Bilingual(
        en="hashes of {count} message(s) derived again: {ids}",
        fr="empreintes de {count} message(s) recalculées : {ids}",
    ),
    "links_rewritten": Bilingual(
        en="{count} link(s) of the chain's index rebuilt",
        fr="{count} entrée(s) de l'index de la chaîne reconstruite(s)",
    ),
    "signatures_rewritten": Bilingual(
        en="signatures of {count} message(s) taken from their parts again: {ids}",
        fr="signatures de {count} message(s) reprises de leurs parties : {ids}",
    ),
    "journals_dropped": Bilingual(
        en="{count} unreadable journal(s) of tool calls removed",
        fr="{count} journal(aux) d'appels d'outils illisible(s) supprimé(s)",
    ),
    "blobs_dropped": Bilingual(
        en="{count} large value(s) that were spoilt or belonged to nothing removed",
        fr="{count} grande(s) valeur(s) abîmée(s) ou orpheline(s) supprimée(s)",
    ),
}

#: Ids that are shown in full; `--json` has all of them.
_IDS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Repaired:
    """What repairing one file gave: what was done and what came back, or why it could not be."""

    file: ChatFile
    outcome: FileRepair | None = None
    back: tuple[BroughtBack, ...] = ()
    error: StoreError | None = None

    @property
    def was_changed(self) -> bool:
        """Whether anything was done to the file."""
        return bool(self.back) or (self.outcome is not None and self.outcome.kept_as is not None)


def repair(
    user: UserOption = "",
    chat: ChatOption = "",
    data: DataOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Rebuild what can be rebuilt; exit code 6 when a file could not be repaired."""
    with command(json_mode) as output:
        root = data_dir_here(data)
        results = asyncio.run(_repair_all(chat_files(root, user, chat), secret_of(root)))
        output.result(_facts(results), _text(results))
        if any(result.error is not None for result in results):
            raise typer.Exit(ExitCode.STATE)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "repair",
        help=say(
            "Rebuild the records of chats where `verify` finds a break; what was there is kept.",
            "Reconstruire les enregistrements là où `verify` trouve une rupture ; l'état d'avant est gardé.",
        ),
    )(repair)


async def _repair_all(files: Sequence[ChatFile], secret: MasterSecret | None) -> list[Repaired]:
    results = []
    for file in files:
        try:
            outcome = await repair_file(file.path, SystemClock(), secret)
            back = await bring_back(file.path, file.chat_id, SystemClock(), secret)
            results.append(Repaired(file, outcome, tuple(one for one in back if one.is_news)))
        except StoreError as error:
            results.append(Repaired(file, error=error))
    return results


def _facts(results: Sequence[Repaired]) -> dict[str, Any]:
    return {
        **_counts(results),
        "files": [
            {
                "user": result.file.user_id,
                "chat": result.file.chat_id,
                "path": str(result.file.path),
                "error": None if result.error is None else {"code": result.error.code, "detail": result.error.detail},
                **(_outcome_facts(result.outcome) if result.outcome else {}),
                "back": [
                    {"path": str(one.path), "added": one.taken.added, "restored": one.taken.restored}
                    for one in result.back
                    if one.taken
                ],
            }
            for result in results
            if result.error is not None or result.was_changed
        ],
    }


def _counts(results: Sequence[Repaired]) -> dict[str, int]:
    return {
        "chats": len(results),
        "repaired": sum(result.was_changed for result in results),
        "failed": sum(result.error is not None for result in results),
    }


def _outcome_facts(outcome: FileRepair) -> dict[str, Any]:
    return {
        "kept_as": str(outcome.kept_as) if outcome.kept_as else None,
        "rows_saved": outcome.rows_saved,
        "done": {name: getattr(outcome.report, name) for name in DONE},
    }


def _text(results: Sequence[Repaired]) -> RenderableType:
    lines: list[RenderableType] = []
    for result in results:
        where = tr(WHERE, chat=result.file.chat_id, user=result.file.user_id)
        if result.error is not None:
            lines.append(Text(f"✗ {tr(WHAT_WHERE, where=where, what=tr(result.error.message))}", style="red"))
            lines.append(Text(f"    {result.error}", style="dim"))
        elif result.outcome is not None and result.was_changed:
            lines.append(Text(f"✓ {where}", style="green"))
            lines += [Text(f"    {line}") for line in (*_done(result.outcome), *_back(result.back))]
    counts = _counts(results)
    lines.append(Text(tr(SUMMARY if lines else NOTHING, **counts)))
    return Group(*lines)


def _done(outcome: FileRepair) -> list[str]:
    lines = [] if outcome.rows_saved is None else [tr(SAVED, rows=outcome.rows_saved)]
    lines += [
        tr(words, **_measure(outcome.report, name)) for name, words in DONE.items() if getattr(outcome.report, name)
    ]
    return [*lines, tr(KEPT, path=outcome.kept_as)] if outcome.kept_as else lines


def _back(back: Sequence[BroughtBack]) -> list[str]:
    return [tr(BACK, path=one.path, added=one.taken.added, restored=one.taken.restored) for one in back if one.taken]


def _measure(report: RepairReport, name: str) -> dict[str, object]:
    value: int | tuple[str, ...] = getattr(report, name)
    if isinstance(value, int):
        return {"count": value}
    shown = ", ".join(value[:_IDS_SHOWN])
    return {"count": len(value), "ids": f"{shown}…" if len(value) > _IDS_SHOWN else shown}
