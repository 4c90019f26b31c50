"""From a request body to a checked prompt: fields, turns, signatures, files, caches, tokens and cache share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.generation import check_generation
from echo_workers.gemini_sim.core.media import check_media
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.signatures import Backend, carrier_of
from echo_workers.gemini_sim.core.tokens import Segment, json_segment, part_segment
from echo_workers.gemini_sim.core.tools import check_tools
from echo_workers.gemini_sim.core.turns import check_contents, check_parts, check_signatures, check_turns
from echo_workers.gemini_sim.core.wire import read_message
from echo_workers.gemini_sim.services.caches import CachedContent
from echo_workers.gemini_sim.services.files import id_of
from echo_workers.gemini_sim.services.state import SimState

_IN_CACHE: Final = ("systemInstruction", "tools", "toolConfig")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: a key or account, and through which backend."""

    key: str
    backend: Backend = "ai_studio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A request that passed every check.

    Args:
        request: GenerateContentRequest with camelCase names; contents, tools and system of a cache are merged in.
        sent: the request as it came, with camelCase names.
        segments: tools, system instruction and parts in the order the model reads them.
        cached_tokens: beginning of the prompt that was served from a cache.
        signatures: how many real signatures it carries (dummies not counted), and how many are valid.
    """

    model: ServerModel
    backend: Backend
    request: dict[str, Any]
    sent: dict[str, Any]
    segments: tuple[Segment, ...]
    prompt_tokens: int
    cached_tokens: int
    signatures: int
    signatures_valid: int


def pick(raw: dict[str, Any], camel: str, snake: str) -> Any:
    """A top-level field in either spelling."""
    return raw.get(camel, raw.get(snake))


def _file_bytes(part: dict[str, Any], caller: Caller, state: SimState) -> int:
    uri = part.get("fileData", {}).get("fileUri", "")
    if not uri or (state.settings.trust_foreign_files and id_of(uri) not in state.files.files):
        return 0
    stored = state.files.usable(caller.key, uri, state.clock.now_s())
    return stored.size_bytes if stored else 0


def segments_of(
    raw: dict[str, Any], request: dict[str, Any], model: ServerModel, caller: Caller, state: SimState
) -> list[Segment]:
    """The prompt as segments: tools, system instruction, then every part in order.

    Raises:
        GoogleRefusal: a part names a file that cannot be used.
    """
    signer = state.signer()
    out: list[Segment] = []
    if request.get("tools"):
        out.append(json_segment(raw.get("tools")))
    groups = [(request.get("systemInstruction"), pick(raw, "systemInstruction", "system_instruction"))]
    sent_contents = raw.get("contents", [])
    sent_contents = sent_contents if isinstance(sent_contents, list) else [sent_contents]
    groups += list(zip(request.get("contents", []), sent_contents, strict=False))
    for content, sent in groups:
        raw_parts = sent.get("parts", []) if isinstance(sent, dict) else []
        raw_parts = raw_parts if isinstance(raw_parts, list) else [raw_parts]
        for part, raw_part in zip((content or {}).get("parts", []), raw_parts, strict=False):
            signature = part.get("thoughtSignature", "")
            thoughts = signer.thought_tokens(signature) if signature else 0
            out.append(part_segment(part, model, thoughts, raw_part, _file_bytes(part, caller, state)))
    return out


def _count_signatures(
    contents: Sequence[dict[str, Any]], model: ServerModel, state: SimState, backend: Backend
) -> tuple[int, int]:
    signer, total, good = state.signer(), 0, 0
    for content in contents:
        for part in content["parts"]:
            signature = part.get("thoughtSignature")
            if signature and model.signature_scope:
                verdict = signer.judge(signature, carrier_of(part), scope=model.signature_scope, backend=backend)
                total += verdict != "dummy"
                good += verdict == "valid"
    return total, good


def check_request(request: dict[str, Any], model: ServerModel, caller: Caller, state: SimState) -> None:
    """Every rule that needs no tokens.

    Raises:
        GoogleRefusal: 400 with Google's text.
    """
    contents = request.get("contents", [])
    check_contents(contents)
    if request.get("systemInstruction"):
        check_parts(request["systemInstruction"], "GenerateContentRequest.system_instruction")
    check_media(contents)
    check_tools(request, model)
    check_generation(request, model)
    check_turns(contents, model)
    check_signatures(contents, model, state.signer(), caller.backend)


def _with_cache(sent: dict[str, Any], model: ServerModel, cache: CachedContent) -> dict[str, Any]:
    if any(name in sent for name in _IN_CACHE):
        raise invalid(
            "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
            "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        )
    if cache.model != model.id:
        raise invalid(
            f"Model used by GenerateContent request (models/{model.id}) and CachedContent (models/{cache.model}) has "
            "to be the same."
        )
    held: dict[str, Any] = {name: cache.request[name] for name in _IN_CACHE if name in cache.request}
    return {**sent, **held, "contents": [*cache.request.get("contents", []), *sent.get("contents", [])]}


def read_prompt(
    raw: dict[str, Any],
    model: ServerModel,
    caller: Caller,
    state: SimState,
    *,
    message: str = "GenerateContentRequest",
    path: str = "",
) -> Prompt:
    """Check a generateContent body and account its tokens; `message` and `path` name it in Google's texts.

    Raises:
        GoogleRefusal: a rule is broken; the text is Google's.
    """
    sent = read_message(message, raw, path)
    now_s = state.clock.now_s()
    cache = state.caches.get(caller.key, sent["cachedContent"], now_s) if sent.get("cachedContent") else None
    request = _with_cache(sent, model, cache) if cache else sent
    if not sent.get("contents"):
        check_contents([])
    check_request(request, model, caller, state)
    segments = [*(cache.segments if cache else ()), *segments_of(raw, sent, model, caller, state)]
    tokens = sum(segment.tokens for segment in segments)
    if tokens > model.input_tokens:
        raise invalid(f"The input token count exceeds the maximum number of tokens allowed ({model.input_tokens}).")
    cached = state.prompts.cached_tokens(caller.key, model.id, segments, model.cache_min_tokens, now_s)
    total, good = _count_signatures(request["contents"], model, state, caller.backend)
    return Prompt(
        model=model,
        backend=caller.backend,
        request=request,
        sent=sent,
        segments=tuple(segments),
        prompt_tokens=tokens,
        cached_tokens=max(cached, cache.tokens if cache else 0),
        signatures=total,
        signatures_valid=good,
    )
