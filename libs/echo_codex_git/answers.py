"""What a tool tells the model: plain JSON values, errors included."""

from collections.abc import Awaitable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from echo_constants import EchoError, Locale, locale_of


def locale_from(metadata: Mapping[str, Any] | None) -> Locale:
    """The user's language, from Open WebUI's request metadata."""
    variables = (metadata or {}).get("variables")
    language = variables.get("{{USER_LANGUAGE}}") if isinstance(variables, Mapping) else None
    return locale_of(language if isinstance(language, str) else None)


async def answer(work: Awaitable[Any], metadata: Mapping[str, Any] | None) -> Any:
    """The outcome of a tool's work; an error of ours becomes an answer that says what to do.

    Args:
        work: what the tool does.
        metadata: Open WebUI's request metadata, for the language.

    Returns:
        JSON values: of a dataclass its fields, for an error `{"error": {"code", "message", "remedy"}}`.
    """
    try:
        return _plain(await work)
    except EchoError as error:
        locale = locale_from(metadata)
        message, remedy = (text.render(locale, **error.fields) for text in (error.message, error.remedy))
        return {"error": {"code": error.code, "message": message, "remedy": remedy}}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(item) for key, item in asdict(value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
