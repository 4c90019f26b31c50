"""The building blocks of a sealing: each writes or reads one table inside the transaction of its caller.

Values travel as bytes. A string that UTF-8 cannot hold (a lone surrogate out of broken JSON) is kept as a BLOB, every
other one as TEXT, so that nothing a model writes can make a sealing fail.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from anyio import to_thread

from echo_constants.limits import BLOB_THRESHOLD_BYTES
from echo_core.records import Shadow, SignatureRow, VersionLock
from echo_state_manager._blobs import Cut, cut_json, cut_whole, fill, missing, refs_json, wanted
from echo_state_manager._database import Transaction
from echo_state_manager._errors import DamagedFileError
from echo_state_manager._seam import sealed_hash
from echo_state_manager._sql import (
    INSERT_SIGNATURE,
    INSERT_SUTURE,
    KEEP_FORMER,
    SELECT_FORMER,
    SELECT_SHADOWS,
    SELECT_SIGNATURES,
    UPSERT_SETTING,
    UPSERT_SHADOW,
)

#: Above this, cutting and hashing leave the event loop. Source: about 1 ms of SHA-256 on the development machines.
_OFF_LOOP_BYTES: Final = 512 * 1024

_PARTS, _OVERLAY, _VISIBLE, _TOOL_IO = "parts", "overlay", "visible", "tool_io"


def to_sql(text: str) -> str | bytes:
    """A string as SQLite can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sql(value: str | bytes) -> str:
    """Undo `to_sql`."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def json_ids(ids: Sequence[str]) -> str:
    """Ids as one parameter for `json_each`, so that their number has no limit."""
    return json.dumps(list(ids))


async def get_message_shadow(tx: Transaction, message_id: str, updated_at: int | None = None) -> Shadow | None:
    """The shadow of one message, under the Version Lock.

    Args:
        tx: a transaction or snapshot.
        message_id: Open WebUI's message id.
        updated_at: the row's `updated_at` in epoch seconds; None asks for the shadow whatever its lock says.

    Returns:
        None when there is no shadow, or when its lock is absent, provisional or of another `updated_at`: the caller
        then compares fingerprints.
    """
    shadow = (await get_message_shadows(tx, [message_id])).get(message_id)
    if shadow is None or updated_at is None:
        return shadow
    lock = shadow.lock
    return shadow if lock is not None and not lock.provisional and lock.updated_at_s == updated_at else None


async def get_message_shadows(tx: Transaction, message_ids: Sequence[str]) -> dict[str, Shadow]:
    """Shadows by message id, complete bytes; ids without a shadow are left out."""
    rows = await tx.rows(SELECT_SHADOWS, (json_ids(message_ids),))
    return {row[0]: shadow for row, shadow in zip(rows, await shadows_of(tx, rows), strict=True)}


async def save_message_shadow(tx: Transaction, shadow: Shadow) -> None:
    """Write one shadow. What the message was before moves to `rich_payloads` if its content was another."""
    parts, cuts = await _cut_json(_PARTS, shadow.contents_json)
    overlay, overlay_cuts = await _cut_json(_OVERLAY, shadow.overlay_json)
    visible: str | bytes = to_sql(shadow.visible_text)
    visible_cuts: list[Cut] = []
    if len(shadow.visible_text) * 4 > BLOB_THRESHOLD_BYTES:
        left, visible_cuts = cut_whole(_VISIBLE, shadow.visible_text.encode("utf-8", "surrogatepass"))
        visible = left if visible_cuts else visible
    cuts = [*cuts, *overlay_cuts, *visible_cuts]
    await save_blobs(tx, cuts)
    await tx.rows(KEEP_FORMER, (shadow.message_id, shadow.invariant_hash))
    lock = shadow.lock
    await tx.rows(
        UPSERT_SHADOW,
        (
            shadow.message_id,
            shadow.chat_id,
            shadow.role,
            parts,
            overlay,
            shadow.invariant_hash,
            shadow.parent_hash,
            shadow.cumulative_hash,
            visible,
            shadow.state,
            lock.updated_at_s if lock else None,
            lock.fingerprint if lock else None,
            int(lock.provisional) if lock else 0,
            shadow.backend,
            shadow.model_id,
            shadow.client_hash,
            refs_json(cuts),
            sealed_hash(contents_json=shadow.contents_json, overlay_json=shadow.overlay_json),
            tx.now_s,
        ),
    )


async def get_former_shadows(tx: Transaction, message_id: str) -> list[Shadow]:
    """What a message was before it was recovered or sealed anew with other content, oldest first."""
    rows = await tx.rows(SELECT_FORMER, (message_id,))
    return await shadows_of(tx, rows)


async def lock_shadow(tx: Transaction, message_id: str, lock: VersionLock) -> None:
    """Record what Open WebUI's row looks like; nothing happens for a message without a shadow."""
    await tx.rows(
        "UPDATE message_shadows SET updated_at = ?, fingerprint = ?, lock_provisional = ? WHERE message_id = ?",
        (lock.updated_at_s, lock.fingerprint, int(lock.provisional), message_id),
    )


