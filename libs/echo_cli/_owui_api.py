"""A small client for Open WebUI's HTTP API, with errors that say what to do.

Source: routes as served by Open WebUI 0.12.4 (`open_webui/routers/{auths,functions,tools,models}.py`).
"""

import ipaddress
from typing import Any, ClassVar, Final, Self
from urllib.parse import urlsplit

import httpx

from echo_constants import AuthError, Bilingual, ConfigError, UpstreamError

#: Creating a function executes its source in Open WebUI; on a loaded machine that takes seconds.
REQUEST_TIMEOUT_S: Final = 60.0


class OwuiUnreachableError(UpstreamError):
    """Nobody answers at the address."""

    code: ClassVar[str] = "owui_unreachable"
    message: ClassVar[Bilingual] = Bilingual(
        en="Open WebUI does not answer at {url}.", fr="Open WebUI ne répond pas à l'adresse {url}."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Check that it is running and that the address is right.",
        fr="Vérifiez qu'il tourne et que l'adresse est juste.",
    )


class NotOpenWebuiError(ConfigError):
    """Something else answers at the address."""

    code: ClassVar[str] = "not_open_webui"
    message: ClassVar[Bilingual] = Bilingual(
        en="What answers at {url} is not Open WebUI.", fr="Ce qui répond à l'adresse {url} n'est pas Open WebUI."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Give the address that opens Open WebUI in a browser.",
        fr="Donnez l'adresse qui ouvre Open WebUI dans un navigateur.",
    )


class OwuiSignInError(AuthError):
    """Open WebUI does not know this account, password or token."""

    code: ClassVar[str] = "owui_sign_in"
    audience = "admin"
    message: ClassVar[Bilingual] = Bilingual(
        en="Open WebUI at {url} did not accept the sign-in.",
        fr="Open WebUI à l'adresse {url} n'a pas accepté la connexion.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Check the e-mail and password, or give a fresh token with --token.",
        fr="Vérifiez l'e-mail et le mot de passe, ou donnez un nouveau jeton avec --token.",
    )


class NotAdminError(AuthError):
    """The account may sign in, but does not administer."""

    code: ClassVar[str] = "owui_not_admin"
    audience = "admin"
    message: ClassVar[Bilingual] = Bilingual(
        en="{email} is not an administrator of this Open WebUI.",
        fr="{email} n'est pas administrateur de cet Open WebUI.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Sign in with an administrator's account.", fr="Connectez-vous avec un compte d'administrateur."
    )


class OwuiAnswerError(UpstreamError):
    """Open WebUI answered a request with an error."""

    code: ClassVar[str] = "owui_answer"
    audience = "admin"
    message: ClassVar[Bilingual] = Bilingual(
        en="Open WebUI answered {status} to {request}: {reason}",
        fr="Open WebUI a répondu {status} à {request} : {reason}",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Look into Open WebUI's log for the cause.", fr="Cherchez la cause dans le journal d'Open WebUI."
    )


def is_loopback(url: str) -> bool:
    """True when the address leads to this machine; a proxy must not be asked then."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class OwuiApi:
    """Requests to one Open WebUI, as one account.

    Args:
        url: where Open WebUI is, e.g. `http://localhost:3000`.
        token: a session token or API key; None until `sign_in`.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, timeout=timeout_s, trust_env=not is_loopback(self.url))
        self.token = token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def request(self, method: str, path: str, body: Any = None, **params: str) -> Any:
        """Send one request.

        Args:
            method: GET, POST or DELETE.
            path: below the address, e.g. `/api/version`.
            body: JSON value to send, None for no body.
            params: query parameters.

        Returns:
            The decoded JSON answer; None for an empty one.

        Raises:
            OwuiUnreachableError: no answer.
            OwuiSignInError: 401 with a token that Open WebUI does not accept.
            NotOpenWebuiError: the answer is not JSON.
            OwuiAnswerError: any other status of 400 or more.
        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            answer = self._http.request(method, path, json=body, params=params, headers=headers)
        except httpx.TransportError as error:
            raise OwuiUnreachableError(repr(error), url=self.url) from error
        if not answer.content and answer.is_success:
            return None
        try:
            value = answer.json()
        except ValueError as error:
            raise NotOpenWebuiError(f"{method} {path}: {answer.status_code}", url=self.url) from error
        if answer.is_success:
            return value
        reason = value.get("detail", value) if isinstance(value, dict) else value
        if answer.status_code in (401, 403) and _is_about_the_token(reason):
            raise OwuiSignInError(str(reason), url=self.url)
        asked, told = f"{method} {path}", str(reason)[:500]
        detail = f"{asked}: {answer.status_code} {told}"
        raise OwuiAnswerError(detail, status=answer.status_code, request=asked, reason=told)

    def get(self, path: str, **params: str) -> Any:
        """`request` with GET."""
        return self.request("GET", path, **params)

    def post(self, path: str, body: Any = None, **params: str) -> Any:
        """`request` with POST."""
        return self.request("POST", path, body if body is not None else {}, **params)

    def delete(self, path: str, **params: str) -> Any:
        """`request` with DELETE."""
        return self.request("DELETE", path, **params)

    def version(self) -> str:
        """Open WebUI's version, e.g. `0.12.4`.

        Raises:
            NotOpenWebuiError: something else answers.
        """
        try:
            answer = self.get("/api/version")
        except OwuiAnswerError as error:
            raise NotOpenWebuiError(str(error), url=self.url) from error
        if not isinstance(answer, dict) or not isinstance(answer.get("version"), str):
            raise NotOpenWebuiError(str(answer)[:200], url=self.url)
        return str(answer["version"])

    def sign_in(self, email: str, password: str) -> None:
        """Sign in by password and keep the token.

        Raises:
            OwuiSignInError: the account or the password is wrong, or password sign-in is switched off.
        """
        try:
            answer = self.post("/api/v1/auths/signin", {"email": email, "password": password})
        except OwuiAnswerError as error:
            raise OwuiSignInError(str(error.fields.get("reason", "")), url=self.url) from error
        self.token = str(answer["token"])

    def require_admin(self) -> dict[str, Any]:
        """The account behind the token.

        Raises:
            OwuiSignInError: the token is not accepted.
            NotAdminError: the account is not an administrator.
        """
        try:
            account: dict[str, Any] = self.get("/api/v1/auths/")
        except OwuiAnswerError as error:
            raise OwuiSignInError(str(error.fields.get("reason", "")), url=self.url) from error
        if account.get("role") != "admin":
            raise NotAdminError(url=self.url, email=account.get("email", "?"))
        return account


def _is_about_the_token(reason: object) -> bool:
    """Open WebUI answers 401 for missing things too; only these texts are about who asks.

    Source: `open_webui/constants.py` ERROR_MESSAGES (INVALID_TOKEN, UNAUTHORIZED) and `utils/auth.py`, 0.12.4.
    """
    text = str(reason).lower()
    return any(word in text for word in ("token", "not authenticated", "401 unauthorized"))
