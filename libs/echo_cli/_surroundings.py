"""Finds out what doctor can look at: the server, its process and environment, the data folder."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from echo_cli._account import sign_in_own
from echo_cli._checks.base import Surroundings
from echo_cli._data_dir import below
from echo_cli._exit_codes import ExitCode
from echo_cli._owui_api import NotOpenWebuiError, OwuiApi, OwuiUnreachableError, is_loopback
from echo_cli._server_process import server_environment, server_process
from echo_constants import Bilingual, ConfigError, EchoError
from echo_paths import DataDirUnknownError, EchoPaths


class PortTakenError(ConfigError):
    """Another program answers where Open WebUI should be."""

    code: ClassVar[str] = "port_taken"
    exit_code: ClassVar[ExitCode] = ExitCode.PORT_BUSY
    message: ClassVar[Bilingual] = Bilingual(
        en="At {url} another program answers ({by}), so Open WebUI cannot use this port.",
        fr="À l'adresse {url} répond un autre programme ({by}), Open WebUI ne peut donc pas utiliser ce port.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Stop that program, or give Open WebUI another port; name its address with --url.",
        fr="Arrêtez ce programme, ou donnez un autre port à Open WebUI ; indiquez son adresse avec --url.",
    )


def connect(url: str, *, token: str, email: str, password: str) -> Iterator[OwuiApi | EchoError]:
    """Reach Open WebUI and sign in; gives the client once it is reached, and every error on the way.

    Without an account as `sign_in_own`.

    Nothing at all is given when nobody answers: whether that is an error is the caller's to say.
    """
    api = OwuiApi(url, token or None)
    try:
        api.version()
    except OwuiUnreachableError as error:
        api.close()
        yield error
        return
    except NotOpenWebuiError as error:
        api.close()
        process = server_process(url)
        by = f"{process.name()}, pid {process.pid}" if process else "?"
        yield PortTakenError(str(error), url=url, by=by) if is_loopback(url) else error
        return
    yield api
    try:
        if email and password and not token:
            api.sign_in(email, password)
        elif not token:
            sign_in_own(api)
        if api.token:
            api.require_admin()
    except EchoError as error:
        api.token = None
        yield error


def look_around(url: str, api: OwuiApi | None, data: Path | None) -> Surroundings:
    """Put together what the checks may use.

    Args:
        url: where Open WebUI is or should be.
        api: the client, None when it is not reached.
        data: the `--data` option.
    """
    environ, is_known = _environ(url if api else None)
    return Surroundings(
        environ=environ,
        environ_is_known=is_known,
        data_root=_data_root(data, environ),
        api=api,
        is_admin=api is not None and api.token is not None,
        version=api.version() if api else "",
    )


def _environ(url: str | None) -> tuple[Mapping[str, str], bool]:
    environ = server_environment(url) if url else None
    if environ is not None:
        return environ, True
    return dict(os.environ), any(os.environ.get(name) for name in ("DATA_DIR", "ECHO_DATA_DIR"))


def _data_root(data: Path | None, environ: Mapping[str, str]) -> Path | None:
    if data is not None:
        return below(data)
    try:
        return EchoPaths.from_environment(environ).root
    except DataDirUnknownError:
        return None
