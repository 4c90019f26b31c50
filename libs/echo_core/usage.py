"""What a turn and a chat have used: tokens and money, per request, per turn and per chat."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Self

from echo_protocol import Price, Usage

#: Key in `echo_settings` under which a chat's `ContextStats` are kept.
CONTEXT_STATS_KEY: Final = "context_stats"
#: Decimals of a sum in US dollars; a cached token of the cheapest model costs 10⁻⁸.
_USD_DECIMALS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundUsage:
    """One request of a turn: a tool round, or one hop of a long answer.

    Args:
        model_id: the backend's id of the model that was asked.
        price: what its tokens cost, None when that is not known.
        agent: which sub-agent asked, "" for the turn itself.
        stored_token_hours: tokens times hours for which the server was asked to keep a beginning.
    """

    model_id: str
    usage: Usage
    price: Price | None = None
    agent: str = ""
    stored_token_hours: float = 0.0

    @property
    def input_usd(self) -> float | None:
        """Cost of what was sent, None when the price is not known."""
        if self.price is None:
            return None
        usage, price = self.usage, self.price
        cached_usd = price.input_usd if price.cached_usd is None else price.cached_usd
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0) + usage.tool_prompt_tokens
        stored_usd = self.stored_token_hours * (price.storage_usd or 0.0)
        return (fresh * price.input_usd + usage.cached_tokens * cached_usd + stored_usd) / 1e6

    @property
    def output_usd(self) -> float | None:
        """Cost of what came back, thoughts included, None when the price is not known."""
        if self.price is None:
            return None
        usage, price = self.usage, self.price
        images = min(usage.image_tokens, usage.output_tokens)
        image_usd = price.output_usd if price.image_output_usd is None else price.image_output_usd
        return ((usage.output_tokens - images) * price.output_usd + images * image_usd) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextStats:
    """What one chat holds and has used so far, all its answers on all its branches.

    Args:
        prompt_tokens: of the last request, as the server counted them.
        answer_tokens: of its answer, without thoughts; both together are what the next request starts with.
        turns: answers, stopped and failed ones included.
        total_prompt_tokens: of all requests, cached ones and what Google's own tools added included.
        total_cached_tokens: the part of these that came from the server's cache.
        total_output_tokens: answers and thoughts.
        total_thoughts_tokens: the part of these that were thoughts.
        total_usd: what is known of the cost.
        unpriced_turns: answers whose cost is not known and not in `total_usd`.
    """

    prompt_tokens: int = 0
    answer_tokens: int = 0
    turns: int = 0
    total_prompt_tokens: int = 0
    total_cached_tokens: int = 0
    total_output_tokens: int = 0
    total_thoughts_tokens: int = 0
    total_usd: float = 0.0
    unpriced_turns: int = 0

    @property
    def fill_tokens(self) -> int:
        """How full the chat is: what the next request brings along, without the new question."""
        return self.prompt_tokens + self.answer_tokens

    def after(self, rounds: Sequence[RoundUsage]) -> "ContextStats":
        """The stats after one more answer; the last request of its own that was counted tells the fill."""
        counted = [entry.usage for entry in rounds if entry.usage.total_tokens]
        if not counted:
            return self
        total = sum(counted, Usage())
        own = [entry.usage for entry in rounds if entry.usage.total_tokens and not entry.agent]
        usd = _turn_usd(rounds)
        return replace(
            self,
            prompt_tokens=own[-1].prompt_tokens if own else self.prompt_tokens,
            answer_tokens=own[-1].candidates_tokens if own else self.answer_tokens,
            turns=self.turns + 1,
            total_prompt_tokens=self.total_prompt_tokens + total.prompt_tokens + total.tool_prompt_tokens,
            total_cached_tokens=self.total_cached_tokens + total.cached_tokens,
            total_output_tokens=self.total_output_tokens + total.output_tokens,
            total_thoughts_tokens=self.total_thoughts_tokens + total.thoughts_tokens,
            total_usd=_rounded(self.total_usd + (usd or 0.0)),
            unpriced_turns=self.unpriced_turns + (usd is None),
        )

    def to_json(self) -> str:
        """As it is kept in `echo_settings`."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str | None) -> Self:
        """Read what `to_json` wrote; keys of other versions are left alone, None and damage are an empty start."""
        try:
            held = json.loads(text or "{}")
        except ValueError:
            held = {}
        if not isinstance(held, dict):
            held = {}
        numbers = {f.name: held[f.name] for f in fields(cls) if isinstance(held.get(f.name), int | float)}
        total_usd = float(numbers.pop("total_usd", 0.0))
        return cls(**{name: int(number) for name, number in numbers.items()}, total_usd=total_usd)


