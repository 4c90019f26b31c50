"""Counts the tokens of a request that a script answered, as if the server itself had read it."""

import logging
from typing import Any

from starlette.datastructures import Headers, QueryParams
from starlette.types import Scope

from echo_workers.gemini_sim.core.code_assist import internal_model
from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.wire import parse_json
from echo_workers.gemini_sim.services.journal import Entry
from echo_workers.gemini_sim.services.prompt import Caller, Prompt, read_prompt
from echo_workers.gemini_sim.services.state import SimState

logger = logging.getLogger(__name__)


def account_scripted(state: SimState, entry: Entry, scope: Scope, body: bytes) -> None:
    """Fill in the tokens of a scripted generate request; a body that the server would refuse stays at 0."""
    try:
        prompt = _read(state, scope, parse_json(body))
    except GoogleRefusal as refusal:
        logger.debug("Scripted request not accounted: %s", refusal.text)
        return
    entry.prompt_tokens, entry.cached_tokens = prompt.prompt_tokens, prompt.cached_tokens


def _read(state: SimState, scope: Scope, raw: dict[str, Any]) -> Prompt:
    headers, query = Headers(scope=scope), QueryParams(scope["query_string"])
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    if scope["path"].startswith("/v1internal:"):
        caller = Caller(key=state.accounts.identity(bearer, state.clock.now_s()) or "", backend="code_assist")
        model = internal_model(str(raw.get("model", "")))
        inner = raw.get("request") or {}
        return read_prompt(inner, model, caller, state, message="InternalRequest", path="request")
    version, _, rest = scope["path"].lstrip("/").partition("/models/")
    model = find_model(rest.rpartition(":")[0], version, "generateContent", with_retired=True)
    key = headers.get("x-goog-api-key") or query.get("key") or bearer
    return read_prompt(raw, model, Caller(key=key), state)
