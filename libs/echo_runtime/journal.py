"""Writes what arrives to `turn_log`: in one transaction every 250 ms or 16 KiB, at once when asked.

Source: docs/design.md section 4; an insert for each chunk would cost ten times the parsing.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from echo_constants.limits import TURN_LOG_BYTES, TURN_LOG_INTERVAL_MS
from echo_core.ports import ShadowStore, StreamEnd
from echo_core.replay import chunk_record, content_record, stream_record

log = logging.getLogger(__name__)


class StoreJournal:
    """The TurnJournal of one answer.

    Args:
        store: the chat's records.
        message_id: the assistant message that is being written.
    """

    def __init__(self, store: ShadowStore, message_id: str) -> None:
        self._store = store
        self._message_id = message_id
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    async def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Keep a decoded response chunk."""
        await self._keep(chunk_record(chunk))

    async def content(self, content_json: bytes) -> None:
        """Keep a whole Content."""
        await self._keep(content_record(content_json))

    async def stream_over(self, how: StreamEnd) -> None:
        """Keep that another stream follows."""
        await self._keep(stream_record(how))

    async def flush(self) -> None:
        """Write what waits; returns when it is on disk."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await asyncio.wait({self._writing})  # waits only: a cancelled caller must not cancel the write
        if self._waiting:
            batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
            await self._store.append_turn_log(self._message_id, batch)

    async def _keep(self, record: bytes) -> None:
        self._waiting.append(record)
        self._waiting_bytes += len(record)
        if self._waiting_bytes >= TURN_LOG_BYTES:
            await self.flush()
        elif self._timer is None:
            self._arm()

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TURN_LOG_INTERVAL_MS / 1000, self._write_soon)

    def _write_soon(self) -> None:
        if self._writing is not None and not self._writing.done():
            self._arm()
            return
        self._timer = None
        batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
        self._writing = asyncio.create_task(self._write(batch))

    async def _write(self, batch: list[bytes]) -> None:
        try:
            await self._store.append_turn_log(self._message_id, batch)
        except Exception:  # the answer goes on; its sealing will tell when the store is really gone
            log.exception("turn_log of %s could not be written", self._message_id)