async def save_signature_by_id(tx: Transaction, cumulative_hash: str, signatures: Sequence[SignatureRow]) -> None:
    """Write one row a signed part; those that the same message had under the same hash are replaced."""
    rows: list[tuple[Any, ...]] = []
    for row in signatures:
        _, cuts = await _cut_whole("", row.thought_signature.encode("utf-8", "surrogatepass"))
        await save_blobs(tx, cuts)
        kept = "" if cuts else to_sql(row.thought_signature)
        sha256 = cuts[0].sha256 if cuts else None
        place = (cumulative_hash, row.message_id, row.content_index, row.part_index)
        rows.append((*place, kept, row.model_id, row.scope, sha256, tx.now_s))
    for message_id in dict.fromkeys(row.message_id for row in signatures):
        await tx.rows(
            "DELETE FROM cognitive_signatures WHERE message_id = ? AND cumulative_hash = ?",
            (message_id, cumulative_hash),
        )
    await tx.many(INSERT_SIGNATURE, rows)


async def get_signature_by_id(tx: Transaction, message_id: str) -> list[SignatureRow]:
    """The signatures of a message as it is sealed now, in the order of its parts."""
    rows = await tx.rows(SELECT_SIGNATURES, (message_id,))
    if any(row[3] is None for row in rows):
        raise DamagedFileError(f"a signature of {message_id} has lost its blob")
    return [
        SignatureRow(
            message_id=row[0],
            content_index=row[1],
            part_index=row[2],
            thought_signature=from_sql(row[3]),
            model_id=row[4],
            scope=row[5],
        )
        for row in rows
    ]


async def save_cognitive_data(tx: Transaction, cumulative_hash: str, tool_io_json: bytes) -> None:
    """Write the tool calls and answers of a message; the hash covers them, so the first writing is the only one."""
    left, cuts = await _cut_json(_TOOL_IO, tool_io_json)
    await save_blobs(tx, cuts)
    await tx.rows(
        "INSERT OR REPLACE INTO tool_journal (cumulative_hash, io_json, blob_refs, updated_at) VALUES (?, ?, ?, ?)",
        (cumulative_hash, left, refs_json(cuts), tx.now_s),
    )


async def get_cognitive_data(tx: Transaction, cumulative_hash: str) -> bytes | None:
    """The tool calls and answers sealed under a hash, byte for byte."""
    rows = await tx.rows("SELECT io_json, blob_refs FROM tool_journal WHERE cumulative_hash = ?", (cumulative_hash,))
    if not rows:
        return None
    blobs = await _load_blobs(tx, [rows[0][1]])
    return fill(_TOOL_IO, rows[0][0], rows[0][1], blobs.__getitem__)


