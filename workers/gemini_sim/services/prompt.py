"""From a request body to a checked prompt: fields, turns, signatures, tokens and cache share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.generation import check_generation
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.signatures import Backend, carrier_of
from echo_workers.gemini_sim.core.tokens import Segment, json_segment, part_segment
from echo_workers.gemini_sim.core.tools import check_tools
from echo_workers.gemini_sim.core.turns import check_contents, check_parts, check_signatures, check_turns
from echo_workers.gemini_sim.core.wire import read_message
from echo_workers.gemini_sim.services.state import SimState


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A request that passed every check.

    Args:
        request: GenerateContentRequest with camelCase names.
        segments: tools, system instruction and parts in the order the model reads them.
        cached_tokens: beginning of the prompt that was served from a cache.
        signatures: how many real signatures it carries (dummies not counted), and how many are valid.
    """

    model: ServerModel
    backend: Backend
    request: dict[str, Any]
    segments: tuple[Segment, ...]
    prompt_tokens: int
    cached_tokens: int
    signatures: int
    signatures_valid: int


def pick(raw: dict[str, Any], camel: str, snake: str) -> Any:
    """A top-level field in either spelling."""
    return raw.get(camel, raw.get(snake))


def segments_of(raw: dict[str, Any], request: dict[str, Any], model: ServerModel, state: SimState) -> list[Segment]:
    """The prompt as segments: tools, system instruction, then every part in order."""
    signer = state.signer()
    out: list[Segment] = []
    if request.get("tools"):
        out.append(json_segment(pick(raw, "tools", "tools")))
    system_raw = pick(raw, "systemInstruction", "system_instruction")
    groups = [(request.get("systemInstruction"), system_raw)]
    groups += list(zip(request.get("contents", []), raw.get("contents", []), strict=False))
    for content, sent in groups:
        raw_parts = sent.get("parts", []) if isinstance(sent, dict) else []
        raw_parts = raw_parts if isinstance(raw_parts, list) else [raw_parts]
        for part, raw_part in zip((content or {}).get("parts", []), raw_parts, strict=False):
            signature = part.get("thoughtSignature", "")
            out.append(part_segment(part, model, signer.thought_tokens(signature) if signature else 0, raw_part))
    return out


def count_signatures(
    contents: Sequence[dict[str, Any]], model: ServerModel, state: SimState, backend: Backend
) -> tuple[int, int]:
    """How many real signatures the contents carry, and how many of them are valid on their part."""
    signer, total, good = state.signer(), 0, 0
    for content in contents:
        for part in content["parts"]:
            signature = part.get("thoughtSignature")
            if signature and model.signature_scope:
                verdict = signer.judge(signature, carrier_of(part), scope=model.signature_scope, backend=backend)
                total += verdict != "dummy"
                good += verdict == "valid"
    return total, good


def read_prompt(raw: dict[str, Any], model: ServerModel, backend: Backend, key: str, state: SimState) -> Prompt:
    """Check a generateContent body and account its tokens.

    Raises:
        GoogleRefusal: a rule is broken; the text is Google's.
    """
    request = read_message("GenerateContentRequest", raw)
    contents = request.get("contents", [])
    check_contents(contents)
    if request.get("systemInstruction"):
        check_parts(request["systemInstruction"], "GenerateContentRequest.system_instruction")
    check_tools(request, model)
    check_generation(request, model)
    check_turns(contents, model)
    check_signatures(contents, model, state.signer(), backend)
    segments = segments_of(raw, request, model, state)
    tokens = sum(segment.tokens for segment in segments)
    if tokens > model.input_tokens:
        raise invalid(f"The input token count exceeds the maximum number of tokens allowed ({model.input_tokens}).")
    cached = state.prompts.cached_tokens(key, model.id, segments, model.cache_min_tokens, state.clock.now_s())
    total, good = count_signatures(contents, model, state, backend)
    return Prompt(
        model=model,
        backend=backend,
        request=request,
        segments=tuple(segments),
        prompt_tokens=tokens,
        cached_tokens=cached,
        signatures=total,
        signatures_valid=good,
    )
