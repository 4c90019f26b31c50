"""Keeps keys and tokens out of text that somebody may read."""

import logging
import re
from collections.abc import Iterable
from typing import Final

from echo_utils.text import well_formed

MASK: Final = "***"
#: Shorter strings are masked by pattern only: replacing them would tear up ordinary text.
_SHORTEST_KNOWN: Final = 8

# Forms: Google API keys (two generations), OAuth access and refresh tokens, `Bearer` and `Basic` credentials,
# `key=` in a query, header lines, passwords in a URL.
_PATTERNS: Final = re.compile(
    r"""
      \bAIza[0-9A-Za-z_\-]{10,}
    | \bAQ\.[0-9A-Za-z_\-]{10,}
    | \bya29\.[0-9A-Za-z_\-.]{10,}
    | \b1//[0-9A-Za-z_\-]{10,}
    | \bGOCSPX-[0-9A-Za-z_\-]{10,}
    | (?<=\bBearer\ )[^\s"',;]{6,}
    | (?<=\bBasic\ )[0-9A-Za-z+/=]{6,}
    | (?<=[?&]key=)[^&\s"']+
    | (?<=://)[^/\s:@]*:[^/\s@]+(?=@)
    """,
    re.VERBOSE,
)
_HEADER: Final = re.compile(r"(?i)(x-goog-api-key|authorization|cookie)(['\"]?\s*[:=,]\s*b?['\"]?)([^\s'\",)]{4,})")


def mask_secrets(text: str, known: Iterable[str] = ()) -> str:
    """Replace everything that looks like a credential, and the `known` ones wherever they stand, by `***`."""
    for secret in known:
        if len(secret) >= _SHORTEST_KNOWN:
            text = text.replace(secret, MASK)
    return _HEADER.sub(rf"\1\2{MASK}", _PATTERNS.sub(MASK, text))


class SecretMaskingFilter(logging.Filter):
    """Masks credentials in a record's text and traceback; belongs on the handler, to see every logger's records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record where its text needs it; always lets it pass.

        A traceback becomes part of the text: an exception's message may quote a key, and a handler that prints the
        values of variables beside the traceback (loguru's does) would print more. A lone surrogate would make a
        handler that writes UTF-8 lose the whole line.
        """
        text = record.getMessage()
        masked = well_formed(mask_secrets(_with_traceback(record, text)))
        if masked != text:
            record.msg, record.args = masked, ()
            record.exc_info = record.exc_text = None
        return True


def _with_traceback(record: logging.LogRecord, text: str) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return text
    return f"{text}\n{logging.Formatter().formatException(record.exc_info)}"
