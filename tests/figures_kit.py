"""What one answer took, as the HUD's tests see it."""

from typing import Any

from echo_core.figures import TurnFigures


def turn_figures(**changes: Any) -> TurnFigures:
    """A plausible answer by FLASH with a context of a million tokens, three quarters of it from the cache."""
    values: dict[str, Any] = {
        "message_id": "m1",
        "at_s": 1,
        "model_id": "gemini-3-flash",
        "level": "FLASH",
        "cause": "pinned",
        "window_tokens": 1_000_000,
        "input_tokens": 100_000,
        "cached_tokens": 75_000,
        "usd": 0.0123,
    }
    return TurnFigures(**{**values, **changes})
