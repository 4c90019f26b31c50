"""Which answers are being written in this process, so that nobody takes their open records for those of a crash."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Assistant message ids; one set for all event loops of the process.
RUNNING: Final[set[str]] = set()


@contextmanager
def running(message_id: str) -> Iterator[None]:
    """Count an answer as running for as long as the context lasts."""
    RUNNING.add(message_id)
    try:
        yield
    finally:
        RUNNING.discard(message_id)
