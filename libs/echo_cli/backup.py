"""`echoctl backup` and `echoctl restore`: ECHO's data folder in one file and back."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from echo_cli._app import command
from echo_cli._archive_read import RestoreReport, restore_backup
from echo_cli._archive_write import BackupReport, write_backup
from echo_cli._data_dir import DataOption, data_dir_here
from echo_cli._locale import say, tr
from echo_cli._output import JsonFlag
from echo_constants import Bilingual, ConfigError
from echo_http.clock import SystemClock


class NothingToBackUpError(ConfigError):
    """The data folder is not there."""

    code: ClassVar[str] = "backup_no_data"
    message: ClassVar[Bilingual] = Bilingual(
        en="There is no ECHO data in {path}.", fr="Il n'y a pas de données d'ECHO dans {path}."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Name the folder with --data (after `make run`: --data .run/data), or set ECHO_DATA_DIR.",
        fr="Indiquez le dossier avec --data (après `make run` : --data .run/data), ou définissez ECHO_DATA_DIR.",
    )


_KEY_REMINDER = Bilingual(
    en="Keep WEBUI_SECRET_KEY (or ECHO_SECRET_KEY) somewhere else: without it the keys in this backup stay unreadable.",
    fr="Gardez WEBUI_SECRET_KEY (ou ECHO_SECRET_KEY) ailleurs : sans elle, les clés de cette sauvegarde restent "
    "illisibles.",
)


def backup(
    out: Annotated[
        Path, typer.Option("--out", help=say("Archive to make: .tar.zst or .tar.gz.", "Archive : .tar.zst ou .tar.gz."))
    ],
    data: DataOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Copy the data folder into one archive; ECHO may keep running."""
    with command(json_mode) as output:
        root = data_dir_here(data)
        if not root.is_dir():
            raise NothingToBackUpError(path=str(root))
        output.step(Bilingual(en="Copying {path} …", fr="Copie de {path} …"), path=root)
        now = datetime.fromtimestamp(SystemClock().now_s(), tz=UTC)
        report = write_backup(root, out.absolute(), created_at=now.isoformat(timespec="seconds"))
        for path in report.skipped:
            output.warn(Bilingual(en="Left out: {path}", fr="Laissé de côté : {path}"), path=path)
        output.result(_backup_facts(report), _backup_text(report))


def restore(
    archive: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help=say("Archive to read.", "Archive à lire."))
    ],
    data: DataOption = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help=say("Set data aside that is already there.", "Mettre de côté les données déjà présentes."),
        ),
    ] = False,
    json_mode: JsonFlag = False,
) -> None:
    """Put an archive back; stop Open WebUI first."""
    with command(json_mode) as output:
        target = data_dir_here(data).absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        report = restore_backup(archive, target, force=force)
        output.result(_restore_facts(report), _restore_text(report))


def register(app: typer.Typer) -> None:
    """Add both commands to the application."""
    app.command(
        "backup",
        help=say("Copy ECHO's data into one file, also while it runs.", "Copier les données d'ECHO, même en marche."),
    )(backup)
    app.command(
        "restore",
        help=say("Put such a file back.", "Remettre en place un tel fichier."),
    )(restore)


def _backup_facts(report: BackupReport) -> dict[str, Any]:
    return {
        "path": str(report.path),
        "size_bytes": report.size_bytes,
        "content_bytes": report.content_bytes,
        "databases": report.databases,
        "files": report.files,
        "skipped": list(report.skipped),
    }


def _backup_text(report: BackupReport) -> str:
    summary = Bilingual(
        en="{path}: {databases} databases and {files} files, {content_mb} MB in {size_mb} MB.",
        fr="{path} : {databases} bases et {files} fichiers, {content_mb} Mo dans {size_mb} Mo.",
    )
    mega_bytes = {"content_mb": f"{report.content_bytes / 1e6:.1f}", "size_mb": f"{report.size_bytes / 1e6:.1f}"}
    counts = {"databases": report.databases, "files": report.files}
    return f"{tr(summary, path=report.path, **counts, **mega_bytes)}\n{tr(_KEY_REMINDER)}"


def _restore_facts(report: RestoreReport) -> dict[str, Any]:
    return {
        "target": str(report.target),
        "made_by": report.made_by,
        "created_at": report.created_at,
        "databases": report.databases,
        "files": report.files,
        "set_aside": str(report.set_aside) if report.set_aside else None,
    }


def _restore_text(report: RestoreReport) -> str:
    summary = Bilingual(
        en="Restored {databases} databases and {files} files of {created_at} (ECHO {made_by}) to {target}.",
        fr="{databases} bases et {files} fichiers du {created_at} (ECHO {made_by}) remis dans {target}.",
    )
    text = tr(
        summary,
        databases=report.databases,
        files=report.files,
        created_at=report.created_at,
        made_by=report.made_by,
        target=report.target,
    )
    if report.set_aside is None:
        return text
    aside = Bilingual(
        en="The former data is in {path}; delete that folder once all is well.",
        fr="Les données précédentes sont dans {path} ; supprimez ce dossier quand tout va bien.",
    )
    return f"{text}\n{tr(aside, path=report.set_aside)}"
