"""Continuation tokens of Gemini 4: where an answer stopped, sealed so that only its own request can go on.

Source: Gemini 4 continuation, SDK (the token is bytes, so valid base64; the client resends the same request with it).
"""

import base64
import hashlib
import hmac
import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.wire import decode_base64

_MAC_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """What the next hop needs.

    Args:
        parts_done: parts of the answer that earlier hops sent.
        tokens_done: answer tokens of earlier hops.
        seed: seed of ids and signatures, hexadecimal.
        cached_tokens: cache share that the first hop told.
        digest: of the request without the token.
    """

    parts_done: int
    tokens_done: int
    seed: str
    cached_tokens: int
    digest: str


def request_digest(request: dict[str, Any]) -> str:
    """Digest of a request without its continuation token; empty fields do not count (the SDK adds some, verified)."""
    bare = {name: value for name, value in request.items() if name != "continuationToken" and value not in ({}, [])}
    return hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()[:32]


def seal(state: Continuation, secret: bytes) -> str:
    """The token, standard base64."""
    body = json.dumps(asdict(state)).encode()
    return base64.b64encode(body + hmac.digest(secret, body, "sha256")[:_MAC_BYTES]).decode()


def unseal(token: str, request: dict[str, Any], secret: bytes) -> Continuation:
    """Read a token back.

    Raises:
        GoogleRefusal: 400, not ours or of another request (our own wording; Google's is not recorded).
    """
    blob = decode_base64(token) or b""
    body, mac = blob[:-_MAC_BYTES], blob[-_MAC_BYTES:]
    if not hmac.compare_digest(hmac.digest(secret, body, "sha256")[:_MAC_BYTES], mac):
        raise invalid("Invalid continuation token.")
    state = Continuation(**json.loads(body))
    if state.digest != request_digest(request):
        raise invalid("The continuation token does not belong to this request.")
    return state
