"""Open WebUI's sampling and thinking parameters as a Gemini `generationConfig`, per model family."""

from collections.abc import Mapping
from typing import Any, Final

from echo_protocol.models import ModelInfo, Thinking

#: OpenAI effort → strength 0 (as little as possible) to 4; not every model can stop thinking.
_EFFORTS: Final = {"none": 0, "off": 0, "minimal": 0, "low": 1, "medium": 2, "high": 3, "xhigh": 4, "max": 4}
_LEVELS: Final = {"MINIMAL": 0, "LOW": 1, "MEDIUM": 2, "HIGH": 3, "XHIGH": 4}
#: Tokens of thinking for an effort; the strongest ask for the model's maximum. Source: Gemini API docs, OpenAI
#: compatibility.
_BUDGETS_TOKENS: Final = {"none": 0, "off": 0, "minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576}
#: The other way round: the most tokens that still count as strength 0, 1, 2 and 3.
_STRENGTH_TOKENS: Final = (0, 1_024, 8_192, 24_576)
#: Source: Gemini API reference, GenerationConfig.stopSequences ("up to 5").
_MAX_STOP_SEQUENCES: Final = 5
_SAMPLING: Final = (("temperature", "temperature", float), ("top_p", "topP", float), ("top_k", "topK", int))
_PENALTIES: Final = (
    ("presence_penalty", "presencePenalty", float),
    ("frequency_penalty", "frequencyPenalty", float),
    ("seed", "seed", lambda number: _int32(int(number))),
)


def build_ca_generation_config(
    model: ModelInfo, params: Mapping[str, Any], *, include_thoughts: bool = True
) -> dict[str, Any]:
    """Translate the parameters of a request. Keys come in one order; values that cannot be read are left out.

    Args:
        model: decides which settings exist; those that it refuses or ignores are left out.
        params: the flattened body of Open WebUI or of an OpenAI-style caller: temperature, top_p, top_k, seed, stop,
            max_tokens or max_completion_tokens, presence_penalty, frequency_penalty, response_format,
            reasoning_effort, thinking_budget (tokens, -1 = the model decides) or thinking_level.
        include_thoughts: ask for thought summaries.
    """
    config: dict[str, Any] = {}
    wanted = (*_SAMPLING, *_PENALTIES) if model.capabilities.sampling_params else _PENALTIES[2:]
    for name, key, kind in wanted:
        number = _number(params.get(name))
        if number is not None:
            config[key] = kind(number)
    limit = _number(params.get("max_completion_tokens")) or _number(params.get("max_tokens"))
    if limit is not None and limit > 0:
        config["maxOutputTokens"] = min(int(limit), model.output_tokens)
    if stops := _stops(params.get("stop")):
        config["stopSequences"] = stops
    config |= _response_format(params.get("response_format"))
    thinking = _thinking(model.thinking, params, include_thoughts=include_thoughts)
    if thinking:
        config["thinkingConfig"] = thinking
    return config


def _thinking(thinking: Thinking, params: Mapping[str, Any], *, include_thoughts: bool) -> dict[str, Any]:
    """Level or budget, never both: the server refuses both together. Source: Gemini API docs, Thinking."""
    if thinking.control == "none":
        return {}
    config: dict[str, Any] = {"includeThoughts": include_thoughts}
    budget = _number(params.get("thinking_budget"))
    level = str(params.get("thinking_level") or "").upper()
    effort = level.lower() if level in _LEVELS else str(params.get("reasoning_effort") or "").lower()
    if thinking.control == "level":
        strength = _EFFORTS.get(effort)
        if strength is None and budget is not None and budget >= 0:
            strength = next((s for s, tokens in enumerate(_STRENGTH_TOKENS) if budget <= tokens), 4)
        if strength is not None and thinking.values:
            config["thinkingLevel"] = min(thinking.values, key=lambda v: (abs(_LEVELS[v] - strength), _LEVELS[v]))
        return config
    if budget is None and effort in _EFFORTS:
        budget = _BUDGETS_TOKENS.get(effort, thinking.max_budget_tokens)
    if budget is not None:
        config["thinkingBudget"] = _clamped(int(budget), thinking)
    return config


def _clamped(budget_tokens: int, thinking: Thinking) -> int:
    if budget_tokens < 0:
        return -1
    if budget_tokens == 0 and thinking.can_disable:
        return 0
    return min(max(budget_tokens, thinking.min_budget_tokens), thinking.max_budget_tokens)


def _response_format(value: Any) -> dict[str, Any]:
    """OpenAI `response_format` → JSON mode, with the schema when there is one."""
    if not isinstance(value, Mapping) or value.get("type") not in ("json_object", "json_schema"):
        return {}
    config: dict[str, Any] = {"responseMimeType": "application/json"}
    holder = value.get("json_schema")
    schema = holder.get("schema") if isinstance(holder, Mapping) else None
    if isinstance(schema, Mapping):
        config["responseJsonSchema"] = dict(schema)
    return config


def _stops(value: Any) -> list[str]:
    items = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [item for item in items if isinstance(item, str) and item][:_MAX_STOP_SEQUENCES]


def _int32(number: int) -> int:
    """Folded into the range that the API takes, so that an equal seed stays an equal seed."""
    return (number + 2**31) % 2**32 - 2**31


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None
