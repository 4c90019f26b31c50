"""Reading session.db back into records, inside the transaction or snapshot of the caller."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from echo_core.records import Shadow, SignatureRow, VersionLock
from echo_state_manager._blobs import fill, missing, wanted
from echo_state_manager._database import Transaction
from echo_state_manager._save import OVERLAY, PARTS, TOOL_IO, VISIBLE
from echo_state_manager._sql import SELECT_BLOBS, SELECT_FORMER, SELECT_SHADOWS, SELECT_SIGNATURES, SELECT_TOOL_IO

logger = logging.getLogger(__name__)


def from_sql(value: str | bytes) -> str:
    """Undo `_save.to_sql`."""
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
    return under_lock((await get_message_shadows(tx, [message_id])).get(message_id), updated_at)


def under_lock(shadow: Shadow | None, updated_at_s: int | None) -> Shadow | None:
    """A shadow, if its lock is that of a row written then; with None whatever its lock says."""
    return shadow if shadow is None or updated_at_s is None or is_locked_at(shadow, updated_at_s) else None


def is_locked_at(shadow: Shadow, updated_at_s: int) -> bool:
    """Whether a final lock says that Open WebUI's row has not been written since."""
    lock = shadow.lock
    return lock is not None and not lock.provisional and lock.updated_at_s == updated_at_s


async def get_message_shadows(tx: Transaction, message_ids: Sequence[str]) -> dict[str, Shadow]:
    """Shadows by message id, complete bytes; ids without a readable shadow are left out."""
    return {shadow.message_id: shadow for shadow in await _shadows(tx, SELECT_SHADOWS, json_ids(message_ids))}


async def get_former_shadows(tx: Transaction, message_id: str) -> list[Shadow]:
    """What a message was before it was recovered or sealed anew with other content, oldest first."""
    return await _shadows(tx, SELECT_FORMER, message_id)


async def get_signature_by_id(tx: Transaction, message_id: str) -> list[SignatureRow]:
    """The signatures of a message as it is sealed now, in the order of its parts; a lost blob takes its own along."""
    return [
        SignatureRow(
            message_id=row[0],
            content_index=row[1],
            part_index=row[2],
            thought_signature=from_sql(row[3]),
            model_id=row[4],
            scope=row[5],
        )
        for row in await tx.rows(SELECT_SIGNATURES, (message_id,))
        if row[3] is not None
    ]


async def get_cognitive_data(tx: Transaction, cumulative_hash: str) -> bytes | None:
    """The tool calls and answers sealed under a hash, byte for byte."""
    rows = await tx.rows(SELECT_TOOL_IO, (cumulative_hash,))
    if not rows:
        return None
    blobs = await load_blobs(tx, [rows[0][1]])
    if rows[0][0] is None or missing([rows[0][1]], blobs):
        logger.error("The tool journal of %s lost a blob", cumulative_hash)
        return None
    return fill(TOOL_IO, rows[0][0], rows[0][1], blobs.__getitem__)


async def load_blobs(tx: Transaction, columns: Sequence[str]) -> dict[str, bytes]:
    """The blobs that some `blob_refs` columns name, by sha256; lost ones are left out."""
    keys = wanted(columns)
    if not keys:
        return {}
    rows = await tx.rows(SELECT_BLOBS, (json_ids(keys),))
    return {sha256: data for sha256, data in rows if data is not None}


def is_readable(row: Sequence[Any]) -> bool:
    """Whether the values of a row of `SELECT_SHADOWS` could be decrypted and are what we write."""
    if row[3] is None or row[4] is None or row[8] is None:
        return False
    try:
        from_sql(row[8])
    except UnicodeDecodeError:
        return False
    return True


async def _shadows(tx: Transaction, sql: str, parameter: str) -> list[Shadow]:
    rows = await tx.rows(sql, (parameter,))
    blobs = await load_blobs(tx, [row[16] for row in rows if row[16]])
    whole = [row for row in rows if is_readable(row) and not missing([row[16]], blobs)]
    if len(whole) < len(rows):
        # Left out like a message that was never sealed, so that it is recovered alone and the rest of the chat lives.
        logger.error("%d shadows lost a blob or cannot be decrypted and are left out", len(rows) - len(whole))
    return [shadow_of(row, blobs) for row in whole]


def shadow_of(row: Sequence[Any], blobs: Mapping[str, bytes]) -> Shadow:
    """One row of `SELECT_SHADOWS` as a record."""
    parts, overlay, visible, refs = row[3], row[4], row[8], row[16]
    if refs:
        parts = fill(PARTS, parts, refs, blobs.__getitem__)
        overlay = fill(OVERLAY, overlay, refs, blobs.__getitem__)
        visible = fill(VISIBLE, visible, refs, blobs.__getitem__) if isinstance(visible, bytes) else visible
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
