"""Seals an answer: complete, stopped or failed, what was received is kept."""

import asyncio
from collections.abc import Mapping
from typing import Any

from echo_core.engine import TurnRecord
from echo_core.ports import Clock, ShadowStore, TurnJournal
from echo_core.records import Seal, Shadow, ShadowState
from echo_core.sealing import seal_shadow, signature_rows
from echo_protocol import close_dangling_calls, content_json, join_contents, parse_contents
from echo_runtime.call import PipeCall
from echo_runtime.context import Prepared
from echo_runtime.journal import StoreJournal
from echo_utils import dumps


class NoJournal:
    """For chats that leave no record."""

    async def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Keep nothing."""

    async def content(self, content_json: bytes) -> None:
        """Keep nothing."""

    async def flush(self) -> None:
        """Nothing to write."""


class AnswerSealer:
    """Writes the records of one answer.

    Args:
        store: the chat's records, None for callers without a chat.
        prepared: what was sent.
        backend_name: which endpoint signed.
    """

    def __init__(
        self, call: PipeCall, store: ShadowStore | None, prepared: Prepared, backend_name: str, clock: Clock
    ) -> None:
        self._call = call
        self._store = store if call.is_saved else None
        self._prepared = prepared
        self._backend_name = backend_name
        self._clock = clock
        self.journal: TurnJournal = NoJournal() if self._store is None else StoreJournal(self._store, call.message_id)

    async def seal(self, record: TurnRecord, state: ShadowState) -> None:
        """Close what streams and write everything in one transaction; finished even when the caller is cancelled."""
        record.end_stream()
        await asyncio.shield(asyncio.ensure_future(self._write(record, state)))

    async def _write(self, record: TurnRecord, state: ShadowState) -> None:
        await self.journal.flush()
        if self._store is None:
            return
        contents_json = join_contents(record.hops)
        if state != "complete":
            closed = close_dangling_calls(parse_contents(contents_json))
            contents_json = join_contents([content_json(content.role, content.parts) for content in closed])
        model = self._prepared.model
        shadow = seal_shadow(
            Shadow(
                message_id=self._call.message_id,
                chat_id=self._call.chat_id,
                role="model",
                contents_json=contents_json,
                visible_text=record.transcript.text,
                state=state,
                backend=self._backend_name,
                model_id=model.id,
            ),
            self._prepared.parent_hash,
        )
        await self._store.seal(
            Seal(
                shadow=shadow,
                signatures=signature_rows(shadow, f"{model.signature_scope}:{self._backend_name}"),
                tool_io_json=dumps(record.tool_io) if record.tool_io else None,
            )
        )
