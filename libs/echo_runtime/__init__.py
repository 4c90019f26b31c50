"""The composition root: the only place that names adapters.

Light on purpose: function files import it while Open WebUI loads them. The adapters behind it are imported at the
first call, off the event loop.
"""

from typing import Any

from echo_runtime.call import PipeCall
from echo_runtime.placeholders import _resolve_placeholders
from echo_runtime.tools_cache import _TOOLS_CACHE

__all__ = ["_TOOLS_CACHE", "PipeCall", "_resolve_placeholders", "respond"]


async def respond(call: PipeCall) -> Any:
    """Answer one call of the pipe: a streaming response, a completion object, or a task's text."""
    from echo_runtime.incidents import refuse
    from echo_runtime.loading import orchestrator

    try:
        return await (await orchestrator()).respond(call)
    except Exception as error:  # told with a reference: Open WebUI would show the bare exception
        return refuse(error, call)
