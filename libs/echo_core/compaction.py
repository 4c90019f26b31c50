"""The compaction engine: judges how full a chat is, plans what to leave out, and says how it is sent from then on.

Pure: values in, values out. What has to be read, asked or written is done by `echo_runtime`.
Source: docs/design.md section 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from echo_core.compaction_checkpoint import BYTES_A_TOKEN, Checkpoint, quoted
from echo_core.compaction_counting import calibrated, estimated, estimated_tokens
from echo_core.compaction_extract import extract
from echo_core.compaction_planning import Budget, CompactionPlan, Wish, plan
from echo_core.compaction_records import Chain, CompactionState, Epoch
from echo_core.compaction_replay import Rendered, Replayed, checkpoint_parts, replay
from echo_core.compaction_transcript import Said, said

#: Fewer tokens than these are never asked of a checkpoint, however little room there is. Source: our choice.
_LEAST_CHECKPOINT_TOKENS = 512


@dataclass(frozen=True, slots=True)
class EchoCompactionEngine:
    """Judgements about one chat under one budget.

    Args:
        budget: how much its requests may weigh.
    """

    budget: Budget

    def is_needed(self, tokens: int, size_bytes: int, wish: Wish) -> bool:
        """Whether a request of this weight has to be made lighter."""
        return self.budget.calls_for(tokens, size_bytes, wish)

    def plan(
        self, chain: Chain, now: Epoch | None, *, frame_tokens: int, ratio: float, pinned_tokens: int = 0
    ) -> CompactionPlan | None:
        """How to bring a chain down to the target, None when nothing can be left out.

        Args:
            chain: as it would be sent without any compaction.
            now: the epoch by which it is sent now.
            frame_tokens: what stands around the conversation: system, tools, notes, a checkpoint that stays.
            ratio: counted tokens for one estimated.
            pinned_tokens: what pinned messages weigh beside the checkpoint.
        """
        sent_from = max(0, chain.place(now.pivot_id)) if now is not None and now.pivot_id else 0
        return plan(
            chain,
            sent_from=sent_from,
            budget=self.budget,
            frame_tokens=frame_tokens,
            ratio=ratio,
            pinned_tokens=pinned_tokens,
        )

    def epoch(
        self, plan: CompactionPlan, chain: Chain, now: Epoch | None, state: CompactionState, epoch_id: str
    ) -> Epoch:
        """The epoch that a plan makes; who wrote its checkpoint and what it weighs is filled in later."""
        base = Epoch(id=epoch_id)
        if plan.pivot >= 0:
            pivot = chain.shadows[plan.pivot]
            pins = tuple(m for m in chain.ids[: plan.pivot] if m in state.pins)
            return replace(
                base,
                pivot_id=chain.ids[plan.pivot],
                pivot_hash=pivot.cumulative_hash,
                checkpoint_id=epoch_id,
                pinned=pins,
                method="extract",
            )
        last = chain.shadows[plan.masked_until]
        kept = base if now is None else replace(now, id=epoch_id, undone=False, unmet=())
        return replace(
            kept,
            masked_id=chain.ids[plan.masked_until],
            masked_hash=last.cumulative_hash,
            masked_contents=0,
            dropped=plan.dropped,
            method="mask",
        )

    def checkpoint_bytes(self, frame_tokens: int, tail_tokens: int, pinned_tokens: int) -> int:
        """How large a checkpoint may be in UTF-8, so that what is kept, what is pinned and it meet the target."""
        room = self.budget.target_tokens - frame_tokens - tail_tokens - pinned_tokens
        tokens = max(_LEAST_CHECKPOINT_TOKENS, min(room, self.budget.checkpoint_tokens))
        return min(tokens, self.budget.checkpoint_tokens) * BYTES_A_TOKEN

    @staticmethod
    def between(chain: Chain, start: int, end: int) -> list[Said]:
        """Messages in words, by place."""
        return [said(chain.shadows[index], index + 1) for index in range(max(0, start), end)]

    @staticmethod
    def extract(messages: Sequence[Said], before: Checkpoint, size_bytes: int) -> Checkpoint:
        """A checkpoint without any model."""
        return extract(messages, before, size_bytes)

    @staticmethod
    def artifacts(checkpoint: Checkpoint, epoch: Epoch, chain: Chain) -> list[str]:
        """What stands on the pivot: the checkpoint, then each pinned message whole."""
        until = chain.place(epoch.pivot_id)
        pinned = [said(chain.shadows[p], p + 1, result_chars=10**9) for p in map(chain.place, epoch.pinned) if p >= 0]
        quotes = [quoted(m.message_id, m.number, m.role, m.whole(), epoch.id) for m in pinned]
        return [checkpoint.artifact(epoch.id, until), *quotes]

    @staticmethod
    def let_go(epoch: Epoch, artifacts: Sequence[str], excess_tokens: int, ratio: float) -> tuple[Epoch, list[str]]:
        """An epoch and its artifacts without the pinned messages that the window has no room for, oldest first.

        Args:
            epoch: with its pins.
            artifacts: the checkpoint, then the quote of each pinned message.
            excess_tokens: by how much the request is too heavy.
            ratio: counted tokens for one estimated.
        """
        quotes, gone = list(artifacts[1:]), 0
        while quotes and excess_tokens > 0:
            excess_tokens -= calibrated(estimated_tokens(quotes.pop(0).encode()), ratio)
            gone += 1
        if not gone:
            return epoch, list(artifacts)
        return replace(epoch, pinned=epoch.pinned[gone:], unmet=("pins",)), [artifacts[0], *quotes]

    @staticmethod
    def replay(chain: Chain, epoch: Epoch | None, artifacts: Sequence[str], kept: Rendered | None = None) -> Replayed:
        """A chain as it is sent under an epoch, always the same bytes."""
        return replay(chain, epoch, checkpoint_parts(artifacts), kept)

    @staticmethod
    def estimate(chain: Chain, replayed: Replayed) -> int:
        """Tokens of what is sent of a chain, by our own estimate; pieces that were seen before cost nothing."""
        loose = chain.pieces[replayed.loose_from : len(chain) - (1 if chain.asked else 0)]
        return estimated_tokens(replayed.old) + estimated(loose) + estimated_tokens(replayed.question)
