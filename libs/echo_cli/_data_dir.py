"""The `--data` option and what it means when it is not given."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Final

import typer

from echo_cli._locale import say
from echo_constants import Bilingual, ConfigError
from echo_paths import DataDirUnknownError, EchoPaths

#: ECHO's data after `make run` without DATA, seen from the checkout. Source: Makefile.
MAKE_RUN_DATA: Final = Path(".run/data/echo")


class DataNotNamedError(ConfigError):
    """Neither the command line nor the environment says where ECHO's data is."""

    code: ClassVar[str] = "data_not_named"
    message: ClassVar[Bilingual] = Bilingual(
        en="It is not clear where ECHO's data is.", fr="On ne sait pas où sont les données d'ECHO."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Name the folder with --data (after `make run`: --data .run/data), or set ECHO_DATA_DIR.",
        fr="Indiquez le dossier avec --data (après `make run` : --data .run/data), ou définissez ECHO_DATA_DIR.",
    )


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


def data_dir(given: Path | None, environ: Mapping[str, str] = os.environ) -> Path:
    """ECHO's data folder: the given one, else what an environment tells.

    Raises:
        DataNotNamedError: neither tells.
    """
    if given is not None:
        return below(given)
    try:
        return EchoPaths.from_environment(environ).root
    except DataDirUnknownError as error:
        raise DataNotNamedError from error


def data_dir_here(given: Path | None) -> Path:
    """As `data_dir`, else what `make run` made in this folder. Raises as `data_dir`."""
    try:
        return data_dir(given)
    except DataNotNamedError:
        if MAKE_RUN_DATA.is_dir():
            return MAKE_RUN_DATA
        raise


def below(folder: Path) -> Path:
    """ECHO's own folder: a folder that holds Open WebUI's database has it inside, as `echo`."""
    return folder / "echo" if (folder / "webui.db").exists() else folder
