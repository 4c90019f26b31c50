"""What ECHO remembers of a user from one chat to the next: values and rules, without IO.

PACP: preferences, technical constraints, structural decisions; PRAC: lessons of method. Source: docs/design.md sections
1 and 8.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, get_args

#: PACP (preference, constraint, decision), plain facts about the user, and PRAC (lesson).
MemoryKind: TypeAlias = Literal["preference", "constraint", "decision", "fact", "lesson"]
MEMORY_KINDS: Final[tuple[MemoryKind, ...]] = get_args(MemoryKind)

#: Who put it there: the user by an order, ECHO by its own reading, the user on the memory page, an import.
MemoryOrigin: TypeAlias = Literal["order", "reading", "page", "import"]
MEMORY_ORIGINS: Final[tuple[MemoryOrigin, ...]] = get_args(MemoryOrigin)

#: Importance from 1 (Trivial) to 5 (Axiom).
TRIVIAL: Final = 1
FUSED: Final = 2
USED: Final = 3
PROVEN: Final = 4
AXIOM: Final = 5

#: By importance, 1 first. Source: docs/design.md section 8.
MEMORY_IMPORTANCE_WEIGHTS: Final = (0.55, 0.80, 1.00, 1.30, 1.70)
RETENTION_DAYS: Final = (30, 90, 180, 365, 540)

#: What lies between a related and an unrelated passage, as a share of what lies between the model's floor and identity.
#: Source: measured with the packaged model: 0.02 to 0.08 between the first right and the first wrong of 19 questions.
_SPREAD_SHARE: Final = 0.35

#: Times that a fact must have been told again for levels 3 and 4. Source: our choice.
USED_AFTER: Final = 2
PROVEN_AFTER: Final = 5

#: The longest memory, in characters; what is longer is a document. Source: our choice.
MAX_MEMORY_CHARS: Final = 600

_DAY_S: Final = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a memory comes from; "" where that is unknown.

    Args:
        at_s: when it was said, epoch seconds.
    """

    chat_id: str = ""
    message_id: str = ""
    at_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something to remember, before it is compared with what is there.

    Args:
        text: one sentence that can be understood by itself, at most MAX_MEMORY_CHARS.
        topic: what it is about, in a few words ("city of residence"); "" = to be read from the text.
        value: what it says of the topic ("Lyon"); "" likewise.
        exclusive: whether the topic has one value at a time, so that another one takes its place.
    """

    text: str
    kind: MemoryKind = "fact"
    topic: str = ""
    value: str = ""
    exclusive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that is remembered.

    Args:
        id: unique among the user's memories.
        fact: what is remembered.
        importance: 1 to 5.
        origin: who put it there.
        pinned: never expires.
        created_at_s, reinforced_at_s: epoch seconds; retention counts from the latter.
        reinforcements: how often it was told again.
        source: where it was said first; of a correction, where it was corrected.
        superseded_by: id of what took its place, "" while it holds.
    """

    id: str
    fact: Fact
    importance: int = TRIVIAL
    origin: MemoryOrigin = "reading"
    pinned: bool = False
    created_at_s: int = 0
    reinforced_at_s: int = 0
    reinforcements: int = 0
    source: Provenance = field(default_factory=Provenance)
    superseded_by: str = ""

    @property
    def text(self) -> str:
        """What is remembered, in a sentence."""
        return self.fact.text

    @property
    def expires_at_s(self) -> int | None:
        """When it is forgotten unless it is told again, epoch seconds; None = never."""
        if self.pinned:
            return None
        return self.reinforced_at_s + RETENTION_DAYS[self.importance - 1] * _DAY_S

    def has_expired(self, now_s: float) -> bool:
        """Whether its time is over."""
        return self.expires_at_s is not None and self.expires_at_s <= now_s


def first_importance(wanted: int, origin: MemoryOrigin) -> int:
    """The level of a new memory: what the user ordered or wrote has the level wanted, all else begins at 1."""
    if origin == "reading":
        return TRIVIAL
    return max(TRIVIAL, min(AXIOM, wanted))


def reinforced(memory: Memory, now_s: int) -> Memory:
    """The memory after it was told once more: its time begins anew, and repeated use raises it to 3 and 4."""
    times = memory.reinforcements + 1
    earned = PROVEN if times >= PROVEN_AFTER else USED if times >= USED_AFTER else memory.importance
    return replace(
        memory, reinforcements=times, reinforced_at_s=now_s, importance=max(memory.importance, min(earned, PROVEN))
    )


def corrected_importance(former: Memory, importance: int, origin: MemoryOrigin) -> int:
    """The level of what takes another's place: a correction counts 3 at least; an Axiom stays one only by order."""
    inherited = min(former.importance, PROVEN) if origin == "reading" else former.importance
    return max(importance, USED, inherited)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that bears on a question.

    Args:
        score: what the result is ordered by.
        cosine: likeness of meaning.
    """

    memory: Memory
    score: float
    cosine: float


def ranked(found: Iterable[tuple[Memory, float]], floor: float, limit: int) -> list[Recalled]:
    """The memories that bear on a question, best first: near the best match, importance weighs.

    The cosines of a model lie close together, so they are spread first: the best one counts whole, and what is further
    from it than what lies between the related and the unrelated counts nothing, however important it is.

    Args:
        found: what the search brought up, each with its cosine; what is below the floor and shares no rare words with
            the question is not among it.
        floor: the model's relevance floor.
        limit: at most so many.
    """
    listed = list(found)
    best = max((cosine for _, cosine in listed), default=0.0)
    spread = _SPREAD_SHARE * (1 - floor)
    scored = [
        Recalled(
            memory, max(0.0, 1 - (best - cosine) / spread) * MEMORY_IMPORTANCE_WEIGHTS[memory.importance - 1], cosine
        )
        for memory, cosine in listed
    ]
    return sorted(scored, key=lambda one: (-one.score, -one.cosine, one.memory.id))[:limit]
