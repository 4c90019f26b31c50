"""The composition root: the only place that names adapters.

Light on purpose: function files import it while Open WebUI loads them. The adapters behind it are imported at the
first call, off the event loop.
"""

from typing import Any

from echo_events import Happening
from echo_runtime.call import PipeCall
from echo_runtime.placeholders import _resolve_placeholders
from echo_runtime.tools_cache import _TOOLS_CACHE

__all__ = ["_TOOLS_CACHE", "PipeCall", "_resolve_placeholders", "push_event", "respond"]


async def respond(call: PipeCall) -> Any:
    """Answer one call of the pipe: a streaming response, a completion object, or a task's text."""
    from echo_runtime.incidents import refuse
    from echo_runtime.loading import orchestrator

    try:
        return await (await orchestrator()).respond(call)
    except Exception as error:  # told with a reference: Open WebUI would show the bare exception
        return refuse(error, call)


async def push_event(
    happening: Happening, *, event_id: str, user_id: str, chat_id: str = "", message_id: str = ""
) -> None:
    """Tell the model something with its next question, once on each chain. For any part of ECHO.

    Args:
        happening: one of the catalogue (`echo_events.HAPPENINGS`).
        event_id: names this one event: pushed twice it is told once.
        user_id: the owner of the chat; without a chat, the user all of whose chats are told.
        chat_id: the chat it belongs to.
        message_id: the message it belongs to: told only on chains that hold it.

    Raises:
        StateError: the records cannot be written.
    """
    from echo_runtime.loading import orchestrator

    pushes = (await orchestrator()).pushes
    await pushes.push(happening, event_id=event_id, user_id=user_id, chat_id=chat_id, message_id=message_id)
