"""JSON as bytes that never vary for one value."""

import json
from typing import Any

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
