"""What ECHO does when Open WebUI starts, when a valve changes, and when chats or users go away."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from echo_runtime.keys import GEMINI_KEY_NAME, STORED_VALVE, KeyMalformedError, clean_key
from echo_runtime.lifecycle_entry import STARTUP
from echo_runtime.purge import Purger
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore

logger = logging.getLogger(__name__)

#: Id of the pipe whose valve may carry the instance's key.
PIPE_ID: Final = "echo_orchestrator"

Event = Mapping[str, Any]


class LifecycleHost(Protocol):
    """The running Open WebUI, as far as the lifecycle needs it."""

    def install_routes(self, owner: str) -> None:
        """Put ECHO's routes first, in place of those put there before."""
        ...

    def routes_installed(self) -> bool:
        """Whether they are there."""
        ...

    def remove_routes(self) -> None:
        """Take them out."""
        ...

    async def exchange_key_valve(self, exchange: Callable[[str | None], Awaitable[str | None]]) -> None:
        """Give the pipe's stored key valve (None = not set) to `exchange` and store what it returns.

        None from `exchange` leaves the valve alone. Nothing of the former text stays in the database.
        """
        ...


class AnswerRecovery(Protocol):
    """Finishes what a crash left open."""

    async def run(self) -> int:
        """Finish all of it; how many answers there were."""
        ...


class Tidier(Protocol):
    """Removes what is too old."""

    async def tidy(self) -> None:
        """Do it if it is time."""
        ...


class Lifecycle:
    """Reacts to Open WebUI's events.

    Args:
        host: the running Open WebUI.
        identity: keeps the instance's key.
        purger: removes what is no longer wanted.
        recovery: finishes answers that a crash cut off.
        tidier: is asked at every event, so that a server that runs for months tidies, too.
    """

    def __init__(
        self,
        host: LifecycleHost,
        identity: IdentityStore,
        purger: Purger,
        recovery: AnswerRecovery,
        tidier: Tidier,
    ) -> None:
        self._host = host
        self._identity = identity
        self._purger = purger
        self._recovery = recovery
        self._tidier = tidier

    async def handle(self, name: str, event: Event, own_id: str) -> None:
        """One event of Open WebUI, by its name; `own_id` is the id of the event function.

        Source: Open WebUI 0.12.4, `GET /api/events` (names) and `open_webui/events.py` (shape).
        """
        subject = _text(event.get("subject"), "id")
        if name == "function.disable_started" and subject == own_id:
            self._host.remove_routes()
            return
        # Each worker only gets its own events: one that did not see the function enabled catches up at the next.
        if not self._host.routes_installed() or (name == "function.updated" and subject == own_id):
            self._host.install_routes(own_id)
        if name == STARTUP or (name == "function.enable_started" and subject == own_id):
            await self._start(own_id)
            if name == STARTUP:
                logger.info("%d cut-off answers recovered", await self._recovery.run())
        elif name in {"function.valves_updated", "function.enabled"} and subject == PIPE_ID:
            if _text(event.get("data"), "scope") != "user":
                await self.move_valve(emptied=name == "function.valves_updated")
        else:
            await self._purge(name, event, subject)
        await self._tidier.tidy()

    async def move_valve(self, *, emptied: bool) -> None:
        """Move a key typed into the pipe's valve to identity.db, and follow the valve when it is emptied.

        Args:
            emptied: the valve was saved just now, so a valve without a text means "take the key away". At other times
                only an explicit empty text does: a pipe that was installed anew has no stored valves at all.
        """

        async def exchange(text: str | None) -> str | None:
            typed = (text or "").strip()
            if typed == STORED_VALVE:
                return None
            if typed:
                return await self._take_key(typed)
            if text is None and not emptied:
                return STORED_VALVE if await self._has_instance_key() else None
            if await self._identity.delete_secret(INSTANCE_OWNER, GEMINI_KEY_NAME):
                logger.info("The instance's Gemini key was removed through the valve")
            return None

        await self._host.exchange_key_valve(exchange)

    async def show_instance_key(self, *, present: bool) -> None:
        """Let the valve tell whether there is an instance key, after it was set or deleted on ECHO's key page."""

        async def exchange(text: str | None) -> str | None:
            wanted = STORED_VALVE if present else ""
            return wanted if (text or "") != wanted else None

        await self._host.exchange_key_valve(exchange)

    async def _take_key(self, typed: str) -> str:
        try:
            await self._identity.put_secret(INSTANCE_OWNER, GEMINI_KEY_NAME, clean_key(typed))
        except KeyMalformedError:
            logger.warning("The text in the pipe's key valve is not a key and was dropped")
            return STORED_VALVE if await self._has_instance_key() else ""
        logger.info("The instance's Gemini key was moved from the valve to identity.db")
        return STORED_VALVE

    async def _has_instance_key(self) -> bool:
        return GEMINI_KEY_NAME in await self._identity.secret_names(INSTANCE_OWNER)

    async def _start(self, own_id: str) -> None:
        self._host.install_routes(own_id)
        await self.move_valve(emptied=False)
        purged = await self._purger.reconcile()
        logger.info("ECHO's lifecycle started, %d forgotten folders purged", purged)

    async def _purge(self, name: str, event: Event, subject: str) -> None:
        if name == "chat.deleted":
            await self._purger.purge_chat(subject, _text(event.get("data"), "owner_id"))
        elif name == "user.deleted":
            await self._purger.purge_user(subject)
        elif name == "file.deleted":
            await self._purger.purge_file(subject)
        elif name in {"chat.deleted_all", "file.deleted_all", "folder.deleted"}:
            # These do not say what went: Open WebUI's tables do.
            await self._purger.reconcile()
        elif name == "chat.cloned":
            owner, parent = _text(event.get("actor"), "id"), _text(event.get("data"), "original_chat_id")
            if subject and owner and parent:
                await self._identity.index_chat(subject, owner, parent)


def _text(record: object, key: str) -> str:
    value = record.get(key) if isinstance(record, Mapping) else None
    return value if isinstance(value, str) else ""
