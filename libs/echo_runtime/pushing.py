"""Happenings on their way to the model: pushed by any part of ECHO, told beside the next question.

One that belongs to a chat waits in the chat's records. One that belongs to a user (a quota, a memory) waits in
identity.db and is fanned out: each of the user's chats takes it over when its next question comes.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from echo_aec import EchoAEC, Transient, waiting
from echo_constants import EchoError
from echo_core.ports import Clock, ShadowStore
from echo_core.routing import RouteChange
from echo_core.turn_record import TurnRecord
from echo_events import Happening
from echo_gemini_client import NetworkUnreachable, QuotaPerDay, StreamBroken, TimedOut
from echo_runtime.call import PipeCall
from echo_state_manager import SessionStores
from echo_state_manager.identity import IdentityStore

log = logging.getLogger(__name__)

#: A user's happening that no question came for in this time is no news any more. Source: our choice.
USER_EVENT_LIFE_S: Final = 24 * 3600

_DAY_S: Final = 24 * 3600
_LOST: Final = (NetworkUnreachable, StreamBroken, TimedOut)


class Pushes:
    """Takes happenings and hands them on.

    Args:
        sessions: the records of chats.
        identity: where what belongs to a user waits.
        clock: when it happened.
    """

    def __init__(self, sessions: SessionStores, identity: IdentityStore, clock: Clock) -> None:
        self._sessions = sessions
        self._identity = identity
        self._clock = clock

    async def push(
        self, happening: Happening, *, event_id: str, user_id: str, chat_id: str = "", message_id: str = ""
    ) -> None:
        """Let something be told; see `echo_runtime.push_event`."""
        if not chat_id:
            value = json.dumps({"at_s": int(self._clock.now_s()), "happening": happening.to_json()})
            await self._identity.push_event(user_id, event_id, value, self._clock.now_s() - USER_EVENT_LIFE_S)
            return
        async with self._sessions.open(user_id, chat_id) as store:
            await self.into(store, happening, event_id=event_id, message_id=message_id)

    async def into(self, store: ShadowStore, happening: Happening, *, event_id: str, message_id: str = "") -> None:
        """`push` for records that are open."""
        transient = waiting(happening, event_id=event_id, at_s=self._clock.now_s(), message_id=message_id)
        await EchoAEC(store).push(transient)

    async def fan_out(self, user_id: str, store: ShadowStore, is_told: Callable[[Transient], bool]) -> None:
        """Let a chat take over what waits for its user; nothing is taken over twice.

        Args:
            user_id: whose chat it is.
            store: the chat's records.
            is_told: whether the chain has been told already, in the chat that this one is a copy of.
        """
        since_s = self._clock.now_s() - USER_EVENT_LIFE_S
        for event_id, value in (await self._identity.events_since(user_id, since_s)).items():
            read = json.loads(value)
            transient = waiting(Happening.from_json(read["happening"]), event_id=event_id, at_s=read["at_s"])
            if not is_told(transient):
                await EchoAEC(store).push(transient)

    @asynccontextmanager
    async def of_turn(self, call: PipeCall, store: ShadowStore | None, record: TurnRecord) -> AsyncIterator[None]:
        """Tell the next question what went wrong in the answer that is written inside."""
        try:
            yield
        except EchoError as error:
            await self._after(call, store, record, error)
            raise
        else:
            await self._after(call, store, record, None)

    async def _after(
        self, call: PipeCall, store: ShadowStore | None, record: TurnRecord, error: EchoError | None
    ) -> None:
        if store is None or call.is_api:
            return
        try:
            await self._note(call, store, record, error)
        except Exception:  # what the model is told later must not cost the answer that is there
            log.exception("what happened in message %s will not be told", call.message_id)

    async def _note(self, call: PipeCall, store: ShadowStore, record: TurnRecord, error: EchoError | None) -> None:
        answer_id = call.message_id
        falls = [change for change in record.ladder.changes if change.cause == "cascade"]
        if falls:
            fields = {"origin": falls[0].origin, "target": falls[-1].target}
            happening = Happening(name="level_fell", fields=fields)
            await self.into(store, happening, event_id=f"level_fell:{answer_id}", message_id=answer_id)
        for model in _exhausted(falls, error, record.asked_model):
            day = int(self._clock.now_s() // _DAY_S)
            happening = Happening(name="quota_low", fields={"model": model})
            await self.push(happening, event_id=f"quota_low:{model}:{day}", user_id=call.user_id)
        if isinstance(error, _LOST):
            happening = Happening(name="connection_restored")
            await self.into(store, happening, event_id=f"connection_restored:{answer_id}", message_id=answer_id)


def _exhausted(falls: list[RouteChange], error: EchoError | None, asked_model: str) -> Mapping[str, None]:
    """What has no quota left for today, by name, each once."""
    names: dict[str, None] = {fall.origin: None for fall in falls if fall.why == QuotaPerDay.code}
    if isinstance(error, QuotaPerDay):
        names.setdefault(asked_model)
    return names
