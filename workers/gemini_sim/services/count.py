"""countTokens, with plain contents or a whole generateContent request."""

from typing import Any

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.tokens import details
from echo_workers.gemini_sim.core.turns import check_contents
from echo_workers.gemini_sim.core.wire import read_message
from echo_workers.gemini_sim.services.prompt import Caller, pick, segments_of
from echo_workers.gemini_sim.services.state import SimState


def count_tokens(raw: dict[str, Any], model: ServerModel, caller: Caller, state: SimState) -> dict[str, Any]:
    """`{"totalTokens", "promptTokensDetails"}`. Source: recorded shape.

    Raises:
        GoogleRefusal: 400, both forms at once or none.
    """
    request = read_message("CountTokensRequest", raw)
    if "generateContentRequest" in request and "contents" in request:
        raise invalid("Only one of contents and generate_content_request may be set.")
    inner, sent = request, raw
    if "generateContentRequest" in request:
        inner = request["generateContentRequest"]
        sent = pick(raw, "generateContentRequest", "generate_content_request")
    check_contents(inner.get("contents", []), "CountTokensRequest")
    segments = segments_of(sent, inner, model, caller, state)
    return {"totalTokens": sum(segment.tokens for segment in segments), "promptTokensDetails": details(segments)}