def usage_shown(rounds: Sequence[RoundUsage], chat: ContextStats | None = None) -> dict[str, Any]:
    """A turn's usage as Open WebUI's page and OpenAI clients read it; every value is a number or a text.

    Open WebUI adds up `*_tokens` and `*cost` over the parts of a continued answer, and shows everything as it is.
    Source: open_webui.utils.response.merge_usage, release 0.12.4.

    Args:
        rounds: the requests of the turn, in order.
        chat: the chat with this turn in it, None for callers without a chat.
    """
    total = sum((entry.usage for entry in rounds), Usage())
    shown = _tokens(total)
    usd = _turn_usd(rounds)
    if usd is not None:
        shown["cost"] = usd
        shown["input_cost"] = _rounded(sum(entry.input_usd or 0.0 for entry in rounds))
        shown["output_cost"] = _rounded(sum(entry.output_usd or 0.0 for entry in rounds))
        shown["currency"] = "USD"
    models = list(dict.fromkeys(entry.model_id for entry in rounds))
    shown["model"] = ", ".join(models)
    if len(rounds) > 1:
        shown["rounds"] = [_round(entry) for entry in rounds]
    if chat is not None:
        shown["chat"] = {
            "context_tokens": chat.fill_tokens,
            "turns": chat.turns,
            "input_tokens": chat.total_prompt_tokens,
            "cached_tokens": chat.total_cached_tokens,
            "output_tokens": chat.total_output_tokens,
            "cost": chat.total_usd,
        }
        if chat.unpriced_turns:
            shown["chat"]["turns_without_price"] = chat.unpriced_turns
    return shown


def _tokens(usage: Usage) -> dict[str, Any]:
    input_tokens = usage.prompt_tokens + usage.tool_prompt_tokens
    shown: dict[str, Any] = {
        "prompt_tokens": input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": input_tokens + usage.output_tokens,
        "input_tokens": input_tokens,
        "output_tokens": usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.thoughts_tokens},
    }
    if usage.tool_prompt_tokens:
        shown["prompt_tokens_details"]["tool_tokens"] = usage.tool_prompt_tokens
    if usage.image_tokens:
        shown["completion_tokens_details"]["image_tokens"] = usage.image_tokens
    return shown


def _round(entry: RoundUsage) -> dict[str, Any]:
    usage = entry.usage
    shown: dict[str, Any] = {
        "model": entry.model_id,
        "input_tokens": usage.prompt_tokens + usage.tool_prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "thoughts_tokens": usage.thoughts_tokens,
        "output_tokens": usage.output_tokens,
    }
    if entry.agent:
        shown["agent"] = entry.agent
    if entry.stored_token_hours:
        shown["stored_token_hours"] = round(entry.stored_token_hours, 1)
    usd = _usd(entry)
    return shown if usd is None else {**shown, "cost": _rounded(usd)}


def _usd(entry: RoundUsage) -> float | None:
    if entry.input_usd is None or entry.output_usd is None:
        return None
    return entry.input_usd + entry.output_usd


def _turn_usd(rounds: Sequence[RoundUsage]) -> float | None:
    """The cost of a turn, None when that of a request in it is not known."""
    costs = [_usd(entry) for entry in rounds if entry.usage.total_tokens or entry.stored_token_hours]
    known = [usd for usd in costs if usd is not None]
    return _rounded(sum(known)) if len(known) == len(costs) else None


def _rounded(usd: float) -> float:
    return round(usd, _USD_DECIMALS)
