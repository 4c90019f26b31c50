"""Seals an answer: complete, stopped or failed, what was received is kept."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from echo_core.compaction_counting import estimated_tokens, ratio_of
from echo_core.compaction_records import WEIGHED_KEY, Weighed
from echo_core.overlay import NO_OVERLAY
from echo_core.ports import ShadowStore, StreamEnd, TurnJournal
from echo_core.prefix import PrefixBreak
from echo_core.records import Resource, Seal, Shadow, ShadowState
from echo_core.routing import Mode
from echo_core.sealing import answer_contents, seal_shadow, signature_rows
from echo_core.turn_record import TurnRecord
from echo_core.usage import CONTEXT_STATS_KEY, usage_shown
from echo_events import UsageCounted
from echo_protocol import client_hash, join_contents
from echo_runtime.answer_figures import Settled, figure_settings
from echo_runtime.breaks import BREAKS
from echo_runtime.call import PipeCall
from echo_runtime.compaction_guard import TurnGuard
from echo_runtime.context import Prepared
from echo_runtime.history import ASKED_KEY
from echo_runtime.journal import StoreJournal
from echo_runtime.levels import LEVEL_KEY, TURN_LOCK_KEY
from echo_runtime.metering import PriceList, context_stats
from echo_runtime.running import running
from echo_runtime.scopes import Scopes
from echo_runtime.tools_cache import POLICY_KEY
from echo_utils import dumps

#: Stands for a chat id in the records of API callers without a chat.
API_CHAT_ID: Final = "_api"


class NoJournal:
    """For chats that leave no record."""

    async def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Keep nothing."""

    async def content(self, content_json: bytes) -> None:
        """Keep nothing."""

    async def stream_over(self, how: StreamEnd) -> None:
        """Keep nothing."""

    async def flush(self) -> None:
        """Nothing to write."""


class TransferPlans:
    """Keeps the plans that one model leaves to the next within an answer.

    Args:
        store: the chat's records.
        message_id: the answer.
    """

    def __init__(self, store: ShadowStore, message_id: str) -> None:
        self._store = store
        self._message_id = message_id
        self._count = 0

    async def keep_plan(self, markdown: str) -> str:
        """See `PlanStore`."""
        self._count += 1
        plan_id = f"plan:{self._message_id}:{self._count}"
        plan = Resource(
            id=plan_id, name="Transfer Plan", kind="plan", payload=markdown, anchor_message_id=self._message_id
        )
        await self._store.save_resource(plan)
        return plan_id


