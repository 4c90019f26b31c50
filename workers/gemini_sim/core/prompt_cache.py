"""Implicit caching: how much of a prompt is the byte-identical beginning of a recent one."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from echo_workers.gemini_sim.core.tokens import Segment

#: How many prompts of one key and model are remembered, and for how long. Google publishes neither; chosen so that
#: several chats can interleave. Source: implicit caching, documented ("send follow-ups soon").
_PROMPTS_KEPT: Final = 64
_LIFE_S: Final = 3_600.0


@dataclass(slots=True)
class _Prompt:
    segments: tuple[Segment, ...]
    at_s: float


@dataclass(slots=True)
class PromptCache:
    """Recent prompts by (key, model)."""

    _recent: dict[tuple[str, str], OrderedDict[bytes, _Prompt]] = field(default_factory=dict)

    def cached_tokens(self, key: str, model: str, segments: Sequence[Segment], minimum: int, now_s: float) -> int:
        """Tokens of the longest common beginning with a recent prompt; 0 below the model's minimum.

        The prompt itself is then remembered. A text segment may match up to a byte, others only whole.
        """
        recent = self._recent.setdefault((key, model), OrderedDict())
        best = 0
        for prompt in recent.values():
            if now_s - prompt.at_s <= _LIFE_S:
                best = max(best, _common_tokens(prompt.segments, segments))
        self._remember(recent, tuple(segments), now_s)
        return best if best >= max(1, minimum) else 0

    @staticmethod
    def _remember(recent: OrderedDict[bytes, _Prompt], segments: tuple[Segment, ...], now_s: float) -> None:
        digest = hashlib.sha256()
        for segment in segments:
            digest.update(len(segment.data).to_bytes(8, "big"))
            digest.update(segment.data)
        recent.pop(digest.digest(), None)
        recent[digest.digest()] = _Prompt(segments, now_s)
        while len(recent) > _PROMPTS_KEPT:
            recent.popitem(last=False)

    def clear(self) -> None:
        """Forget every prompt."""
        self._recent.clear()


def _common_tokens(old: Sequence[Segment], new: Sequence[Segment]) -> int:
    tokens = 0
    for before, after in zip(old, new, strict=False):
        if before.data == after.data:
            tokens += after.tokens
            continue
        if before.text and after.text:
            same = _common_bytes(before.data, after.data)
            tokens += after.tokens * same // max(1, len(after.data))
        break
    return tokens


def _common_bytes(left: bytes, right: bytes) -> int:
    limit = min(len(left), len(right))
    if left[:limit] == right[:limit]:
        return limit
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
