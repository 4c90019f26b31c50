"""The Version Lock, taken by ECHO's last outlet: what the page shows after every other plugin is not a user's edit."""

from collections.abc import Mapping, Sequence
from typing import Any

from echo_core.ports import Clock, ShadowStore
from echo_core.records import VersionLock
from echo_core.suture import unedited
from echo_protocol import fingerprint, visible_text
from echo_runtime import _owui
from echo_runtime.call import PipeCall
from echo_runtime.stores import ChatStores


class VersionLocker:
    """Locks the messages of a turn that has just ended.

    Args:
        stores: the records of chats.
        clock: stands in for the row's `updated_at`, which Open WebUI writes only afterwards.
    """

    def __init__(self, stores: ChatStores, clock: Clock) -> None:
        self._stores = stores
        self._clock = clock

    async def lock(self, call: PipeCall) -> None:
        """Lock the answer, and its question where another plugin rewrote that.

        Args:
            call: `body` is the outlet's, with `messages` root first; the answer is the last.
        """
        messages = [m for m in call.body.get("messages") or [] if isinstance(m, Mapping)]
        if not messages or messages[-1].get("id") != call.message_id:
            return
        async with self._stores.open(call, keep_api=False) as store:
            if store is None:
                return
            locks = {call.message_id: self._lock_of(messages[-1])}
            locks |= await self._question(call, store, messages)
            await store.lock_many(locks)

    async def _question(
        self, call: PipeCall, store: ShadowStore, messages: Sequence[Mapping[str, Any]]
    ) -> dict[str, VersionLock]:
        """A question is locked only if its row is still the sealed one: a user may have edited it meanwhile."""
        question = next((m for m in reversed(messages) if m.get("id") == call.user_message_id), None)
        if question is None or not call.is_saved:
            return {}
        shadow = await store.get_message_shadow(call.user_message_id)
        row = (await _owui.load_texts(call.chat_id, [call.user_message_id])).get(call.user_message_id)
        if shadow is None or row is None or not unedited(shadow, visible_text(row.content, row.output)):
            return {}
        return {call.user_message_id: self._lock_of(question)}

    def _lock_of(self, message: Mapping[str, Any]) -> VersionLock:
        shown = visible_text(message.get("content") or "", message.get("output") or [])
        return VersionLock(updated_at_s=int(self._clock.now_s()), fingerprint=fingerprint(shown), provisional=True)
