"""`echoctl bundle`: one file for administrators who have only Open WebUI's admin panel."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from echo_cli._app import command
from echo_cli._locale import say, tr
from echo_cli._output import JsonFlag
from echo_constants import Bilingual, ConfigError


class BundleExistsError(ConfigError):
    """A file of that name is there."""

    code: ClassVar[str] = "bundle_exists"
    message: ClassVar[Bilingual] = Bilingual(en="{path} exists already.", fr="{path} existe déjà.")
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Choose another name with --out, or replace the file with --force.",
        fr="Choisissez un autre nom avec --out, ou remplacez le fichier avec --force.",
    )


_NEXT = Bilingual(
    en="{path}: {functions} functions, {size_kb} kB.\n"
    "Admin panel, Functions, the arrow beside Create, Import JSON: choose this file. Then switch echo_lifecycle on, "
    "reload the page, and do what its description says.",
    fr="{path} : {functions} fonctions, {size_kb} ko.\n"
    "Panneau d'administration, Fonctions, la flèche à côté de Créer, Import JSON : choisissez ce fichier. Puis activez "
    "echo_lifecycle, rechargez la page et faites ce que dit sa description.",
)


def bundle(
    out: Annotated[Path, typer.Option("--out", help=say("File to write.", "Fichier à écrire."))] = Path("echo.json"),
    force: Annotated[
        bool,
        typer.Option(
            "--force", help=say("Replace a file that is already there.", "Remplacer un fichier déjà présent.")
        ),
    ] = False,
    json_mode: JsonFlag = False,
) -> None:
    """Write the bundle."""
    # Needs pydantic, the function files and a second of compressing; the other commands start without it.
    from echo_cli._bundle_build import build_bundle

    with command(json_mode) as output:
        if out.exists() and not force:
            raise BundleExistsError(path=str(out))
        made = build_bundle()
        out.write_text(made.text, encoding="utf-8")
        size_bytes = out.stat().st_size
        facts: dict[str, Any] = {
            "path": str(out),
            "size_bytes": size_bytes,
            "functions": list(made.function_ids),
            "tools": list(made.tool_ids),
            "requirements": list(made.requirements),
            "wheel_sha256": made.wheel.sha256,
        }
        text = tr(_NEXT, path=out, functions=len(made.function_ids), size_kb=round(size_bytes / 1000))
        output.result(facts, text)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "bundle",
        help=say(
            "Write one file that Open WebUI's admin panel can import.",
            "Écrire un fichier que le panneau d'administration d'Open WebUI peut importer.",
        ),
    )(bundle)
