"""Records that an administrator imported for a user: they go with the chat that shows them, and after a while."""

from typing import Final

from echo_paths import TemporaryChatError, UnsafeIdError
from echo_state_manager import SessionStores

#: How long imported records wait for a chat to be asked in, from which on that chat keeps them. Source: our choice.
IMPORTED_KEPT_S: Final = 30 * 24 * 3600


class ImportedRecords:
    """A `PurgePort`: a deleted chat takes what was imported for its messages along.

    Args:
        sessions: the records of chats.
    """

    def __init__(self, sessions: SessionStores) -> None:
        self._sessions = sessions

    async def purge(self, user_id: str, chat_id: str) -> None:
        """Remove what is imported of a chat's messages; must run before the chat's own records go."""
        try:
            async with self._sessions.open_imported(user_id) as imported:
                if imported is None or not await self._sessions.exists(user_id, chat_id):
                    return
                async with self._sessions.open(user_id, chat_id) as store:
                    await imported.forget_messages(await store.message_ids())
        except (TemporaryChatError, UnsafeIdError):
            return  # such ids have no records on disk