class AnswerSealer:
    """Writes the records of one answer, whatever its end is.

    Args:
        store: the chat's records, None for callers without a chat.
        prepared: what was sent.
        scopes: names the scope of signatures.
        prices: what the answer's requests cost.
        policy: the user's MODEL_SELECTION, which tools find in `echo_settings`.
    """

    def __init__(
        self,
        call: PipeCall,
        store: ShadowStore | None,
        prepared: Prepared,
        scopes: Scopes,
        prices: PriceList,
        policy: Mode,
    ) -> None:
        self._call = call
        self._store = store
        self._prepared = prepared
        self._scopes = scopes
        self._prices = prices
        self._policy = policy
        self._sealed = False
        self._message_id = call.message_id or f"api-{secrets.token_hex(8)}"
        #: Calls that were handed to an API caller, which finds this answer again by their ids.
        self.handed_over: tuple[str, ...] = ()
        #: Knows what was left out and told again while the turn ran.
        self.guard: TurnGuard | None = None
        self.journal: TurnJournal = NoJournal() if store is None else StoreJournal(store, self._message_id)
        self.plans = None if store is None else TransferPlans(store, self._message_id)
        self.record = TurnRecord(prepared.history.lead, prepared.history.before)

    @property
    def answer_id(self) -> str:
        """The message that is being written, or what stands for one."""
        return self._message_id

    @property
    def call_prefix(self) -> str:
        """Begins the ids of calls: an API caller sends them back, so there they are unique among all answers."""
        return f"call_{self._message_id.removeprefix('api-')}" if self._call.is_api else "call"

    @asynccontextmanager
    async def sealing(self) -> AsyncIterator[None]:
        """Open the answer's records; what is not sealed inside is sealed at the end as stopped or failed."""
        state: ShadowState = "failed"
        with running(self._message_id):
            await self._open()
            try:
                yield
            except (asyncio.CancelledError, GeneratorExit):
                state = "stopped"
                raise
            finally:
                if not self._sealed:
                    await self.seal(state)

    async def usage(self) -> UsageCounted:
        """What the answer has used so far, with prices and with the chat's totals when it is one."""
        rounds = self._prices.priced(self.record.rounds)
        chat = None if self._store is None or self._call.is_api else await context_stats(self._store)
        return UsageCounted(usage_shown(rounds, None if chat is None else chat.after(rounds)))

    async def seal(self, state: ShadowState) -> None:
        """Close what streams and write everything in one transaction; finished even when the caller is cancelled."""
        self._sealed = True
        self.record.close()
        if self.record.ladder.changes and self.record.ladder.current.note and self._prepared.plan.question:
            BREAKS.note(PrefixBreak.LEVEL, self._call.chat_id)
        await asyncio.shield(asyncio.ensure_future(self._write(state)))

    async def _open(self) -> None:
        """From here on a crash leaves an answer that can be rebuilt from its log."""
        if self._store is not None:
            lead = join_contents(self._prepared.history.lead)
            shadow = self._shadow(lead, "streaming", self._prepared.history.before)
            await self._store.seal(Seal(shadow=shadow, settings=self._turn_lock() | self._asked() | self._policy_row()))

    async def _write(self, state: ShadowState) -> None:
        await self.journal.flush()
        if self._store is None:
            return
        history = self._prepared.history
        if history.former is not None and len(self.record.hops) == len(history.lead):
            shadow = history.former  # nothing was added to the answer that was to be continued
        else:
            contents_json = answer_contents(self.record.hops, complete=state == "complete")
            shadow = seal_shadow(self._shadow(contents_json, state, self.record.transcript.text), history.parent_hash)
        await self._store.seal(
            Seal(
                shadow=shadow,
                signatures=signature_rows(shadow, self._scopes.name_of(shadow)),
                tool_io_json=dumps(self.record.tool_io) if self.record.tool_io else None,
                settings={
                    **await self._stats(self._store),
                    **await self._figures(self._store),
                    **self._level(),
                    **self._weighed(shadow),
                },
            )
        )

    async def _stats(self, store: ShadowStore) -> dict[str, str]:
        """The chat's totals with this answer in them; read here, as late as can be, for answers side by side."""
        if self._call.is_api:
            return {}
        before = await context_stats(store)
        return {CONTEXT_STATS_KEY: before.after(self._prices.priced(self.record.rounds)).to_json()}

    async def _figures(self, store: ShadowStore) -> dict[str, str]:
        if self._call.is_api:
            return {}
        settled = Settled(
            message_id=self._message_id,
            at_s=int(self._prices.now_s),
            plan=self._prepared.plan,
            record=self.record,
            policy=self._policy,
        )
        return await figure_settings(self._call, store, settled, self._prices.priced(self.record.rounds))

    def _weighed(self, shadow: Shadow) -> dict[str, str]:
        """What the server counted last, from which the next turn goes on."""
        plan, last = self._prepared.plan, self.record.last_usage
        if not last.total_tokens or self._call.is_api:
            return {}
        history = self._prepared.history if self.guard is None else self.guard.history
        frame_bytes = len(plan.system_instruction or b"") + len(plan.tools or b"")
        if self.guard is not None and self.guard.acted:
            ratio = self.guard.ratio
        else:
            sent = history.estimate() + sum(map(estimated_tokens, self.record.hops[:-1]))
            ratio = ratio_of(last.prompt_tokens - frame_bytes // 4, sent)
        weighed = Weighed(
            hash=shadow.cumulative_hash,
            epoch_id=history.epoch.edition_id if history.epoch is not None else "",
            tokens=last.prompt_tokens + last.output_tokens,
            ratio=ratio,
            frame_bytes=frame_bytes,
        )
        return {WEIGHED_KEY.format(message_id=self._message_id): weighed.to_json()}

    def _asked(self) -> dict[str, str]:
        """Which question is answered; where the next one hangs elsewhere, the conversation branched."""
        asked = self._call.user_message_id
        return {ASKED_KEY: asked} if asked else {}

    def _policy_row(self) -> dict[str, str]:
        return {} if self._call.is_api else {POLICY_KEY: self._policy}

    def _turn_lock(self) -> dict[str, str]:
        """Which model opened the turn; asking for more of an answer opens none."""
        if self._call.is_api or self._prepared.history.former is not None:
            return {}
        return {TURN_LOCK_KEY.format(message_id=self._message_id): self._prepared.plan.model_id}

    def _level(self) -> dict[str, str]:
        """The level that the model chose last; a cascade does not outlive its turn."""
        chosen = [change.target for change in self.record.ladder.changes if change.cause == "cognitive"]
        return {LEVEL_KEY: chosen[-1]} if chosen and not self._call.is_api else {}

    def _shadow(self, contents_json: bytes, state: ShadowState, visible_text: str) -> Shadow:
        ladder = self.record.ladder
        client_parent = self._prepared.history.client_parent
        told = NO_OVERLAY if self.guard is None else self.guard.told
        return Shadow(
            message_id=self._message_id,
            chat_id=self._call.chat_id or API_CHAT_ID,
            role="model",
            contents_json=contents_json,
            overlay_json=join_contents([self._prepared.overlay_json, told, *(c.overlay() for c in ladder.changes)]),
            parent_hash=self._prepared.history.parent_hash,
            visible_text=visible_text,
            state=state,
            backend=self._prepared.reader.signer,
            model_id=ladder.current.model_id if ladder.changes else self._prepared.reader.model.id,
            client_hash=client_hash("model", visible_text, client_parent, self.handed_over) if client_parent else "",
        )
