"""Timestamps and durations as proto3 JSON spells them."""

import re
from datetime import UTC, datetime
from typing import Final

from echo_workers.gemini_sim.core.errors import invalid

_DURATION: Final = re.compile(r"(\d+(?:\.\d{1,9})?)s")


def timestamp(epoch_s: float) -> str:
    """`2026-11-30T12:00:00.123456Z`. Source: files and caches, recorded."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def epoch_s(text: str) -> float:
    """Epoch seconds of a timestamp with offset.

    Raises:
        GoogleRefusal: 400, no timestamp.
    """
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise invalid(f"Illegal timestamp format: {text}") from error
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def seconds(text: str) -> float:
    """Seconds of a duration such as `3600s`.

    Raises:
        GoogleRefusal: 400, no duration.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise invalid(f"Illegal duration format: {text}")
    return float(found[1])
