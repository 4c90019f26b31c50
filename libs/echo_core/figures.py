"""What one answer took, kept beside its record so that a person can see where the context and the money went."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, Self, get_args

from echo_core.usage import RoundUsage
from echo_protocol import Usage

#: Key in `echo_settings`, with the answer's id: its `TurnFigures`.
FIGURES_KEY: Final = "turn_figures:{message_id}"
#: What all keys of that form begin with.
FIGURES_PREFIX: Final = "turn_figures:"
#: Key in `echo_settings`: the `TurnFigures` of the answer that was sealed last.
LATEST_FIGURES_KEY: Final = "turn_figures_latest"

#: Why a model answered.
#:
#: pinned: somebody chose the level; auto_pro: AUTO_PRO starts at PRO; chat: what the chat is used to; fill: the context
#: is too full for less; model: the model asked for this level; cascade: a higher level failed; drawing: only this model
#: makes images.
Cause = Literal["pinned", "auto_pro", "chat", "fill", "model", "cascade", "drawing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFigures:
    """The figures of one answer, stopped and failed ones included.

    Args:
        at_s: when it was sealed, epoch seconds.
        model_id: the backend's id of the model that answered last.
        level: `LITE`, `FLASH` or `PRO`.
        detail: for a cascade the error's code, else "".
        window_tokens: what the chat may fill with this model.
        prompt_tokens: of the last request, as the server counted them.
        answer_tokens: of its answer, without thoughts.
        input_tokens: of all requests, cached ones and what Google's own tools added included.
        cached_tokens: the part of these that came from the server's cache.
        output_tokens: answers and thoughts.
        thoughts_tokens: the part of these that were thoughts.
        usd: None when the price of a request is not known.
        requests: how many requests the answer took.
    """

    message_id: str
    at_s: int
    model_id: str
    level: str
    cause: Cause
    detail: str = ""
    window_tokens: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    thoughts_tokens: int = 0
    usd: float | None = None
    requests: int = 0

    @property
    def fill_tokens(self) -> int:
        """What the next request brings along, without the new question."""
        return self.prompt_tokens + self.answer_tokens

    def to_json(self) -> str:
        """As it is kept in `echo_settings`."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str | None) -> Self | None:
        """Read what `to_json` wrote; None for nothing, damage, and what lacks a field that must be there."""
        try:
            held = json.loads(text or "null")
        except ValueError:
            return None
        if not isinstance(held, dict) or held.get("cause") not in get_args(Cause):
            return None
        known: dict[str, Any] = {f.name: held[f.name] for f in fields(cls) if f.name in held}
        words = all(isinstance(known.get(name, ""), str) for name in ("message_id", "model_id", "level", "detail"))
        counts = [known.get(name, 0) for name in known if name.endswith("_tokens") or name in ("at_s", "requests")]
        numbers = all(isinstance(count, int) for count in counts)
        priced = isinstance(known.get("usd"), int | float | None)
        complete = {"message_id", "at_s", "model_id", "level"} <= known.keys()
        return cls(**known) if words and numbers and priced and complete else None


def measured(rounds: Sequence[RoundUsage]) -> dict[str, Any]:
    """The fields of `TurnFigures` that requests tell, those of sub-agents included; empty when none was counted."""
    counted = [entry.usage for entry in rounds if entry.usage.total_tokens]
    if not counted:
        return {}
    total = sum(counted, Usage())
    own = [entry.usage for entry in rounds if entry.usage.total_tokens and not entry.agent]
    last = own[-1] if own else Usage()
    prices = [(entry.input_usd, entry.output_usd) for entry in rounds if entry.usage.total_tokens]
    known = [paid + got for paid, got in prices if paid is not None and got is not None]
    return {
        "prompt_tokens": last.prompt_tokens,
        "answer_tokens": last.candidates_tokens,
        "input_tokens": total.prompt_tokens + total.tool_prompt_tokens,
        "cached_tokens": total.cached_tokens,
        "output_tokens": total.output_tokens,
        "thoughts_tokens": total.thoughts_tokens,
        "usd": round(sum(known), 8) if len(known) == len(prices) else None,
        "requests": len(rounds),
    }
