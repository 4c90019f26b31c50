"""Shadows that were read before, so that a turn of a long chat reads only what changed since the last one.

Every write gives its row the next `revision`, in commit order, whoever writes. What is cached is therefore good as long
as no row has a revision above the last one seen.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from echo_core.records import Shadow
from echo_core.settled_prefix import SettledPrefix

#: Bytes kept a chat. Source: our choice; a chat of 5,000 turns has about 15 MB without images, and a request may carry
#: 20 MB of them (Gemini API docs, Files), which are in the records and in the settled prefix.
CACHE_BYTES: Final = 64 * 1024 * 1024


class ShadowCache:
    """Shadows of one file by message id, as of one revision.

    Args:
        limit_bytes: what does not fit is not kept and read again each time.
    """

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        self.revision = 0
        #: Grows whenever something is dropped: what was read before may be older than that.
        self.drops = 0
        self._limit_bytes = limit_bytes
        self._held_bytes = 0
        self._shadows: dict[str, Shadow] = {}
        self._prefix: SettledPrefix | None = None
        self._prefix_bytes = 0

    @property
    def held_bytes(self) -> int:
        """What is kept now."""
        return self._held_bytes + self._prefix_bytes

    @property
    def prefix(self) -> SettledPrefix | None:
        """The beginning that was kept last, whatever was written since: it knows itself what of it still holds."""
        return self._prefix

    def keep_prefix(self, prefix: SettledPrefix) -> None:
        """Keep a beginning if it fits beside the shadows."""
        size_bytes = prefix.size_bytes
        fits = self._held_bytes + size_bytes <= self._limit_bytes
        self._prefix, self._prefix_bytes = (prefix, size_bytes) if fits else (None, 0)

    def advance(self, changed: Iterable[tuple[str, int]]) -> None:
        """Drop what was written since.

        Args:
            changed: message id and revision of every row above `self.revision`; an empty id stands for all messages.
        """
        for message_id, revision in changed:
            if not message_id:
                self._drop_all()
            self.drops += 1
            self.revision = max(self.revision, revision)
            dropped = self._shadows.pop(message_id, None)
            if dropped is not None:
                self._held_bytes -= _size_bytes(dropped)

    def lookup(self, message_ids: Sequence[str]) -> tuple[dict[str, Shadow], list[str]]:
        """What is here, and the ids of what must be read."""
        shadows = self._shadows
        found = {message_id: shadows[message_id] for message_id in message_ids if message_id in shadows}
        if len(found) == len(message_ids):
            return found, []
        return found, [message_id for message_id in message_ids if message_id not in found]

    def add(self, shadows: Iterable[Shadow], drops: int) -> None:
        """Keep what was read, as far as it fits.

        Args:
            shadows: what was read.
            drops: `self.drops` when the reading began; if it has grown since, a message may have been written after it
                was read and dropped before it arrived here, so nothing is kept.
        """
        if drops != self.drops:
            return
        for shadow in shadows:
            size_bytes = _size_bytes(shadow)
            if self.held_bytes + size_bytes <= self._limit_bytes and shadow.message_id not in self._shadows:
                self._shadows[shadow.message_id] = shadow
                self._held_bytes += size_bytes

    def clear(self) -> None:
        """Forget everything; for another file in the place of the one that was read."""
        self._drop_all()
        self.revision = 0

    def _drop_all(self) -> None:
        self.drops += 1
        self._held_bytes = self._prefix_bytes = 0
        self._shadows.clear()
        self._prefix = None


def _size_bytes(shadow: Shadow) -> int:
    return len(shadow.contents_json) + len(shadow.overlay_json) + len(shadow.visible_text)
