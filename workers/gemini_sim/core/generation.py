"""Generation settings that a model refuses: thinking controls, ranges, response schemas."""

from typing import Any

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.tools import declared, json_schema_faults, schema_faults

_WHERE = "GenerateContentRequest.generation_config"
_RANGES = {
    "temperature": (0, 2),
    "topP": (0, 1),
    "topK": (0, 64),
    "maxOutputTokens": (1, 2**31 - 1),
    "candidateCount": (1, 8),
}


def check_generation(request: dict[str, Any], model: ServerModel) -> None:
    """Check `generationConfig` against the model.

    Raises:
        GoogleRefusal: 400. Source: thinking controls by family documented, their texts third-party; the texts about
            counts and ranges are our own wording.
    """
    config = request.get("generationConfig", {})
    _check_thinking(config.get("thinkingConfig", {}), model)
    _check_features(request, config, model)
    if "responseSchema" in config and "responseJsonSchema" in config:
        raise invalid(f"* {_WHERE}: only one of response_schema and response_json_schema may be set.\n")
    faults = schema_faults(config["responseSchema"], f"{_WHERE}.response_schema") if "responseSchema" in config else []
    if "responseJsonSchema" in config:
        faults = json_schema_faults(config["responseJsonSchema"], f"{_WHERE}.response_json_schema")
    ranges = {
        "temperature": (0, 2),
        "topP": (0, 1),
        "topK": (0, 64),
        "maxOutputTokens": (1, 2**31 - 1),
        "candidateCount": (1, 8),
    }
    for name, (low, high) in ranges.items():
        if name in config and not low <= config[name] <= high:
            faults.append(f"{_WHERE}.{name}: must be in the range [{low}, {high}].")
    if faults:
        raise invalid("".join(f"* {fault}\n" for fault in faults))
    if "continuationToken" in request and model.generation < 4:
        raise invalid("Continuation is not supported for this model.")


def _check_features(request: dict[str, Any], config: dict[str, Any], model: ServerModel) -> None:
    """What a family refuses as a whole. Source: texts third-party (mnfst/modelparams.dev PR 16, python-genai 867)."""
    if model.generation >= 2.5 and (config.get("presencePenalty") or config.get("frequencyPenalty")):
        raise invalid(f"Penalty is not enabled for models/{model.id}")
    json_mode = config.get("responseMimeType") == "application/json"
    if json_mode and model.generation < 3 and declared(request):
        raise invalid("Function calling with a response mime type: 'application/json' is unsupported")
    if json_mode and model.image:
        raise invalid("JSON mode is not enabled for this model")
    if "IMAGE" in config.get("responseModalities", []) and not model.image:
        raise invalid("Model does not support the requested response modalities: image,text")


def _check_thinking(thinking: dict[str, Any], model: ServerModel) -> None:
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    if budget is not None and level is not None:
        raise invalid("You can only set only one of thinking budget and thinking level.")
    if level is not None and (model.thinking != "level" or level not in model.levels):
        raise invalid("Thinking level is not supported for this model.")
    if budget is None:
        return
    if model.thinking == "none" or model.generation >= 4:
        raise invalid("Thinking budget is not supported for this model.")
    if model.thinking == "budget" and budget != -1:
        low, high = model.budget_min, model.budget_max
        if not (low <= budget <= high or (budget == 0 and model.budget_off)):
            raise invalid(f"The thinking budget ({budget}) is invalid. Please choose a value between {low} and {high}.")


def thinks(request: dict[str, Any], model: ServerModel) -> int:
    """Thought tokens that the demo model spends on a request; 0 = it does not think."""
    if model.thinking == "none":
        return 0
    thinking = request.get("generationConfig", {}).get("thinkingConfig", {})
    budget = thinking.get("thinkingBudget")
    if budget == 0 or (budget is None and model.thinking == "budget" and not model.default_thinks):
        return 0
    level = thinking.get("thinkingLevel", model.default_level)
    spent = {"MINIMAL": 16, "LOW": 64, "MEDIUM": 160, "HIGH": 320, "XHIGH": 640}.get(level, 320)
    return min(spent, budget) if budget is not None and budget > 0 else spent
