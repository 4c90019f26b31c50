"""The building blocks of a sealing: each adds the statements for one table to the transaction of its caller.

Values travel as bytes. A string that UTF-8 cannot hold (a lone surrogate out of broken JSON) is kept as a BLOB, every
other one as TEXT, so that nothing a model writes can make a sealing fail.
"""

from collections.abc import Iterable, Mapping, Sequence

from echo_constants.limits import BLOB_THRESHOLD_BYTES
from echo_core.records import Resource, Seal, Shadow, SignatureRow, VersionLock
from echo_protocol import sealed_hash
from echo_state_manager._batch import Batch
from echo_state_manager._blobs import Cut, cut_json, cut_whole, refs_json
from echo_state_manager._sql import (
    APPEND_LOG,
    CARRY_SIGNATURES,
    CARRY_TOOL_IO,
    DELETE_LOG,
    DELETE_SIGNATURES,
    DROP_STALE_SIGNATURES,
    INSERT_BLOB,
    INSERT_SIGNATURE,
    INSERT_SUTURE,
    KEEP_FORMER,
    LOCK_SHADOW,
    RELINK_SHADOW,
    REPLACE_TOOL_IO,
    UPSERT_RESOURCE,
    UPSERT_SETTING,
    UPSERT_SHADOW,
)

PARTS, OVERLAY, VISIBLE, TOOL_IO, SIGNATURE = "parts", "overlay", "visible", "tool_io", "signature"


def to_sql(text: str) -> str | bytes:
    """A string as SQLite can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def seal_message(batch: Batch, seal: Seal) -> None:
    """All of one sealing in the seed's order: shadow, signatures, tool journal, suture index with settings."""
    shadow = seal.shadow
    save_message_shadow(batch, shadow)
    save_signature_by_id(batch, shadow.cumulative_hash, seal.signatures)
    if seal.tool_io_json is not None:
        save_cognitive_data(batch, shadow.cumulative_hash, seal.tool_io_json)
    index_suture(batch, shadow)
    save_session_setting(batch, seal.settings)
    batch.add(DELETE_LOG, (shadow.message_id,))


def save_message_shadow(batch: Batch, shadow: Shadow) -> None:
    """Write one shadow. What the message was before moves to `rich_payloads` if its bytes were others.

    Args:
        batch: the caller's transaction.
        shadow: with its hashes; without a `cumulative_hash` while it streams.
    """
    parts, cuts = cut_json(PARTS, shadow.contents_json)
    overlay, overlay_cuts = cut_json(OVERLAY, shadow.overlay_json)
    visible: str | bytes = to_sql(shadow.visible_text)
    visible_cuts: list[Cut] = []
    if len(shadow.visible_text) * 4 > BLOB_THRESHOLD_BYTES:
        rest, visible_cuts = cut_whole(VISIBLE, shadow.visible_text.encode("utf-8", "surrogatepass"))
        visible = rest if visible_cuts else visible
    cuts = [*cuts, *overlay_cuts, *visible_cuts]
    sealed = sealed_hash(contents_json=shadow.contents_json, overlay_json=shadow.overlay_json)
    lock = shadow.lock
    save_blobs(batch, cuts)
    batch.add(KEEP_FORMER, (shadow.message_id, sealed))
    batch.add(DROP_STALE_SIGNATURES, (shadow.cumulative_hash, shadow.message_id, sealed))
    batch.add(CARRY_SIGNATURES, (shadow.cumulative_hash, shadow.message_id, sealed))
    batch.add(CARRY_TOOL_IO, (shadow.cumulative_hash, shadow.message_id, sealed))
    batch.add(
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
            sealed,
            batch.now_s,
        ),
    )


def save_signature_by_id(batch: Batch, cumulative_hash: str, signatures: Sequence[SignatureRow]) -> None:
    """Write one row a signed part; those that the same message had under the same hash are replaced."""
    rows: list[tuple[object, ...]] = []
    for row in signatures:
        value = row.thought_signature.encode("utf-8", "surrogatepass")
        _, cuts = cut_whole(SIGNATURE, value)
        save_blobs(batch, cuts)
        kept = "" if cuts else to_sql(row.thought_signature)
        sha256 = cuts[0].sha256 if cuts else None
        place = (cumulative_hash, row.message_id, row.content_index, row.part_index)
        rows.append((*place, kept, row.model_id, row.scope, sha256, batch.now_s))
    batch.add(DELETE_SIGNATURES, *((cumulative_hash, key) for key in dict.fromkeys(r.message_id for r in signatures)))
    batch.add(INSERT_SIGNATURE, *rows)


def save_cognitive_data(batch: Batch, cumulative_hash: str, tool_io_json: bytes) -> None:
    """Write the tool calls and answers of a message."""
    rest, cuts = cut_json(TOOL_IO, tool_io_json)
    save_blobs(batch, cuts)
    batch.add(REPLACE_TOOL_IO, (cumulative_hash, rest, refs_json(cuts), batch.now_s))


def index_suture(batch: Batch, shadow: Shadow) -> None:
    """Append one link, none while the message streams.

    Two answers with the same content on the same chain share one hash: the first keeps the entry.
    """
    if shadow.cumulative_hash:
        hashes = (shadow.invariant_hash, shadow.parent_hash)
        row = (shadow.cumulative_hash, shadow.chat_id, *hashes, shadow.message_id, batch.now_s)
        batch.add(INSERT_SUTURE, row)


def relink_shadow(batch: Batch, shadow: Shadow) -> None:
    """Hang a stored message under another parent; its bytes, signatures and tool journal stay.

    Args:
        batch: the caller's transaction.
        shadow: the message with its new `parent_hash` and `cumulative_hash`.
    """
    sealed = sealed_hash(contents_json=shadow.contents_json, overlay_json=shadow.overlay_json)
    batch.add(CARRY_SIGNATURES, (shadow.cumulative_hash, shadow.message_id, sealed))
    batch.add(CARRY_TOOL_IO, (shadow.cumulative_hash, shadow.message_id, sealed))
    batch.add(RELINK_SHADOW, (shadow.parent_hash, shadow.cumulative_hash, shadow.message_id))
    index_suture(batch, shadow)


def lock_shadow(batch: Batch, message_id: str, lock: VersionLock) -> None:
    """Record what Open WebUI's row looks like; nothing happens for a message without a shadow."""
    batch.add(LOCK_SHADOW, (lock.updated_at_s, lock.fingerprint, int(lock.provisional), message_id))


def save_session_setting(batch: Batch, settings: Mapping[str, str]) -> None:
    """Write values of `echo_settings`."""
    batch.add(UPSERT_SETTING, *((key, to_sql(value), batch.now_s) for key, value in settings.items()))


def save_resource(batch: Batch, resource: Resource) -> None:
    """Write one row of `echo_resources`."""
    batch.add(
        UPSERT_RESOURCE,
        (
            resource.id,
            to_sql(resource.name),
            resource.kind,
            resource.status,
            resource.item_type,
            batch.now_s,
            to_sql(resource.payload),
            resource.anchor_message_id,
        ),
    )


def append_turn_log(batch: Batch, message_id: str, data: Sequence[bytes]) -> None:
    """Append records of the running turn."""
    batch.add(APPEND_LOG, *((message_id, record, message_id) for record in data))


def save_blobs(batch: Batch, cuts: Iterable[Cut]) -> None:
    """Store what is not stored yet."""
    batch.add(INSERT_BLOB, *((cut.sha256, cut.data) for cut in cuts))
