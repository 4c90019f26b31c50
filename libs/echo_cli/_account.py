"""The options that say which Open WebUI is meant and who we are there."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from echo_cli._locale import say
from echo_cli._owui_api import OwuiApi, OwuiSignInError
from echo_cli._run_folder import private_account
from echo_cli._server_process import is_ours_alone, server_environment
from echo_constants import AuthError, Bilingual

UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        envvar="ECHO_OPEN_WEBUI_URL",
        help=say("Address of Open WebUI.", "Adresse d'Open WebUI."),
    ),
]
TokenOption = Annotated[
    str,
    typer.Option(
        "--token",
        envvar="ECHO_OPEN_WEBUI_TOKEN",
        show_envvar=True,
        help=say(
            "Token or API key of an administrator (the variable keeps it out of the process list).",
            "Jeton ou clé API d'un administrateur (la variable l'évite dans la liste des processus).",
        ),
    ),
]
EmailOption = Annotated[
    str, typer.Option("--email", help=say("E-mail of an administrator.", "E-mail d'un administrateur."))
]
PasswordOption = Annotated[
    str,
    typer.Option(
        "--password",
        envvar="ECHO_OPEN_WEBUI_PASSWORD",
        show_envvar=True,
        help=say("Password of that administrator.", "Mot de passe de cet administrateur."),
    ),
]
DEFAULT_URL = "http://localhost:3000"


class NoAccountError(AuthError):
    """Nobody said who signs in."""

    code: ClassVar[str] = "no_account"
    audience = "admin"
    message: ClassVar[Bilingual] = Bilingual(
        en="It is not clear which administrator signs in.", fr="On ne sait pas quel administrateur se connecte."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Give --token, or --email and --password; for the ECHO of `make run` on this machine --url is enough.",
        fr="Donnez --token, ou --email et --password ; pour l'ECHO de `make run` sur cette machine, --url suffit.",
    )


def signed_in_admin(url: str, *, token: str = "", email: str = "", password: str = "") -> OwuiApi:
    """A client that is signed in as an administrator; without an account as `sign_in_own`.

    Raises:
        NoAccountError: neither a token nor e-mail and password, and the server is none that we started.
        OwuiUnreachableError: nobody answers.
        NotOpenWebuiError: something else answers.
        OwuiSignInError: the account is not accepted.
        NotAdminError: it is not an administrator.
    """
    given = bool(token or (email and password))
    if not given and not is_ours_alone(url):
        raise NoAccountError
    with ExitStack() as undo:
        api = undo.enter_context(OwuiApi(url, token or None))
        api.version()
        if not given and not sign_in_own(api):
            raise NoAccountError
        if given and not token:
            api.sign_in(email, password)
        api.require_admin()
        undo.pop_all()
    return api


def sign_in_own(api: OwuiApi) -> bool:
    """Sign in with the account that `echoctl up` made, where its stack is the server; False when that is not so.

    The server's process must be one of this machine and account: its environment names the data folder, where only we
    can read the account. So nobody else's server is ever told the password.
    """
    environ = (server_environment(api.url) if is_ours_alone(api.url) else None) or {}
    account = private_account(Path(environ["DATA_DIR"])) if environ.get("DATA_DIR") else None
    if account is None:
        return False
    try:
        api.sign_in(account.email, account.password)
    except OwuiSignInError:
        return False  # it was changed in Open WebUI since
    return True
