"""Counts the tokens of a request that a script answered, as if the server itself had read it."""

import logging
from typing import Any

from echo_workers.gemini_sim.core.code_assist import internal_model
from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.wire import parse_json
from echo_workers.gemini_sim.services.journal import Entry
from echo_workers.gemini_sim.services.prompt import Caller, Prompt, read_prompt
from echo_workers.gemini_sim.services.state import SimState

logger = logging.getLogger(__name__)


def account_scripted(state: SimState, entry: Entry, path: str, identity: str, body: bytes) -> None:
    """Fill in the tokens of a scripted generate request; a body that the server would refuse stays at 0.

    `identity` is the key or token that came with it.
    """
    try:
        prompt = _read(state, path, identity, parse_json(body))
    except GoogleRefusal as refusal:
        logger.debug("Scripted request not accounted: %s", refusal.text)
        return
    entry.prompt_tokens, entry.cached_tokens = prompt.prompt_tokens, prompt.cached_tokens


def _read(state: SimState, path: str, identity: str, raw: dict[str, Any]) -> Prompt:
    if path.startswith("/v1internal:"):
        caller = Caller(key=state.accounts.identity(identity, state.clock.now_s()) or "", backend="code_assist")
        model = internal_model(str(raw.get("model", "")))
        return read_prompt(raw.get("request") or {}, model, caller, state, message="InternalRequest", path="request")
    version, _, rest = path.lstrip("/").partition("/models/")
    model = find_model(rest.rpartition(":")[0], version, "generateContent", with_retired=True)
    return read_prompt(raw, model, Caller(key=identity), state)
