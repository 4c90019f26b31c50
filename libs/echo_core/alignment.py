"""Directives that open a chat and recall its rules: which one is due on a chain, judged from what was told on it.

Source: docs/design.md section 7; the issue's defaults, every 20 turns and at 30 % fill.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from echo_aec import Artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Where a chain stands, and what would be told.

    Args:
        init: words of the first directive.
        reminder: words of the later ones.
        turn: how many questions the chain holds, the current one included.
        opens: whether ECHO speaks here for the first time.
        fill_percent: how full the context is.
        every_turns: turns between two directives; 0 never.
        at_fill_percent: fill from which one is due, once; 0 never.
    """

    init: str
    reminder: str
    turn: int = 1
    opens: bool = False
    fill_percent: int = 0
    every_turns: int = 20
    at_fill_percent: int = 30

    def at(self, chain: Sequence[str], *, opens: bool) -> "Alignment":
        """The same at a question.

        Args:
            chain: ids of all messages from the root to the question.
            opens: whether ECHO speaks here for the first time; it does so at a chat's first question, too.
        """
        turn = (len(chain) + 1) // 2
        return replace(self, turn=turn, opens=opens or turn == 1)


def due(now: Alignment, last: Mapping[str, int] | None) -> tuple[Artifact | None, dict[str, int] | None]:
    """The directive that is due, with what `Told.reminded` says from then on; None and None when none is.

    Args:
        now: where the chain stands.
        last: `Told.reminded` of the last directive on the chain: `turn` and `fill`.
    """
    if last is None and now.opens:
        # The first turn counts as turn 0, so that the twentieth brings the first reminder.
        return Artifact(id="AEC_init", text=now.init), {"turn": now.turn - 1, "fill": 0}
    turn, fill = (0, 0) if last is None else (last.get("turn", 0), last.get("fill", 0))
    by_turns = 0 < now.every_turns <= now.turn - turn
    by_fill = 0 < now.at_fill_percent <= now.fill_percent and fill < now.at_fill_percent
    if not (by_turns or by_fill):
        return None, None
    return Artifact(id="AEC_reminder", text=now.reminder), {"turn": now.turn, "fill": now.fill_percent}
