"""What to do about a chat that has grown too full. Pure: a plan is a value, the runtime carries it out.

Order of force, strongest first: a valid request, the hard window, what is pinned, the last turn, the target.
Source: docs/design.md section 7.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from echo_core.compaction_counting import estimated_tokens
from echo_core.compaction_masking import bare_piece, masked, superseded_media
from echo_core.compaction_records import Chain, MediaPlace

#: Shares of ECHO_MAX_CONTEXT_SIZE at which a chat is compacted, and down to which. Source: docs/design.md section 7.
TRIGGER_SHARE: Final = 0.45
TARGET_SHARE: Final = 0.25
#: A checkpoint has at most so many tokens, and at most this share of the target. Source: docs/design.md section 7.
CHECKPOINT_TOKENS: Final = 32_768
CHECKPOINT_SHARE: Final = 0.60
#: What is kept free of the hard window, for what no estimate sees. Source: our choice.
_HARD_SHARE: Final = 0.98
#: A request may have so many bytes. Source: Gemini API docs, Files ("20 MB" in the older text, 100 MB in the newer).
MAX_REQUEST_BYTES: Final = 19_000_000
#: What a checkpoint that is not yet written is taken to need, as a share of what it may need. Source: our choice.
_CHECKPOINT_GUESS: Final = 0.5

Wish = Literal["auto", "only_window", "now"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much a request may weigh.

    Args:
        size_tokens: ECHO_MAX_CONTEXT_SIZE: the valve or the model's window, whichever is smaller.
        max_bytes: of the serialised request.
    """

    size_tokens: int
    max_bytes: int = MAX_REQUEST_BYTES

    @property
    def trigger_tokens(self) -> int:
        """From here on a chat is compacted."""
        return int(self.size_tokens * TRIGGER_SHARE)

    @property
    def target_tokens(self) -> int:
        """What it is compacted down to."""
        return int(self.size_tokens * TARGET_SHARE)

    @property
    def hard_tokens(self) -> int:
        """More is never sent."""
        return int(self.size_tokens * _HARD_SHARE)

    @property
    def checkpoint_tokens(self) -> int:
        """The most that a checkpoint may weigh."""
        return min(CHECKPOINT_TOKENS, int(self.target_tokens * CHECKPOINT_SHARE))

    def calls_for(self, tokens: int, size_bytes: int, wish: Wish) -> bool:
        """Whether a request of this weight has to be made lighter."""
        if tokens > self.hard_tokens or size_bytes > self.max_bytes:
            return True
        return wish == "now" or (wish == "auto" and tokens >= self.trigger_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What to do.

    Args:
        pivot: place of the user message before which nothing is sent, -1 to send everything.
        masked_until: place of the last message whose tool output is put aside, -1 for none.
        dropped: media that are put aside.
        tail_tokens: what the messages from the pivot on are taken to weigh.
        beside_tokens: what is sent after them: the answer so far, inside a tool loop.
    """

    pivot: int = -1
    masked_until: int = -1
    dropped: tuple[MediaPlace, ...] = ()
    tail_tokens: int = 0
    beside_tokens: int = 0


def pivots(chain: Chain) -> list[int]:
    """Places of the messages that may open what is sent: the user's, where something is said."""
    return [
        index
        for index, piece in enumerate(chain.pieces)
        if chain.shadows[index].role == "user" and bare_piece(piece)[1].startswith(b'{"role":"user"')
    ]


def plan(
    chain: Chain, *, sent_from: int, budget: Budget, frame_tokens: int, ratio: float, pinned_tokens: int = 0
) -> CompactionPlan | None:
    """How to bring a chain down to the target, None when nothing can be left out.

    Args:
        chain: as it would be sent without any compaction.
        sent_from: place of the first message that is sent now.
        budget: how much it may weigh.
        frame_tokens: what stands around the conversation, and comes with the question: system, tools, notes.
        ratio: counted tokens for one estimated.
        pinned_tokens: what pinned messages weigh beside the checkpoint.
    """
    places = [index for index in pivots(chain) if index >= sent_from]
    if not places:
        return None

    def weight(piece: bytes) -> float:
        return estimated_tokens(piece) * ratio

    tail_start = _tail_start(chain, places, budget.target_tokens - frame_tokens, weight)
    only_masks = _masks(chain, sent_from, tail_start, weight)
    if only_masks.masked_until >= 0 and frame_tokens + only_masks.tail_tokens <= budget.target_tokens:
        return only_masks
    room = budget.target_tokens - frame_tokens - pinned_tokens - budget.checkpoint_tokens * _CHECKPOINT_GUESS
    pivot = _tail_start(chain, places, room, weight)
    if pivot <= sent_from and pivot == places[0]:
        later = [index for index in places if index > pivot]
        if not later:
            return only_masks if only_masks.masked_until >= 0 else None
        pivot = later[0]
    tail = sum(map(weight, chain.pieces[pivot:]))
    return CompactionPlan(pivot=pivot, tail_tokens=round(tail))


def _tail_start(chain: Chain, places: Sequence[int], room: float, weight: Callable[[bytes], float]) -> int:
    """The first place from which whole turns fit; the last turn always stays."""
    start, end = places[-1], len(chain)
    for place in reversed(places):
        room -= sum(map(weight, chain.pieces[place:end]))
        if room < 0 and place != places[-1]:
            break
        start, end = place, place
    return start


def _masks(chain: Chain, sent_from: int, tail_start: int, weight: Callable[[bytes], float]) -> CompactionPlan:
    """Everything before the tail with its tool output and superseded media put aside."""
    sent = list(zip(chain.ids[sent_from:], chain.pieces[sent_from:], strict=True))
    dropped = superseded_media(sent, tail_start - sent_from)
    by_message: dict[str, list[tuple[int, int]]] = {}
    for message_id, content, part in dropped:
        by_message.setdefault(message_id, []).append((content, part))
    tokens, until = 0.0, -1
    for index, (message_id, piece) in enumerate(sent, start=sent_from):
        if index < tail_start:
            lighter = masked(piece, message_id, by_message.get(message_id, ()))
            until = index if lighter is not piece else until
            piece = lighter
        tokens += weight(piece)
    until = tail_start - 1 if until >= 0 else -1
    return CompactionPlan(masked_until=until, dropped=dropped, tail_tokens=round(tokens))
