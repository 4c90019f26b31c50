"""JSON as bytes that never vary for one value."""

import json
import math
from collections.abc import Mapping
from typing import Any

from echo_utils.text import well_formed

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_COMPACT = json.JSONEncoder(sort_keys=False, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> bytes:
    """Serialise for hashing: sorted keys, no spaces, ASCII.

    Integers keep all their digits; RFC 8785 would turn 64-bit ids into floats. Source: docs/design.md section 4.

    Raises:
        ValueError: NaN or an infinity, which JSON cannot say.
        TypeError: a value that is not JSON.
    """
    return _CANONICAL.encode(value).encode("ascii")


def dumps(value: Any) -> bytes:
    r"""Serialise for the wire: compact UTF-8, key order kept.

    A lone surrogate (legal in JSON as an escape, impossible in UTF-8) is written as its `\udXXX` escape.

    Raises:
        ValueError: NaN or an infinity.
        TypeError: a value that is not JSON.
    """
    return _COMPACT.encode(value).encode("utf-8", "backslashreplace")


def plain_json(value: Any) -> Any:
    """A value that people wrote as JSON, with what JSON or its readers have no word for replaced.

    Lone surrogates become U+FFFD, numbers that are not finite become null, integers beyond 64 bits become floats, other
    objects their text.

    Raises:
        RecursionError: it is nested too deeply, or holds itself.
    """
    if isinstance(value, str):
        return well_formed(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else _finite(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, Mapping):
        return {plain_json(str(key)): plain_json(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(held) for held in value]
    return well_formed(str(value))


def _finite(number: float) -> float | None:
    try:
        real = float(number)
    except OverflowError:
        return None
    return real if math.isfinite(real) else None