async def index_suture(tx: Transaction, shadow: Shadow) -> None:
    """Append one link. Two answers with the same content on the same chain share one hash: the first keeps it."""
    await tx.rows(
        INSERT_SUTURE,
        (
            shadow.cumulative_hash,
            shadow.chat_id,
            shadow.invariant_hash,
            shadow.parent_hash,
            shadow.message_id,
            tx.now_s,
        ),
    )


async def save_session_setting(tx: Transaction, settings: Mapping[str, str]) -> None:
    """Write values of `echo_settings`."""
    await tx.many(UPSERT_SETTING, [(key, to_sql(value), tx.now_s) for key, value in settings.items()])


async def append_turn_log(tx: Transaction, message_id: str, data: Sequence[bytes]) -> None:
    """Append records of the running turn."""
    rows = await tx.rows("SELECT coalesce(max(seq), -1) FROM turn_log WHERE message_id = ?", (message_id,))
    first = rows[0][0] + 1
    await tx.many(
        "INSERT INTO turn_log (message_id, seq, data) VALUES (?, ?, ?)",
        [(message_id, first + n, record) for n, record in enumerate(data)],
    )


async def save_blobs(tx: Transaction, cuts: Iterable[Cut]) -> None:
    """Store what is not stored yet."""
    await tx.many("INSERT OR IGNORE INTO blobs (sha256, data) VALUES (?, ?)", [(cut.sha256, cut.data) for cut in cuts])


async def shadows_of(tx: Transaction, rows: Sequence[Sequence[Any]]) -> list[Shadow]:
    """Rows of `SELECT_SHADOWS` as records, their blobs put back."""
    blobs = await _load_blobs(tx, [row[16] for row in rows if row[16]])
    return [shadow_of(row, blobs) for row in rows]


def shadow_of(row: Sequence[Any], blobs: Mapping[str, bytes]) -> Shadow:
    """One row of `SELECT_SHADOWS` as a record."""
    parts, overlay, visible, refs = row[3], row[4], row[8], row[16]
    if refs:
        parts = fill(_PARTS, parts, refs, blobs.__getitem__)
        overlay = fill(_OVERLAY, overlay, refs, blobs.__getitem__)
        visible = fill(_VISIBLE, visible, refs, blobs.__getitem__) if isinstance(visible, bytes) else visible
    lock = None
    if row[10] is not None:
        lock = VersionLock(updated_at_s=row[10], fingerprint=row[11], provisional=bool(row[12]))
    return Shadow(
        message_id=row[0],
        chat_id=row[1],
        role=row[2],
        contents_json=parts,
        overlay_json=overlay,
        invariant_hash=row[5],
        parent_hash=row[6],
        cumulative_hash=row[7],
        visible_text=from_sql(visible),
        state=row[9],
        lock=lock,
        backend=row[13],
        model_id=row[14],
        client_hash=row[15],
    )


async def _load_blobs(tx: Transaction, columns: Sequence[str]) -> dict[str, bytes]:
    keys = wanted(columns)
    if not keys:
        return {}
    sql = "SELECT sha256, data FROM blobs WHERE sha256 IN (SELECT value FROM json_each(?))"
    blobs: dict[str, bytes] = dict(await tx.rows(sql, (json_ids(keys),)))
    lost = missing(columns, blobs)
    if lost:
        raise DamagedFileError(f"{len(lost)} blobs are lost, the first is {lost[0]}")
    return blobs


async def _cut_json(field: str, document: bytes) -> tuple[bytes, list[Cut]]:
    if len(document) <= _OFF_LOOP_BYTES:
        return cut_json(field, document)
    return await to_thread.run_sync(cut_json, field, document)


async def _cut_whole(field: str, data: bytes) -> tuple[bytes, list[Cut]]:
    if len(data) <= _OFF_LOOP_BYTES:
        return cut_whole(field, data)
    return await to_thread.run_sync(cut_whole, field, data)
