"""What becomes of a new fact beside those that are known: kept, told again, or put in another's place."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from echo_core.memories import (
    FUSED,
    MAX_MEMORY_CHARS,
    TRIVIAL,
    Fact,
    Memory,
    MemoryOrigin,
    Provenance,
    corrected_importance,
    first_importance,
    reinforced,
)
from echo_memory.facts import FactKey, key_of, relation

Outcome: TypeAlias = Literal["new", "same", "replaces"]

#: Reading a fact takes some 50 µs; a user's memories are compared with each new one.
_key: Final = lru_cache(maxsize=16_384)(key_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A fact on its way into memory.

    Args:
        importance: what is wanted; only an order or the user's own hand gets it.
        source: where it was said.
        pinned: never expires.
    """

    fact: Fact
    origin: MemoryOrigin
    importance: int = TRIVIAL
    source: Provenance = field(default_factory=Provenance)
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of a fact.

    Args:
        memory: that holds it now.
        outcome: it is new, was known already, or took the place of others.
        former: those others, as they are from now on.
    """

    memory: Memory
    outcome: Outcome
    former: tuple[Memory, ...] = ()

    @property
    def written(self) -> list[Memory]:
        """All that has to be written."""
        return [self.memory, *self.former]


def keep(current: Sequence[Memory], proposal: Proposal, new_id: str, now_s: int) -> Kept:
    """Compare a fact with what holds. Not for an event loop: the first call loads the stemmers.

    Args:
        current: the user's memories that hold.
        proposal: the fact.
        new_id: for a memory that has to be made.
        now_s: epoch seconds.
    """
    key = _key(proposal.fact)
    wanted = first_importance(proposal.importance, proposal.origin)
    stands = [(relation(key, _key(memory.fact)), memory) for memory in current]
    known = next((memory for how, memory in stands if how == "same"), None)
    if known is not None:
        again = reinforced(known, now_s)
        again = replace(again, importance=max(again.importance, wanted), pinned=again.pinned or proposal.pinned)
        return Kept(memory=again, outcome="same")
    former = [memory for how, memory in stands if how == "replaces"]
    importance = wanted
    for memory in former:
        importance = corrected_importance(memory, importance, proposal.origin)
    memory = Memory(
        id=new_id,
        fact=proposal.fact,
        importance=importance,
        origin=proposal.origin,
        pinned=proposal.pinned or any(memory.pinned for memory in former),
        created_at_s=now_s,
        reinforced_at_s=now_s,
        source=proposal.source,
    )
    superseded = tuple(replace(memory, superseded_by=new_id) for memory in former)
    return Kept(memory=memory, outcome="replaces" if former else "new", former=superseded)


def fuse_trivial(current: Sequence[Memory], new_id: Callable[[], str], now_s: int) -> list[Kept]:
    """The nightly fusion: what was observed of one topic, level 1, becomes one memory of level 2.

    What was observed more than once rises to level 2 by itself.

    Args:
        current: the user's memories that hold.
        new_id: makes ids.
        now_s: epoch seconds.
    """
    trivial = [memory for memory in current if memory.importance == TRIVIAL and not memory.pinned]
    groups: dict[object, list[Memory]] = defaultdict(list)
    for memory in trivial:
        groups[_topic(_key(memory.fact)) or memory.id].append(memory)
    fused = [_fused(group, new_id(), now_s) for group in groups.values() if len(group) > 1 and _fits(group)]
    gone = {former.id for kept in fused for former in kept.former}
    risen = [
        Kept(memory=replace(memory, importance=FUSED), outcome="same")
        for memory in trivial
        if memory.reinforcements and memory.id not in gone
    ]
    return fused + risen


def _topic(key: FactKey) -> object:
    """What two facts have in common if they are about one thing; None where a fact names no topic."""
    subject = frozenset(stem for word in key.subject for stem in word)
    return (key.concepts, subject) if key.concepts or subject else None


def _fits(group: Sequence[Memory]) -> bool:
    return sum(len(memory.text) + 1 for memory in group) <= MAX_MEMORY_CHARS


def _fused(group: Sequence[Memory], new_id: str, now_s: int) -> Kept:
    ordered = sorted(group, key=lambda memory: memory.created_at_s)
    first, last = ordered[0], ordered[-1]
    fact = Fact(
        text=" ".join(memory.text for memory in ordered),
        kind=last.fact.kind,
        topic=last.fact.topic,
        value=" ".join(memory.fact.value for memory in ordered if memory.fact.value),
        exclusive=False,
    )
    memory = Memory(
        id=new_id,
        fact=fact,
        importance=FUSED,
        origin=last.origin,
        created_at_s=now_s,
        reinforced_at_s=max(memory.reinforced_at_s for memory in ordered),
        reinforcements=sum(memory.reinforcements for memory in ordered),
        source=first.source,
    )
    return Kept(memory=memory, outcome="replaces", former=tuple(replace(one, superseded_by=new_id) for one in ordered))
