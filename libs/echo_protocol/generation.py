"""Open WebUI's sampling, format and thinking parameters as a Gemini `generationConfig`, per model family."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from echo_constants import Bilingual
from echo_protocol.models import ModelInfo, Thinking
from echo_protocol.notices import Notice
from echo_protocol.schema_read import SchemaTooLarge, read_schema
from echo_protocol.schema_write import json_dialect

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
#: Least and most of what the server takes. Source: `maxTemperature` and `topK` of the live model list; Gemini API
#: reference, GenerationConfig; topK 0 is accepted and -1 refused (mnfst/modelparams.dev pull request 16, 2026-05-21).
_SAMPLING: Final = (
    ("temperature", "temperature", 0.0, 2.0),
    ("top_p", "topP", 0.0, 1.0),
    ("top_k", "topK", 0, 64),
)
_RESOLUTIONS: Final = ("LOW", "MEDIUM", "HIGH")
#: Source: Gemini API docs, Image generation.
_IMAGE_SIZES: Final = ("1K", "2K", "4K")
_ASPECT_RATIOS: Final = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
#: Parameters whose value is a number, an effort or a word; anything else is told.
_NUMBERS: Final = ("temperature", "top_p", "top_k", "seed", "max_tokens", "max_completion_tokens", "thinking_budget")

_UNREADABLE: Final = Bilingual(
    en="The parameter {name} is ignored: {value} is not a value it can have.",
    fr="Le paramètre {name} est ignoré : {value} n'est pas une valeur possible.",
)
_STOPS_LEFT_OUT: Final = Bilingual(
    en="Gemini takes {most} stop sequences; the others are ignored.",
    fr="Gemini accepte {most} séquences d'arrêt ; les autres sont ignorées.",
)
_SCHEMA_TOO_LARGE: Final = Bilingual(
    en="The answer's JSON schema is too large for Gemini; the answer is JSON without a schema.",
    fr="Le schéma JSON de la réponse est trop volumineux pour Gemini ; la réponse est en JSON sans schéma.",
)
_NO_JSON_HERE: Final = Bilingual(
    en="{model} cannot answer in JSON format here (tools or images are in use); the format is ignored.",
    fr="{model} ne peut pas répondre au format JSON ici (outils ou images utilisés) ; le format est ignoré.",
)


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """A `generationConfig` and what could not be taken as asked."""

    config: dict[str, Any]
    notices: tuple[Notice, ...] = ()


def build_ca_generation_config(
    model: ModelInfo, params: Mapping[str, Any], *, include_thoughts: bool = True
) -> dict[str, Any]:
    """The `generationConfig` of `generation_settings`, for callers that tell nobody."""
    return generation_settings(model, params, include_thoughts=include_thoughts).config


def generation_settings(
    model: ModelInfo, params: Mapping[str, Any], *, include_thoughts: bool = True, with_tools: bool = False
) -> GenerationSettings:
    """Translate the parameters of a request. Keys come in one order; what the server would refuse never gets in.

    Numbers out of range are moved to its end. Penalties are left out: the server refuses them for every model from 2.5
    on ("Penalty is not enabled", mnfst/modelparams.dev pull request 16; BerriAI/litellm pull request 16907).

    Args:
        model: decides which settings exist; those that it refuses or ignores are left out.
        params: the flattened body of Open WebUI or of an OpenAI-style caller: temperature, top_p, top_k, seed, stop,
            max_tokens or max_completion_tokens, response_format, reasoning_effort, thinking_budget (tokens, -1 = the
            model decides) or thinking_level, media_resolution (low, medium, high), and for models that make images
            aspect_ratio (`16:9`) and image_size (`1K`, `2K`, `4K`).
        include_thoughts: ask for thought summaries.
        with_tools: the request declares functions; older models then take no JSON format.
    """
    notices: list[Notice] = [
        Notice(_UNREADABLE, {"name": name, "value": _short(params[name])})
        for name in _NUMBERS
        if params.get(name) not in (None, "") and _number(params[name]) is None
    ]
    config = _sampling(model, params)
    limit = _number(params.get("max_completion_tokens")) or _number(params.get("max_tokens"))
    if limit is not None and limit >= 1:
        config["maxOutputTokens"] = int(min(limit, model.output_tokens))
    stops = _stops(params.get("stop"))
    if stops:
        config["stopSequences"] = stops[:_MAX_STOP_SEQUENCES]
    if len(stops) > _MAX_STOP_SEQUENCES:
        notices.append(Notice(_STOPS_LEFT_OUT, {"most": _MAX_STOP_SEQUENCES}))
    config |= _response_format(model, params.get("response_format"), with_tools, notices)
    resolution = _word(params, "media_resolution", "MEDIA_RESOLUTION_", _RESOLUTIONS, notices)
    if resolution and "pdf" in model.capabilities.input_media:  # models that read pictures only have no such setting
        config["mediaResolution"] = f"MEDIA_RESOLUTION_{resolution}"
    config |= _image_output(model, params, notices)
    thinking = _thinking(model.thinking, params, notices, include_thoughts=include_thoughts)
    if thinking:
        config["thinkingConfig"] = thinking
    return GenerationSettings(config, tuple(notices))


def _sampling(model: ModelInfo, params: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for name, key, least, most in _SAMPLING if model.capabilities.sampling_params else ():
        number = _number(params.get(name))
        if number is not None:
            config[key] = type(least)(min(max(number, least), most))
    seed = _number(params.get("seed"))
    if seed is not None:
        config["seed"] = _int32(int(seed))
    return config


def _thinking(
    thinking: Thinking, params: Mapping[str, Any], notices: list[Notice], *, include_thoughts: bool
) -> dict[str, Any]:
    """Level or budget, never both: the server refuses both together. Source: Gemini API docs, Thinking."""
    if thinking.control == "none":
        return {}
    config: dict[str, Any] = {"includeThoughts": include_thoughts}
    budget = _number(params.get("thinking_budget"))
    effort = _effort(params, notices)
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


def _effort(params: Mapping[str, Any], notices: list[Notice]) -> str:
    """The effort that was asked for, "" when none was; `thinking_level` wins over `reasoning_effort`."""
    for name in ("thinking_level", "reasoning_effort"):
        given = params.get(name)
        effort = str(given or "").strip().lower()
        if effort in _EFFORTS:
            return effort
        if effort:
            notices.append(Notice(_UNREADABLE, {"name": name, "value": _short(given)}))
    return ""


def _clamped(budget_tokens: int, thinking: Thinking) -> int:
    if budget_tokens < 0:
        return -1
    if budget_tokens == 0 and thinking.can_disable:
        return 0
    return min(max(budget_tokens, thinking.min_budget_tokens), thinking.max_budget_tokens)


def _response_format(model: ModelInfo, value: Any, with_tools: bool, notices: list[Notice]) -> dict[str, Any]:
    """OpenAI `response_format` → JSON mode, with the schema when there is one.

    Models before Gemini 3 refuse it together with functions ("Function calling with a response mime type:
    'application/json' is unsupported", googleapis/python-genai issue 867), models that make images refuse it at all.
    """
    if value in (None, ""):
        return {}
    kind = value.get("type") if isinstance(value, Mapping) else value
    if kind == "text":
        return {}
    if kind not in ("json_object", "json_schema") or not isinstance(value, Mapping):
        notices.append(Notice(_UNREADABLE, {"name": "response_format", "value": _short(value)}))
        return {}
    if model.capabilities.image_output or (with_tools and not model.capabilities.json_with_tools):
        notices.append(Notice(_NO_JSON_HERE, {"model": model.name}))
        return {}
    config: dict[str, Any] = {"responseMimeType": "application/json"}
    holder = value.get("json_schema")
    schema = holder.get("schema") if isinstance(holder, Mapping) else None
    if isinstance(schema, Mapping):
        try:
            config["responseJsonSchema"] = json_dialect(read_schema(schema))
        except SchemaTooLarge:
            notices.append(Notice(_SCHEMA_TOO_LARGE))
    return config


def _image_output(model: ModelInfo, params: Mapping[str, Any], notices: list[Notice]) -> dict[str, Any]:
    if not model.capabilities.image_output:
        return {}
    shape: dict[str, Any] = {}
    ratio = _word(params, "aspect_ratio", "", _ASPECT_RATIOS, notices)
    if ratio:
        shape["aspectRatio"] = ratio
    size = _word(params, "image_size", "", _IMAGE_SIZES, notices)
    if size:
        shape["imageSize"] = size
    return {"responseModalities": ["TEXT", "IMAGE"], **({"imageConfig": shape} if shape else {})}


def _word(
    params: Mapping[str, Any], name: str, prefix: str, known: tuple[str, ...], notices: list[Notice]
) -> str | None:
    given = params.get(name)
    word = re.sub(r"\s", "", str(given or "")).upper().removeprefix(prefix)
    if not word:
        return None
    if word not in known:
        notices.append(Notice(_UNREADABLE, {"name": name, "value": _short(given)}))
        return None
    return word


def _stops(value: Any) -> list[str]:
    items = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return list(dict.fromkeys(item for item in items if isinstance(item, str) and item))


def _int32(number: int) -> int:
    """Folded into the range that the API takes, so that an equal seed stays an equal seed."""
    return (number + 2**31) % 2**32 - 2**31


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if number == number and abs(number) != float("inf") else None


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
