"""Counts prefix breaks by reason, and says each in the log."""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Final

from echo_core.prefix import PrefixBreak

log = logging.getLogger(__name__)


class PrefixBreaks:
    """The breaks since the process started."""

    def __init__(self) -> None:
        self._counts: Counter[PrefixBreak] = Counter()

    def note(self, reason: PrefixBreak, chat_id: str) -> None:
        """A request of a chat begins otherwise than the one before it, and this is why."""
        self._counts[reason] += 1
        log.info("prefix break in chat %s: %s", chat_id, reason)

    def counts(self) -> Mapping[str, int]:
        """How often each reason occurred; reasons that did not are left out."""
        return {str(reason): count for reason, count in sorted(self._counts.items())}


#: One for the process: benches and diagnostics read it.
BREAKS: Final = PrefixBreaks()
