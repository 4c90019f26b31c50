"""The longer statements over session.db, so that column lists stand once and beside each other."""

from typing import Final

#: Columns in the order that `_tables.shadow_of` reads; `blob_refs` is the last one (index 16).
SELECT_SHADOWS: Final = """
    SELECT message_id, chat_id, role, full_parts_json, overlay_json, invariant_hash, parent_hash, cumulative_hash,
        visible_text, state, updated_at, fingerprint, lock_provisional, backend, model_id, client_hash, blob_refs
    FROM message_shadows WHERE message_id IN (SELECT value FROM json_each(?))"""

SELECT_FORMER: Final = """
    SELECT message_id, chat_id, role, rich_parts_json, overlay_json, invariant_hash, parent_hash, cumulative_hash,
        visible_text, state, updated_at, fingerprint, lock_provisional, backend, model_id, client_hash, blob_refs
    FROM rich_payloads WHERE message_id = ? ORDER BY rowid"""

#: A message that says something else than before has to be embedded anew.
UPSERT_SHADOW: Final = """
    INSERT INTO message_shadows (message_id, chat_id, role, full_parts_json, overlay_json, invariant_hash, parent_hash,
        cumulative_hash, visible_text, state, updated_at, fingerprint, lock_provisional, backend, model_id,
        client_hash, blob_refs, sealed_hash, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (message_id) DO UPDATE SET
        chat_id = excluded.chat_id, role = excluded.role, full_parts_json = excluded.full_parts_json,
        overlay_json = excluded.overlay_json, parent_hash = excluded.parent_hash,
        is_embedded = is_embedded AND invariant_hash = excluded.invariant_hash,
        invariant_hash = excluded.invariant_hash, cumulative_hash = excluded.cumulative_hash,
        visible_text = excluded.visible_text, state = excluded.state, updated_at = excluded.updated_at,
        fingerprint = excluded.fingerprint, lock_provisional = excluded.lock_provisional, backend = excluded.backend,
        model_id = excluded.model_id, client_hash = excluded.client_hash, blob_refs = excluded.blob_refs,
        sealed_hash = excluded.sealed_hash, created_at = excluded.created_at"""

KEEP_FORMER: Final = """
    INSERT OR REPLACE INTO rich_payloads (message_id, chat_id, role, rich_parts_json, updated_at, is_embedded,
        invariant_hash, parent_hash, cumulative_hash, sealed_hash, fingerprint, lock_provisional, state, overlay_json,
        visible_text, backend, model_id, client_hash, blob_refs, created_at)
    SELECT message_id, chat_id, role, full_parts_json, updated_at, is_embedded,
        invariant_hash, parent_hash, cumulative_hash, sealed_hash, fingerprint, lock_provisional, state, overlay_json,
        visible_text, backend, model_id, client_hash, blob_refs, created_at
    FROM message_shadows
    WHERE message_id = ? AND state <> 'streaming' AND invariant_hash <> '' AND invariant_hash <> ?"""

SELECT_BY_CLIENT_HASH: Final = """
    SELECT message_id, max(rowid) FROM message_shadows
    WHERE client_hash <> '' AND client_hash IN (SELECT value FROM json_each(?)) GROUP BY client_hash"""

SELECT_SIGNATURES: Final = """
    SELECT s.message_id, s.content_index, s.part_index,
        CASE WHEN s.blob_sha256 IS NULL THEN s.thought_signature ELSE b.data END, s.model_id, s.scope
    FROM cognitive_signatures s JOIN message_shadows m USING (message_id, cumulative_hash)
    LEFT JOIN blobs b ON b.sha256 = s.blob_sha256
    WHERE s.message_id = ? ORDER BY s.content_index, s.part_index"""

INSERT_SIGNATURE: Final = """
    INSERT INTO cognitive_signatures (cumulative_hash, message_id, content_index, part_index, thought_signature,
        model_id, scope, blob_sha256, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""

INSERT_SUTURE: Final = """
    INSERT OR IGNORE INTO suture_index (cumulative_hash, chat_id, invariant_hash, parent_hash, message_id, timestamp)
    VALUES (?, ?, ?, ?, ?, ?)"""

UPSERT_SETTING: Final = """
    INSERT INTO echo_settings (key, value, updated_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"""
