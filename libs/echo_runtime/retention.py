"""How long records stay that belong to no chat: API callers' sessions, and what an administrator imported."""

import logging
from typing import Final

from anyio import to_thread

from echo_core.ports import Clock
from echo_paths import EchoPaths, TemporaryChatError, UnsafeIdError
from echo_paths.layout import API_CHAT_FOLDER, IMPORTED_FOLDER
from echo_state_manager import SessionStores, StoreError

logger = logging.getLogger(__name__)

_DAY_S: Final = 24 * 3600

#: How long the answers to API callers without a chat are kept. Source: docs/design.md section 5.
API_KEPT_S: Final = 7 * _DAY_S

#: How long imported records wait for a chat to be asked in, from which on that chat keeps them. Source: our choice.
IMPORTED_KEPT_S: Final = 30 * _DAY_S

_KEPT_S: Final = {API_CHAT_FOLDER: API_KEPT_S, IMPORTED_FOLDER: IMPORTED_KEPT_S}


class Retention:
    """Removes what nobody asks for any more; also a `PurgePort`: a deleted chat takes what was imported for it along.

    Args:
        sessions: the records of chats.
        paths: where they lie.
        clock: for their age.
    """

    def __init__(self, sessions: SessionStores, paths: EchoPaths, clock: Clock) -> None:
        self._sessions = sessions
        self._paths = paths
        self._clock = clock
        self._day = -1

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

    async def tidy(self) -> None:
        """Once a day: remove what is too old, also of users who never come back. One file's trouble is logged only."""
        day = int(self._clock.now_s() // _DAY_S)
        if day == self._day:
            return
        self._day = day
        for _, folder, path in await to_thread.run_sync(lambda: list(self._paths.session_files())):
            if folder not in _KEPT_S:
                continue
            try:
                async with self._sessions.open_file(path) as store:
                    await store.forget_before(self._clock.now_s() - _KEPT_S[folder])
            except StoreError as error:
                logger.warning("Old records in %s could not be removed: %s", folder, error)
