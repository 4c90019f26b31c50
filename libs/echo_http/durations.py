"""Durations as Google writes them: `0.5s` (protobuf) and `161h39m41.3s`, `539.4ms` (Go)."""

import math
import re
from typing import Final

_UNITS_S: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_NUMBER: Final = r"\d{1,18}(?:\.\d{1,18})?"
_UNIT: Final = "ms|us|µs|μs|ns|h|m|s"
_TOKEN: Final = re.compile(f"({_NUMBER})({_UNIT})")
#: A duration inside a sentence, as one group.
DURATION_PATTERN: Final = f"((?:{_NUMBER}(?:{_UNIT}))+)"
_LONGEST_S: Final = 10 * 365 * 86_400.0


def parse_duration_s(text: str) -> float | None:
    """Seconds of a duration, None when it is none (or longer than ten years)."""
    total_s = 0.0
    position = 0
    text = text.strip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        total_s += float(token[1]) * _UNITS_S[token[2]]
        position = token.end()
    return total_s if position and math.isfinite(total_s) and total_s <= _LONGEST_S else None
