"""Keeps the requests of one turn within the context while its tool loop grows.

Old results of the loop and of the conversation before it are put aside first; if that is not enough, everything before
the question that opened the turn becomes a checkpoint on it. The answer's record is not touched: what is put aside can
be read again, and the next turn sends the same bytes.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from echo_core.compaction import EchoCompactionEngine
from echo_core.compaction_counting import calibrated, estimated_tokens
from echo_core.compaction_masking import masked
from echo_core.compaction_planning import Budget, CompactionPlan
from echo_core.compaction_records import Epoch
from echo_core.overlay import NO_OVERLAY, overlay_json, render
from echo_core.ports import Fitted, ModelBackend, ShadowStore
from echo_core.prefix import PrefixBreak
from echo_core.turn_record import TurnRecord
from echo_events import NoticeShown
from echo_protocol import Usage, join_contents, parse_contents
from echo_runtime.breaks import BREAKS
from echo_runtime.call import PipeCall
from echo_runtime.compaction import COMPACTING, PINS_LEFT_OUT, Compactor, Frame, Weight, wish_of
from echo_runtime.compaction_store import artifacts_of, change_state, compaction_state
from echo_runtime.compaction_told import compacted_text
from echo_runtime.context import Prepared
from echo_runtime.history import Rebuilt
from echo_runtime.own_tools import kept_for
from echo_runtime.waiting import show_now

log = logging.getLogger(__name__)

#: Results that no server has counted are taken to weigh so much more. Source: our choice.
_CAUTION: Final = 1.2

_USER: Final = b'{"role":"user"'


class TurnGuard:
    """The `ContextGuard` of one turn.

    Args:
        compactor: condenses.
        call: whose turn it is.
        store: the chat's records.
        prepared: what is sent.
        record: of the turn.
        answer_id: the message that is written.
        backend: where the model is that sums up.
        max_context_tokens: ECHO_MAX_CONTEXT_SIZE as the administrator set it.
    """

    def __init__(
        self,
        compactor: Compactor,
        call: PipeCall,
        store: ShadowStore,
        prepared: Prepared,
        record: TurnRecord,
        *,
        answer_id: str,
        backend: ModelBackend,
        max_context_tokens: int,
    ) -> None:
        self._compactor = compactor
        self._call = call
        self._store = store
        self._prepared = prepared
        self._record = record
        self._answer_id = answer_id
        self._backend = backend
        self._max_context_tokens = max_context_tokens
        self._ratio: float | None = None
        self._aside: dict[str, str] = {}
        self._kept, self._counted = b"", 0
        plan = prepared.plan
        self._frame = Frame(system=plan.system_instruction or b"", tools=plan.tools or b"")
        #: The conversation as it is sent now, and what was told beside the question since the turn began.
        self.history = prepared.history
        self.told = NO_OVERLAY
        #: Whether the turn was compacted while it ran.
        self.acted = False

    @property
    def ratio(self) -> float:
        """Counted tokens for one estimated, as the turn began."""
        return 1.0 if self._ratio is None else self._ratio

    async def fit(self, hops: Sequence[bytes], last: Usage) -> Fitted | None:
        """See `ContextGuard`."""
        if not last.total_tokens or not hops or not hops[-1].startswith(_USER):
            return None  # the first request was weighed when it was prepared
        if self._ratio is None:
            self._ratio = (await self._compactor.weigh(self._store, self.history, self._frame)).ratio
        tokens = last.prompt_tokens + last.output_tokens + calibrated(estimated_tokens(hops[-1]), self.ratio * _CAUTION)
        size_bytes = sum(map(len, (*self.history.contents, *hops))) + self._frame.size_bytes
        window = min(self._max_context_tokens, self._record.ladder.current.window_tokens)
        engine = EchoCompactionEngine(Budget(size_tokens=window))
        if not engine.is_needed(tokens, size_bytes, wish_of(self._call, self.history)):
            return None
        async with self._compactor.lock(self._call.chat_id):
            return await self._lighter(engine, hops, tokens)

    async def _lighter(self, engine: EchoCompactionEngine, hops: Sequence[bytes], tokens: int) -> Fitted | None:
        before = self._weight(self.history.estimate(), (self._kept, *hops[self._counted :]))
        self.history = replace(self.history, state=await compaction_state(self._store))
        kept, counted = self._masked(hops[:-1]), len(hops) - 1
        epoch, after = await self._with_masks(engine)
        saved = before - self._weight(after.estimate(), (kept, hops[-1]))
        if tokens - saved > engine.budget.target_tokens and self._may_pivot():
            tail_tokens = self._weight(0, (kept, hops[-1]))
            epoch, after = await self._with_checkpoint(engine, tokens, tail_tokens)
            saved = before - self._weight(after.estimate(), (kept, hops[-1]))
        if tokens - saved > engine.budget.hard_tokens:
            kept, counted = self._masked(hops), len(hops)
            saved = before - self._weight(after.estimate(), (kept,))
        if saved <= 0:
            return None
        self._kept, self._counted = kept, counted
        await self._seal(epoch, after, kept, tokens, tokens - saved)
        return self._fitted(kept, counted)

    async def _with_masks(self, engine: EchoCompactionEngine) -> tuple[Epoch | None, Rebuilt]:
        """The conversation with all old results put aside; the answer's own are looked at elsewhere."""
        view, now = self.history.view, self.history.epoch
        last = len(view) - 2 if view.asked else len(view) - 1
        if last < 0:
            return now, self.history
        epoch = engine.epoch(CompactionPlan(masked_until=last), view, now, self.history.state, "")
        epoch = replace(epoch, dropped=() if now is None else now.dropped)
        return epoch, self.history.under(epoch, await artifacts_of(self._store, now))

    async def _with_checkpoint(
        self, engine: EchoCompactionEngine, tokens: int, tail_tokens: int
    ) -> tuple[Epoch, Rebuilt]:
        """Everything before the question as a checkpoint on it; what it had been told of changes is told again."""
        await show_now(self._call, NoticeShown(COMPACTING.render(self._call.locale), done=False))
        plan = CompactionPlan(pivot=len(self.history.view) - 1, tail_tokens=tail_tokens, beside_tokens=tail_tokens)
        weight = Weight(tokens=tokens, ratio=self.ratio)
        epoch, artifacts = await self._compactor.carried_out(
            self._store, self.history, self._frame, engine, plan, weight, self._backend
        )
        if "pins" in epoch.unmet:
            await show_now(self._call, NoticeShown(PINS_LEFT_OUT.render(self._call.locale)))
        if self._prepared.renewed is not None:
            overlay = join_contents([self._prepared.overlay_json, self.told])
            entry = replace(self._prepared.renewed(overlay), checkpoint=epoch.id)
            self.told = join_contents([self.told, overlay_json([entry])])
        return epoch, self.history.under(epoch, artifacts)

    def _weight(self, estimate: int, hops: Sequence[bytes]) -> int:
        return calibrated(estimate + sum(map(estimated_tokens, hops)), self.ratio)

    def _masked(self, hops: Sequence[bytes]) -> bytes:
        """Some Contents of the answer with their long results put aside, joined."""
        joined = join_contents(hops)[1:-1]
        return masked(joined, self._answer_id, aside=self._aside.__setitem__)

    def _may_pivot(self) -> bool:
        """Whether there is anything before the question that a checkpoint could stand for."""
        view, replayed = self.history.view, self.history.replayed
        first = 0 if replayed is None else replayed.first
        return view.asked and first < len(view) - 1

    async def _seal(self, epoch: Epoch | None, after: Rebuilt, kept: bytes, tokens: int, tokens_after: int) -> None:
        """Put the epoch in force, so that the next turn sends the same bytes; keep what was put aside."""
        for place, text in self._aside.items():
            await self._store.keep_tool_output(self._answer_id, kept_for(place, self._call.user_id), text)
        self._aside.clear()
        standing = replace(
            epoch if epoch is not None else Epoch(id=""),
            id=self._compactor.new_id(),
            masked_id=self._answer_id,
            masked_hash="",
            masked_contents=len(parse_contents(b"[" + kept + b"]")),
            tokens_before=tokens,
            tokens_after=tokens_after,
            created_at_s=self._compactor.now_s(),
        )
        state = await change_state(self._store, lambda held: held.with_epoch(standing))
        self.history = replace(after, state=state, epoch=standing)
        self.acted = True
        BREAKS.note(PrefixBreak.COMPACTION, self._call.chat_id)
        log.info("chat %s compacted within a turn: %d → %d tokens", self._call.chat_id, tokens, tokens_after)
        told = compacted_text(tokens, tokens_after, self._call.locale)
        await show_now(self._call, NoticeShown(told))

    def _fitted(self, kept: bytes, counted: int) -> Fitted:
        question, overlay = self.history.question, join_contents([self._prepared.overlay_json, self.told])
        changes = (change.overlay() for change in self._record.ladder.changes)
        told = render(question, join_contents([overlay, *changes]))
        contents = (*self.history.contents, told) if question else self.history.contents
        hops = (b"[" + kept + b"]",) if kept else ()
        return Fitted(contents=contents, question=question, overlay=overlay, hops=hops, seen=counted)
