"""embedContent and batchEmbedContents."""

from typing import Any, Final

from echo_workers.gemini_sim.core.embedding import DIMENSIONS_MAX, DIMENSIONS_MIN, embed
from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.turns import check_parts
from echo_workers.gemini_sim.core.wire import read_message

#: Source: third-party report of the refusal.
_BATCH_MAX: Final = 100


def _vector(request: dict[str, Any], model: ServerModel, message: str) -> dict[str, Any]:
    check_parts(request.get("content", {}), f"{message}.content")
    named = request.get("model", "").removeprefix("models/")
    if named and named != model.id:
        raise invalid(f"Model in the request ({named}) does not match the model of the call ({model.id}).")
    dimensions = request.get("outputDimensionality", DIMENSIONS_MAX)
    if not DIMENSIONS_MIN <= dimensions <= DIMENSIONS_MAX:
        raise invalid(f"output_dimensionality must be in the range [{DIMENSIONS_MIN}, {DIMENSIONS_MAX}].")
    texts = [str(part.get("text", part.get("inlineData", {}).get("data", ""))) for part in request["content"]["parts"]]
    return {"values": embed("\n".join(texts), dimensions)}


def embed_one(raw: dict[str, Any], model: ServerModel) -> dict[str, Any]:
    """`{"embedding": {"values": [...]}}`. Source: documented shape.

    Raises:
        GoogleRefusal: 400.
    """
    request = read_message("EmbedContentRequest", raw)
    return {"embedding": _vector(request, model, "EmbedContentRequest")}


def embed_batch(raw: dict[str, Any], model: ServerModel) -> dict[str, Any]:
    """`{"embeddings": [{"values": [...]}]}`. Source: recorded shape.

    Raises:
        GoogleRefusal: 400, also for more than 100 requests.
    """
    requests = read_message("BatchEmbedContentsRequest", raw).get("requests", [])
    if len(requests) > _BATCH_MAX:
        raise invalid(f"* BatchEmbedContentsRequest.requests: at most {_BATCH_MAX} requests can be in one batch\n")
    rows = [_vector(row, model, f"BatchEmbedContentsRequest.requests[{at}]") for at, row in enumerate(requests)]
    return {"embeddings": rows}
