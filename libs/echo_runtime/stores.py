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
        """The chat's records, kept under the chat's owner; None for callers without a chat of their own."""
        if not call.is_saved and not call.is_temporary:
            yield None
            return
        owner = await _owui.chat_owner(call.chat_id) if call.is_saved else None
        async with self._sessions.open(owner or call.user_id, call.chat_id) as store:
            yield store

    @asynccontextmanager
    async def open_existing(self, call: PipeCall, chat_id: str) -> AsyncIterator[ShadowStore | None]:
        """The records of another chat of the same owner, None when there are none."""
        owner = await _owui.chat_owner(call.chat_id) or call.user_id
        if not await self._sessions.exists(owner, chat_id):
            yield None
            return
        async with self._sessions.open(owner, chat_id) as store:
            yield store
