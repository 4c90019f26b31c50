"""Open WebUI's tool permissions: in the mode "ask", its own dialog decides about each call."""

import asyncio
from typing import Final

from echo_core.ports import ToolRequest
from echo_runtime import _owui
from echo_runtime.call import PipeCall

#: The longest that Open WebUI waits for an answer. Source: open_webui/socket/main.py, get_event_call, 0.12.4.
_WAIT_MS: Final = 240_000

DENIED: Final = (
    "The user did not allow this call. Do not repeat it unless the user asks for it; go on without it or ask the user."
)
NOBODY: Final = "This call needs the user's permission, and nobody answered in the browser. Go on without it."


class ToolApproval:
    """Asks about the calls of one answer, one dialog after the other in call order.

    "Always" is the chat bar's own switch to full access: it is looked up again before each dialog, so that it counts
    at once.
    """

    def __init__(self, call: PipeCall) -> None:
        self._call = call
        self._asks = (call.metadata.get("params") or {}).get("tool_approval_mode") == "ask"
        self._turn = asyncio.Lock()

    async def objection(self, request: ToolRequest) -> str | None:
        """Why the call may not run, in words for the model; None when it may."""
        if not self._asks:
            return None
        async with self._turn:
            if not self._asks or await self._asks_no_more():
                return None
            if self._call.event_call is None or not self._call.speaks_responses:
                return NOBODY
            tool_call = {"id": request.card_id, "name": request.name, "arguments": dict(request.args)}
            answer = await self._call.event_call(
                {"type": "confirmation", "data": {"tool_call": tool_call, "timeout_ms": _WAIT_MS}}
            )
        if answer is True:
            return None
        return DENIED if answer is False else NOBODY  # a lost or idle browser answers with an error object

    async def _asks_no_more(self) -> bool:
        if self._call.is_saved and await _owui.approval_mode(self._call.chat_id) == "full":
            self._asks = False
        return not self._asks
