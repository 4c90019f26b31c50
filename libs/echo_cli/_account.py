"""The options that say which Open WebUI is meant and who we are there."""

from contextlib import ExitStack
from typing import Annotated, ClassVar

import typer

from echo_cli._locale import say
from echo_cli._owui_api import OwuiApi
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
        en="Give --token, or --email and --password.", fr="Donnez --token, ou --email et --password."
    )


def signed_in_admin(url: str, *, token: str = "", email: str = "", password: str = "") -> OwuiApi:
    """A client that is signed in as an administrator.

    Raises:
        NoAccountError: neither a token nor e-mail and password.
        OwuiUnreachableError: nobody answers.
        NotOpenWebuiError: something else answers.
        OwuiSignInError: the account is not accepted.
        NotAdminError: it is not an administrator.
    """
    if not token and not (email and password):
        raise NoAccountError
    with ExitStack() as undo:
        api = undo.enter_context(OwuiApi(url, token or None))
        api.version()
        if not token:
            api.sign_in(email, password)
        api.require_admin()
        undo.pop_all()
    return api
