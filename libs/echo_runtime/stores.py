"""Which records a call works on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from echo_core.ports import Clock, ShadowStore
from echo_runtime import _owui
from echo_runtime.call import PipeCall
from echo_runtime.retention import API_KEPT_S
from echo_state_manager import SessionStore, SessionStores

_DAY_S: Final = 24 * 3600

#: Chats whose owner is remembered; about 1 MB. Source: our choice.
MAX_KNOWN_OWNERS: Final = 8192


class ChatStores:
    """Opens the store of a call's chat.

    Args:
        sessions: the session.db files.
        clock: for the age of API callers' records.
    """

    def __init__(self, sessions: SessionStores, clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._tidied: dict[str, int] = {}
        self._owners: dict[str, str] = {}

    @asynccontextmanager
    async def open(
        self, call: PipeCall, *, keep_api: bool, encrypted: bool | None = None
    ) -> AsyncIterator[ShadowStore | None]:
        """The records that a call works on: the chat's, kept under its owner, or the API caller's; None for channels.

        Args:
            call: names chat and user.
            keep_api: whether answers to API callers without a chat are kept for their next request.
            encrypted: whether what is written from now on is encrypted; None goes on as the file was written last.
        """
        if call.is_api and keep_api:
            async with self._sessions.open_api(call.user_id, encrypted=encrypted) as store:
                await self._forget_old(call.user_id, store)
                yield store
            return
        if not call.is_saved and not call.is_temporary:
            yield None
            return
        if call.is_temporary:
            await self._drop_left(call)
        owner = await self.owner(call) if call.is_saved else call.user_id
        async with self._sessions.open(owner, call.chat_id, encrypted=encrypted) as store:
            yield store

    async def owner(self, call: PipeCall) -> str:
        """Whose chat it is, asked once: in Open WebUI a chat never changes hands."""
        known = self._owners.get(call.chat_id)
        if known is None:
            known = await _owui.chat_owner(call.chat_id)
            if known is None:
                return call.user_id
            if len(self._owners) >= MAX_KNOWN_OWNERS:
                self._owners.clear()
            self._owners[call.chat_id] = known
        return known

    async def _drop_left(self, call: PipeCall) -> None:
        """Let go of temporary chats whose browser is gone; their ids end with the socket's."""
        others = [chat for chat in self._sessions.temporary_chats() if chat[1] != call.chat_id]
        sockets = {chat: chat[1].partition(":")[2] for chat in others}
        there = await _owui.connected(list(sockets.values())) if sockets else set()
        for (user_id, chat_id), socket_id in sockets.items():
            if socket_id not in there:
                await self._sessions.release_chat(user_id, chat_id)

    async def _forget_old(self, user_id: str, store: SessionStore) -> None:
        """Once a day and user; the age of what is kept has no finer meaning."""
        today = int(self._clock.now_s() // _DAY_S)
        if self._tidied.get(user_id) != today:
            self._tidied[user_id] = today
            await store.forget_before(self._clock.now_s() - API_KEPT_S)

    async def has_sealed(self, call: PipeCall, message_id: str) -> bool:
        """Whether a message of the call's chat has a record; makes no file where there is none."""
        if call.is_temporary:
            opening = self._sessions.open(call.user_id, call.chat_id)
        else:
            owner = await self.owner(call)
            if not await self._sessions.exists(owner, call.chat_id):
                return False
            opening = self._sessions.open(owner, call.chat_id)
        async with opening as store:
            return await store.get_message_shadow(message_id) is not None

    @asynccontextmanager
    async def open_imported(self, call: PipeCall) -> AsyncIterator[ShadowStore | None]:
        """What an administrator imported for the owner of the call's chat, None when there is nothing."""
        async with self._sessions.open_imported(await self.owner(call)) as store:
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
