"""What the last filter imports: light, because Open WebUI loads it on its event loop."""

import logging
from collections.abc import Mapping, MutableMapping
from typing import Any

from echo_runtime.call import PipeCall
from echo_runtime.loading import orchestrator
from echo_runtime.model_record import ECHO_MODEL_ID

log = logging.getLogger(__name__)


def is_echo(model: Any) -> bool:
    """Whether a model of Open WebUI is ECHO or a workspace model built on it.

    Args:
        model: an entry of Open WebUI's model list, as filters get it.
    """
    if not isinstance(model, Mapping):
        return False
    info = model.get("info")
    base = info.get("base_model_id") if isinstance(info, Mapping) else None
    return ECHO_MODEL_ID in (model.get("id"), base)


async def take_version_lock(
    body: Mapping[str, Any], user: Mapping[str, Any], metadata: MutableMapping[str, Any]
) -> None:
    """Remember an answer and its question as the page shows them after all outlets; never raises.

    Without the lock the next turn compares texts with what ECHO itself sent, and everything still works unless
    another plugin rewrote them.

    Args:
        body: the outlet's: `messages` from the root to the answer, the answer's `id`.
        user: who asked.
        metadata: Open WebUI's request metadata.
    """
    call = PipeCall(body=body, user=user, metadata=metadata, valves=None, tools={})
    try:
        runtime = await orchestrator()
        await runtime.lock_displayed(call)
    except Exception:  # an outlet that raises would be passed over by Open WebUI without a word
        log.exception("no version lock for message %s of chat %s", call.message_id, call.chat_id)
