"""Directives and events in session.db: what waits, who drained it, and the overlay that was made of it."""

# ruff: noqa: S608 - the pieces that are put together are constants of this file

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, Final

from echo_aec import DOCUMENT_PREFIX, Asking, OverlayBuilder, Transient, drain_key
from echo_state_manager._batch import Batch
from echo_state_manager._database import Transaction, write_batches
from echo_state_manager._load import from_sql, json_ids
from echo_state_manager._save import save_session_setting, to_sql
from echo_state_manager._sql import SELECT_SETTING, opened

_KINDS: Final = "('aec_directive', 'aec_event')"
_COLUMNS: Final = f"id, resource_type, name, {opened('payload', text=True)}, created_at, anchor_message_id"

_PUSH: Final = """
    INSERT OR IGNORE INTO echo_resources (id, name, resource_type, status, item_type, updated_at, payload, created_at,
        anchor_message_id, encrypted)
    VALUES (?, ?, ?, 'pending', 'file', ?, echo_seal(?), ?, ?, echo_encrypts())"""
#: Most chats have nothing that waits: a chain of thousands of ids is not even written down then.
_ANYTHING: Final = f"SELECT 1 FROM echo_resources WHERE resource_type IN {_KINDS} LIMIT 1"
_PENDING: Final = f"""
    SELECT {_COLUMNS} FROM echo_resources WHERE resource_type IN {_KINDS}
        AND (anchor_message_id = '' OR anchor_message_id IN (SELECT value FROM json_each(?1)))
        AND NOT EXISTS (SELECT 1 FROM drains WHERE resource_id = id
            AND answer_id IN (SELECT value FROM json_each(?1)))
    ORDER BY created_at, echo_resources.rowid"""
_NAMED: Final = f"""
    SELECT {_COLUMNS} FROM echo_resources WHERE id IN (SELECT value FROM json_each(?))
    ORDER BY created_at, echo_resources.rowid"""
_DRAIN: Final = "INSERT OR IGNORE INTO drains (resource_id, answer_id) VALUES (?, ?)"
_ORPHANS: Final = f"""
    SELECT id FROM echo_resources WHERE resource_type IN {_KINDS} AND created_at >= ?
        AND anchor_message_id IN (SELECT value FROM json_each(?)) AND substr(name, 1, {len(DOCUMENT_PREFIX)}) <> ?"""
ANCHORS: Final = f"""
    SELECT DISTINCT anchor_message_id FROM echo_resources
    WHERE resource_type IN {_KINDS} AND anchor_message_id <> ''"""


def push(batch: Batch, transient: Transient) -> None:
    """Let one wait, once."""
    row = (transient.id, transient.name, transient.type, batch.now_s, to_sql(transient.payload))
    batch.add(_PUSH, (*row, transient.created_at_s, transient.anchor_message_id))


def drain(asking: Asking, build: OverlayBuilder, now_s: int, connection: sqlite3.Connection) -> bytes:
    """See `DirectiveStore.drain`; inside the caller's transaction, on the connection's thread."""

    def rows(sql: str, *parameters: str) -> list[Any]:
        return connection.execute(sql, parameters).fetchall()

    key = drain_key(asking.question_id)
    held = rows(SELECT_SETTING, key)
    kept = json.loads(from_sql(held[0][0])) if held and held[0][0] is not None else None
    if kept is None:
        waiting = rows(_ANYTHING) if asking.takes else []
        drained = _transients(rows(_PENDING, json_ids(asking.chain))) if waiting else []
        kept = {"drained": [transient.id for transient in drained], "overlays": {}}
    elif asking.model_id not in kept["overlays"]:
        drained = _transients(rows(_NAMED, json_ids(kept["drained"])))
    batch = Batch(now_s)
    if asking.model_id not in kept["overlays"]:
        kept["overlays"][asking.model_id] = build(drained).decode()
        save_session_setting(batch, {key: json.dumps(kept)})
    batch.add(_DRAIN, *((resource_id, asking.answer_id) for resource_id in kept["drained"]))
    write_batches([batch], connection)
    return str(kept["overlays"][asking.model_id]).encode()


async def purge(tx: Transaction, since_s: float, anchors: Collection[str]) -> int:
    """See `DirectiveStore.purge_transients`."""
    rows = await tx.rows(_ORPHANS, (since_s, json_ids(list(anchors)), DOCUMENT_PREFIX))
    batch = Batch(tx.now_s)
    batch.add("DELETE FROM echo_resources WHERE id = ?", *rows)
    batch.add("DELETE FROM drains WHERE resource_id = ?", *rows)
    await tx.execute(batch)
    return len(rows)


def _transients(rows: Sequence[Sequence[object]]) -> list[Transient]:
    """Those that can be read; one that was sealed with a key that is gone is passed over."""
    return [
        Transient(
            id=str(row[0]),
            type="aec_event" if row[1] == "aec_event" else "aec_directive",
            name=str(row[2]),
            payload=from_sql(row[3]),
            created_at_s=int(str(row[4])),
            anchor_message_id=str(row[5] or ""),
        )
        for row in rows
        if isinstance(row[3], str | bytes)
    ]
