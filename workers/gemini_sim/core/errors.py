"""Refusals with Google's own texts.

Tags used in this worker: *recorded* = seen in traffic of the real service; *documented* = in Google's documentation;
*SDK* = read in an official SDK; *third-party* = reported in issues of other projects, may be wrong in detail.
"""

from collections.abc import Sequence
from typing import Any, Final

from echo_constants import Bilingual, ProtocolError

#: Canonical google.rpc status names. Source: google.rpc.Code, documented.
STATUS_NAMES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GoogleRefusal(ProtocolError):
    """The request breaks a rule of the Gemini API; the wire text is Google's.

    Args:
        http_status: HTTP status and `error.code`.
        text: `error.message` as Google words it.
        details: google.rpc detail objects, each with its `@type`.
        name: `error.status`; None = the usual name of the HTTP status.
    """

    code = "sim_refusal"
    message = Bilingual(
        en="The Gemini simulator refused the request: {text}",
        fr="Le simulateur Gemini a refusé la requête : {text}",
    )
    remedy = Bilingual(
        en="Correct the request as the text says.",
        fr="Corrigez la requête comme le texte l'indique.",
    )

    def __init__(
        self, http_status: int, text: str, details: Sequence[dict[str, Any]] = (), name: str | None = None
    ) -> None:
        super().__init__(f"{http_status} {text}", text=text)
        self.http_status = http_status
        self.text = text
        self.details = tuple(details)
        self.name = name or STATUS_NAMES.get(http_status, "UNKNOWN")

    def body(self) -> dict[str, Any]:
        """The error envelope `{"error": {code, message, status, details?}}`."""
        error: dict[str, Any] = {"code": self.http_status, "message": self.text, "status": self.name}
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}


def invalid(text: str, *violations: tuple[str, str]) -> GoogleRefusal:
    """A 400 INVALID_ARGUMENT; `violations` are (field path, description) pairs for a BadRequest detail."""
    details = []
    if violations:
        rows = [
            {"field": field, "description": description} if field else {"description": description}
            for field, description in violations
        ]
        details.append({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": rows})
    return GoogleRefusal(400, text, details)


def missing_key() -> GoogleRefusal:
    """No identity at all. Source: text as third-party clients report it (403)."""
    return GoogleRefusal(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). "
        "Please use API Key or other form of API consumer identity to call this API.",
    )


def bad_key() -> GoogleRefusal:
    """A key that Google does not know. Source: third-party, with both details."""
    text = "API key not valid. Please pass a valid API key."
    return GoogleRefusal(
        400,
        text,
        [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": {"service": "generativelanguage.googleapis.com"},
            },
            {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": text},
        ],
    )


def unauthenticated() -> GoogleRefusal:
    """A missing or dead OAuth token. Source: third-party wording of a Google front end."""
    return GoogleRefusal(
        401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
        "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
    )


def model_not_found(model: str, version: str, method: str) -> GoogleRefusal:
    """An unknown model id, or a known one that has no such method. Source: recorded (404)."""
    return GoogleRefusal(
        404,
        f"models/{model} is not found for API version {version}, or is not supported for {method}. "
        "Call ListModels to see the list of available models and their supported methods.",
    )


def model_retired(model: str) -> GoogleRefusal:
    """A model that is closed to new users. Source: third-party (404)."""
    return GoogleRefusal(
        404,
        f"This model models/{model} is no longer available to new users. "
        "Please update your code to use a newer model for the latest features and improvements.",
    )
