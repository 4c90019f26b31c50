"""The error tree. Concrete classes sit beside the code that raises them; these are the branches.

EchoError                what broke, for whom, and what to do
├── ConfigError          an administrator must set something
├── AuthError            the user must sign in or give a key
├── LimitError           a quota, size or budget is used up
├── UpstreamError        Gemini or the network failed; trying again may help
├── ModelFeedbackError   goes to the model as a tool result, never to the user
├── ProtocolError        somebody broke a wire rule
└── StateError           our own records are damaged or foreign
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from echo_constants.text import Bilingual, Locale

Audience = Literal["user", "admin", "model", "developer"]

#: Whether a weaker model is tried: never, once waiting has not helped, or without waiting.
Cascade = Literal["never", "after_waiting", "at_once"]


class EchoError(Exception):
    """Root of all errors that ECHO raises on purpose.

    Args:
        detail: for the log; may hold wire text, never a key, a prompt or a token.
        retry_after_s: seconds after which a new try makes sense; None = not known.
        fields: values for the `{name}` fields of the message and remedy.
    """

    code: ClassVar[str] = "internal"
    audience: ClassVar[Audience] = "developer"
    retryable: ClassVar[bool] = False
    #: The answer was cut on its way; asking for it again does no harm.
    breaks_off: ClassVar[bool] = False
    #: Whether another model may answer in turns that are not pinned to one.
    cascade: ClassVar[Cascade] = "never"
    #: What a caller of the API without a stream gets.
    api_status: ClassVar[int] = 500
    message: ClassVar[Bilingual] = Bilingual(
        en="Something broke in ECHO.",
        fr="Quelque chose s'est cassé dans ECHO.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Try again. If it happens again, give your administrator the reference.",
        fr="Réessayez. Si cela se reproduit, donnez la référence à votre administrateur.",
    )

    def __init__(self, detail: str = "", *, retry_after_s: float | None = None, **fields: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.fields = fields

    def user_message(self, locale: Locale) -> str:
        """What happened and what to do, in the reader's language."""
        return f"{self.message.render(locale, **self.fields)} {self.remedy.render(locale, **self.fields)}"

    def __str__(self) -> str:
        return f"[{self.code}] {self.detail}" if self.detail else f"[{self.code}]"


class ConfigError(EchoError):
    """Something that an administrator sets is missing or wrong."""

    code = "config"
    audience: ClassVar[Audience] = "admin"
    message = Bilingual(en="ECHO is not set up completely.", fr="ECHO n'est pas complètement configuré.")
    remedy = Bilingual(
        en="Ask your administrator to run `echoctl doctor`.",
        fr="Demandez à votre administrateur de lancer `echoctl doctor`.",
    )


class AuthError(EchoError):
    """Gemini does not accept who we are."""

    code = "auth"
    audience: ClassVar[Audience] = "user"
    api_status: ClassVar[int] = 403  # 401 would read as "sign in to Open WebUI again"
    message = Bilingual(en="Gemini did not accept the sign-in.", fr="Gemini n'a pas accepté l'identification.")
    remedy = Bilingual(
        en="Check the API key on ECHO's key page, /echo/hud/keys.",
        fr="Vérifiez la clé API sur la page des clés d'ECHO, /echo/hud/keys.",
    )


class LimitError(EchoError):
    """A quota, a size or a budget is used up."""

    code = "limit"
    audience: ClassVar[Audience] = "user"
    api_status: ClassVar[int] = 429
    message = Bilingual(en="A limit is reached.", fr="Une limite est atteinte.")
    remedy = Bilingual(en="Wait a while, then try again.", fr="Attendez un peu, puis réessayez.")


class UpstreamError(EchoError):
    """Gemini or the way to it failed."""

    code = "upstream"
    audience: ClassVar[Audience] = "user"
    retryable = True
    api_status: ClassVar[int] = 503
    message = Bilingual(en="Gemini is not answering right now.", fr="Gemini ne répond pas pour le moment.")
    remedy = Bilingual(en="Try again in a moment.", fr="Réessayez dans un instant.")


class ModelFeedbackError(EchoError):
    """A failure that the model can act on; it becomes a tool result."""

    code = "model_feedback"
    audience: ClassVar[Audience] = "model"


class ProtocolError(EchoError):
    """A message does not follow the wire rules."""

    code = "protocol"


class StateError(EchoError):
    """A record of ours is damaged, foreign or from a newer version."""

    code = "state"


def error_classes(root: type[EchoError] = EchoError) -> Iterator[type[EchoError]]:
    """Every class of the tree that has been imported, root first."""
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)
