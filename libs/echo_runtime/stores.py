"""Which records a call works on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from echo_core.ports import ShadowStore
from echo_runtime import _owui
from echo_runtime.call import PipeCall
from echo_state_manager import SessionStores


class ChatStores:
    """Opens the store of a call's chat.

    Args:
        sessions: the session.db files.
    """

    def __init__(self, sessions: SessionStores) -> None:
        self._sessions = sessions

    @asynccontextmanager
    async def open(self, call: PipeCall) -> AsyncIterator[ShadowStore | None]:
        """The chat's records, kept under the chat's owner; None for callers without a saved chat."""
        if not call.is_saved:
            yield None
            return
        owner = await _owui.chat_owner(call.chat_id)
        async with self._sessions.open(owner or call.user_id, call.chat_id) as store:
            yield store
