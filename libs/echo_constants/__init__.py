"""Names, limits and the error tree that every other part of ECHO shares."""

from echo_constants.errors import (
    AuthError,
    ConfigError,
    EchoError,
    LimitError,
    ModelFeedbackError,
    ProtocolError,
    StateError,
    UpstreamError,
    error_classes,
)
from echo_constants.ids import ChatId, MessageId, UserId
from echo_constants.limits import MEMORY_IMPORTANCE_WEIGHTS
from echo_constants.text import LOCALES, Bilingual, Locale, locale_of
from echo_constants.version import ECHO_VERSION

__all__ = [
    "ECHO_VERSION",
    "LOCALES",
    "MEMORY_IMPORTANCE_WEIGHTS",
    "AuthError",
    "Bilingual",
    "ChatId",
    "ConfigError",
    "EchoError",
    "LimitError",
    "Locale",
    "MessageId",
    "ModelFeedbackError",
    "ProtocolError",
    "StateError",
    "UpstreamError",
    "UserId",
    "error_classes",
    "locale_of",
]
