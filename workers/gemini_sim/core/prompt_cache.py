"""Implicit caching: how much of a prompt is the byte-identical beginning of a recent one."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from echo_workers.gemini_sim.core.tokens import Segment

#: How many prompts of one key and model are remembered, and for how long. Google publishes neither; chosen so that
#: several chats can interleave. Source: implicit caching, documented ("send follow-ups soon").
_PROMPTS_KEPT: Final = 64
_LIFE_S: Final = 3_600.0


@dataclass(slots=True, eq=False)
class _Prompt:
    segments: tuple[Segment, ...]
    at_s: float


@dataclass(slots=True)
class PromptCache:
    """Recent prompts by (key, model).

    A prompt that a newer one extends is dropped and its segments are shared, so that a long chat costs memory once.
    """

    _recent: dict[tuple[str, str], deque[_Prompt]] = field(default_factory=dict)

    def cached_tokens(self, key: str, model: str, segments: Sequence[Segment], minimum: int, now_s: float) -> int:
        """Tokens of the longest common beginning with a recent prompt; 0 below the model's minimum.

        The prompt itself is then remembered. A text segment may match up to a byte, others only whole.
        """
        recent = self._recent.setdefault((key, model), deque(maxlen=_PROMPTS_KEPT))
        best_tokens, best_whole, best = 0, 0, _Prompt((), now_s)
        covered: list[_Prompt] = []
        for prompt in recent:
            if now_s - prompt.at_s > _LIFE_S:
                covered.append(prompt)
                continue
            tokens, whole = _common(prompt.segments, segments)
            if tokens > best_tokens:
                best_tokens, best_whole, best = tokens, whole, prompt
            if whole == len(prompt.segments):
                covered.append(prompt)
        for prompt in covered:
            recent.remove(prompt)
        recent.append(_Prompt((*best.segments[:best_whole], *segments[best_whole:]), now_s))
        return best_tokens if best_tokens >= max(1, minimum) else 0

    def clear(self) -> None:
        """Forget every prompt."""
        self._recent.clear()


def _common(old: Sequence[Segment], new: Sequence[Segment]) -> tuple[int, int]:
    """(tokens, whole segments) that two prompts share from the start."""
    tokens = whole = 0
    for before, after in zip(old, new, strict=False):
        if before is after or before.data == after.data:
            tokens += after.tokens
            whole += 1
            continue
        if before.text and after.text:
            same = _common_bytes(before.data, after.data)
            tokens += after.tokens * same // max(1, len(after.data))
        break
    return tokens, whole


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
