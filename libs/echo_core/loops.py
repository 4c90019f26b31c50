"""Notices when a model calls the same tools with the same arguments and gets the same results, again and again."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from echo_core.ports import ToolOutcome, ToolRequest
from echo_utils import canonical_json, sha256_tagged

#: The longest cycle that is looked for: one call, two that take turns, three. Source: our choice; gemini-cli looks for
#: up to five, of which the longer ones are rarely loops.
_MAX_PERIOD: Final = 3
#: How often a cycle has been gone through when the model is told, and when it may call no more. Source: our choice;
#: gemini-cli stops at five.
_TELL_AFTER: Final = 3
_STOP_AFTER: Final = 5


class Verdict(Enum):
    """What the last round says about the turn."""

    GOES_ON = "goes_on"
    REPEATS = "repeats"
    STUCK = "stuck"


class LoopWatch:
    """Compares the tool rounds of one turn. Polling is no loop as long as what comes back changes."""

    def __init__(self) -> None:
        self._rounds: list[str] = []

    def add(self, requests: Sequence[ToolRequest], outcomes: Mapping[str, ToolOutcome]) -> Verdict:
        """Take in one round, with the outcomes by card id, and judge."""
        facts = [[r.name, dict(r.args), dict(outcomes[r.card_id].response)] for r in requests]
        self._rounds.append(sha256_tagged(canonical_json(facts)))
        times = max(self._times(period) for period in range(1, _MAX_PERIOD + 1))
        if times >= _STOP_AFTER:
            return Verdict.STUCK
        return Verdict.REPEATS if times >= _TELL_AFTER else Verdict.GOES_ON

    def _times(self, period: int) -> int:
        """How often the last `period` rounds stand at the end, one after the other."""
        block = self._rounds[-period:]
        if len(block) < period:
            return 0
        times = 1
        while self._rounds[-period * (times + 1) : -period * times] == block:
            times += 1
        return times


def with_note(response: Mapping[str, Any], note: str | None) -> dict[str, Any]:
    """A tool's response object with a word of ours beside the result."""
    return {**response, "note": note} if note else dict(response)
