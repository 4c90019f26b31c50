"""The `--data` option and what it means when it is not given."""

import os
from pathlib import Path
from typing import Annotated

import typer

from echo_cli._locale import say
from echo_paths import EchoPaths

#: The `--data` option: ECHO's data folder, or the one of `echoctl up`, which has it inside.
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help=say(
            "ECHO's data folder, or that of `echoctl up`; default $ECHO_DATA_DIR, else $DATA_DIR/echo.",
            "Dossier de données d'ECHO, ou celui d'`echoctl up` ; sinon $ECHO_DATA_DIR, sinon $DATA_DIR/echo.",
        ),
    ),
]


def data_dir(given: Path | None) -> Path:
    """ECHO's data folder.

    Raises:
        DataDirUnknownError: it was not given and the environment does not tell.
    """
    return below(given) if given is not None else EchoPaths.from_environment(os.environ).root


def below(folder: Path) -> Path:
    """ECHO's own folder: a folder that holds Open WebUI's database has it inside, as `echo`."""
    return folder / "echo" if (folder / "webui.db").exists() else folder
