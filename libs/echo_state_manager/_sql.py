"""The longer statements over session.db, so that column lists stand once and beside each other."""

# ruff: noqa: S608 - the pieces that are put together are constants of this file

from typing import Final


def opened(column: str, table: str = "", *, text: bool = False) -> str:
    """A column that may be encrypted, as it was given; NULL where it cannot be read.

    Args:
        column: its name.
        table: alias of its table in the statement, with a dot.
        text: False casts to bytes, for files that somebody edited by hand, where SQLite would give text.
    """
    plain = f"{table}{column}" if text else f"CAST({table}{column} AS BLOB)"
    return f"CASE {table}encrypted WHEN 0 THEN {plain} ELSE echo_open({table}{column}) END"


def _shadow_columns(parts: str) -> str:
    """Columns in the order that `_load.shadow_of` reads; `blob_refs` is the last one (index 16)."""
    return f"""message_id, chat_id, role, {opened(parts)}, {opened("overlay_json")}, invariant_hash, parent_hash,
        cumulative_hash, {opened("visible_text", text=True)}, state, updated_at, fingerprint, lock_provisional, backend,
        model_id, client_hash, blob_refs"""


SELECT_SHADOWS: Final = f"""
    SELECT {_shadow_columns("full_parts_json")}
    FROM message_shadows WHERE message_id IN (SELECT value FROM json_each(?))"""

SELECT_FORMER: Final = f"""
    SELECT {_shadow_columns("rich_parts_json")} FROM rich_payloads WHERE message_id = ? ORDER BY rowid"""

#: For going through a whole table: two more columns, the last one is where the next page begins.
PAGE_OF_SHADOWS: Final = f"""
    SELECT {_shadow_columns("full_parts_json")}, sealed_hash, rowid
    FROM message_shadows WHERE rowid > ? ORDER BY rowid LIMIT ?"""

PAGE_OF_FORMER: Final = f"""
    SELECT {_shadow_columns("rich_parts_json")}, sealed_hash, rowid
    FROM rich_payloads WHERE rowid > ? ORDER BY rowid LIMIT ?"""

#: With nothing cached only the newest revision matters.
SELECT_NEWEST: Final = "SELECT '', coalesce(max(revision), 0) FROM message_shadows"

#: What was written since a revision. No message has an empty id: it stands for all of them, after a deletion.
SELECT_CHANGED: Final = """
    SELECT message_id, revision FROM message_shadows WHERE revision > ?1
    UNION ALL SELECT '', CAST(value AS INTEGER) FROM echo_settings
        WHERE key = '_revision_floor' AND CAST(value AS INTEGER) > ?1"""

#: Deleting takes a revision, too: it must not be given again, and whoever has read before must notice.
RAISE_FLOOR: Final = """
    INSERT INTO echo_settings (key, value, updated_at)
    SELECT '_revision_floor', (SELECT max(coalesce((SELECT max(revision) FROM message_shadows), 0),
        coalesce((SELECT CAST(value AS INTEGER) FROM echo_settings WHERE key = '_revision_floor'), 0)) + 1), ?2
    WHERE EXISTS (SELECT 1 FROM message_shadows WHERE created_at < ?1)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"""

#: A message that says something else than before has to be embedded anew.
UPSERT_SHADOW: Final = """
    INSERT INTO message_shadows (message_id, chat_id, role, full_parts_json, overlay_json, invariant_hash, parent_hash,
        cumulative_hash, visible_text, state, updated_at, fingerprint, lock_provisional, backend, model_id,
        client_hash, blob_refs, sealed_hash, created_at, encrypted, revision)
    VALUES (?, ?, ?, echo_seal(?), echo_seal(?), ?, ?, ?, echo_seal(?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, echo_encrypts(),
        (SELECT max(coalesce((SELECT max(revision) FROM message_shadows), 0),
            coalesce((SELECT CAST(value AS INTEGER) FROM echo_settings WHERE key = '_revision_floor'), 0)) + 1))
    ON CONFLICT (message_id) DO UPDATE SET
        chat_id = excluded.chat_id, role = excluded.role, full_parts_json = excluded.full_parts_json,
        overlay_json = excluded.overlay_json, parent_hash = excluded.parent_hash,
        is_embedded = is_embedded AND invariant_hash = excluded.invariant_hash,
        invariant_hash = excluded.invariant_hash, cumulative_hash = excluded.cumulative_hash,
        visible_text = excluded.visible_text, state = excluded.state, updated_at = excluded.updated_at,
        fingerprint = excluded.fingerprint, lock_provisional = excluded.lock_provisional, backend = excluded.backend,
        model_id = excluded.model_id, client_hash = excluded.client_hash, blob_refs = excluded.blob_refs,
        sealed_hash = excluded.sealed_hash, created_at = excluded.created_at, encrypted = excluded.encrypted,
        revision = excluded.revision"""

#: `+rowid` keeps SQLite from walking through the whole table in its own order: the index holds only what waits.
SELECT_UNEMBEDDED: Final = """
    SELECT message_id FROM message_shadows WHERE is_embedded = 0 AND state <> 'streaming' ORDER BY +rowid DESC"""

#: What was sealed anew meanwhile waits on.
MARK_EMBEDDED: Final = "UPDATE message_shadows SET is_embedded = 1 WHERE message_id = ? AND invariant_hash = ?"

LOCK_SHADOW: Final = """
    UPDATE message_shadows SET updated_at = ?, fingerprint = ?, lock_provisional = ?,
        revision = (SELECT max(coalesce((SELECT max(revision) FROM message_shadows), 0),
            coalesce((SELECT CAST(value AS INTEGER) FROM echo_settings WHERE key = '_revision_floor'), 0)) + 1)
    WHERE message_id = ?"""

KEEP_FORMER: Final = """
    INSERT OR REPLACE INTO rich_payloads (message_id, chat_id, role, rich_parts_json, updated_at, is_embedded,
        invariant_hash, parent_hash, cumulative_hash, sealed_hash, fingerprint, lock_provisional, state, overlay_json,
        visible_text, backend, model_id, client_hash, blob_refs, created_at, encrypted)
    SELECT message_id, chat_id, role, full_parts_json, updated_at, is_embedded,
        invariant_hash, parent_hash, cumulative_hash, sealed_hash, fingerprint, lock_provisional, state, overlay_json,
        visible_text, backend, model_id, client_hash, blob_refs, created_at, encrypted
    FROM message_shadows
    WHERE message_id = ? AND state <> 'streaming' AND cumulative_hash <> '' AND sealed_hash <> ?"""

#: Other bytes can have the same visible content and so the same hash: their signatures are not those of the new parts.
DROP_STALE_SIGNATURES: Final = """
    DELETE FROM cognitive_signatures WHERE cumulative_hash = ?1 AND message_id = ?2
        AND NOT EXISTS (SELECT 1 FROM message_shadows m WHERE m.message_id = ?2 AND m.sealed_hash = ?3)"""

SELECT_BY_CLIENT_HASH: Final = """
    SELECT message_id, max(rowid) FROM message_shadows
    WHERE client_hash <> '' AND client_hash IN (SELECT value FROM json_each(?)) GROUP BY client_hash"""

SELECT_SIGNATURES: Final = f"""
    SELECT s.message_id, s.content_index, s.part_index,
        CASE WHEN s.blob_sha256 IS NULL THEN {opened("thought_signature", "s.", text=True)}
            ELSE {opened("data", "b.")} END,
        s.model_id, s.scope
    FROM cognitive_signatures s JOIN message_shadows m USING (message_id, cumulative_hash)
    LEFT JOIN blobs b ON b.sha256 = s.blob_sha256
    WHERE s.message_id = ? ORDER BY s.content_index, s.part_index"""

ALL_SIGNATURES: Final = f"""
    SELECT message_id, cumulative_hash, content_index, part_index, {opened("thought_signature", "s.", text=True)},
        blob_sha256, b.sha256
    FROM cognitive_signatures s LEFT JOIN blobs b ON b.sha256 = blob_sha256"""

#: A message sealed again with the same bytes under another parent keeps its signatures…
CARRY_SIGNATURES: Final = """
    INSERT OR IGNORE INTO cognitive_signatures (cumulative_hash, message_id, content_index, part_index,
        thought_signature, model_id, scope, blob_sha256, updated_at, encrypted)
    SELECT ?1, message_id, content_index, part_index, thought_signature, s.model_id, s.scope, s.blob_sha256,
        s.updated_at, s.encrypted
    FROM cognitive_signatures s JOIN message_shadows m USING (message_id, cumulative_hash)
    WHERE message_id = ?2 AND m.sealed_hash = ?3 AND ?1 <> ''"""

#: …and its tool journal.
CARRY_TOOL_IO: Final = """
    INSERT OR IGNORE INTO tool_journal (cumulative_hash, io_json, blob_refs, updated_at, encrypted)
    SELECT ?1, t.io_json, t.blob_refs, t.updated_at, t.encrypted
    FROM tool_journal t JOIN message_shadows m USING (cumulative_hash)
    WHERE m.message_id = ?2 AND m.sealed_hash = ?3 AND ?1 <> ''"""

DELETE_SIGNATURES: Final = "DELETE FROM cognitive_signatures WHERE cumulative_hash = ? AND message_id = ?"

INSERT_SIGNATURE: Final = """
    INSERT INTO cognitive_signatures (cumulative_hash, message_id, content_index, part_index, thought_signature,
        model_id, scope, blob_sha256, updated_at, encrypted)
    VALUES (?, ?, ?, ?, echo_seal(?), ?, ?, ?, ?, echo_encrypts())"""

REPLACE_TOOL_IO: Final = """
    INSERT OR REPLACE INTO tool_journal (cumulative_hash, io_json, blob_refs, updated_at, encrypted)
    VALUES (?, echo_seal(?), ?, ?, echo_encrypts())"""

SELECT_TOOL_IO: Final = f"SELECT {opened('io_json')}, blob_refs FROM tool_journal WHERE cumulative_hash = ?"

PAGE_OF_TOOL_IO: Final = f"""
    SELECT cumulative_hash, {opened("io_json")}, blob_refs, rowid FROM tool_journal
    WHERE rowid > ? ORDER BY rowid LIMIT ?"""

INSERT_SUTURE: Final = """
    INSERT OR IGNORE INTO suture_index (cumulative_hash, chat_id, invariant_hash, parent_hash, message_id, timestamp)
    VALUES (?, ?, ?, ?, ?, ?)"""

RELINK_SHADOW: Final = """
    UPDATE message_shadows SET parent_hash = ?, cumulative_hash = ?,
        revision = (SELECT max(coalesce((SELECT max(revision) FROM message_shadows), 0),
            coalesce((SELECT CAST(value AS INTEGER) FROM echo_settings WHERE key = '_revision_floor'), 0)) + 1)
    WHERE message_id = ?"""

UPSERT_SETTING: Final = """
    INSERT INTO echo_settings (key, value, updated_at, encrypted) VALUES (?, echo_seal(?), ?, echo_encrypts())
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
        encrypted = excluded.encrypted"""

UPSERT_RESOURCE: Final = """
    INSERT INTO echo_resources (id, name, resource_type, status, item_type, updated_at, payload, created_at,
        anchor_message_id, encrypted)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, echo_seal(?7), ?6, nullif(?8, ''), echo_encrypts())
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, resource_type = excluded.resource_type,
        status = excluded.status, item_type = excluded.item_type, updated_at = excluded.updated_at,
        payload = excluded.payload, anchor_message_id = excluded.anchor_message_id, encrypted = excluded.encrypted"""

SELECT_RESOURCES: Final = f"""
    SELECT id, name, resource_type, {opened("payload", text=True)}, status, item_type, coalesce(anchor_message_id, '')
    FROM echo_resources WHERE resource_type = ? ORDER BY created_at, rowid"""

SELECT_SETTING: Final = f"SELECT {opened('value', text=True)} FROM echo_settings WHERE key = ?"
SELECT_SETTINGS: Final = f"""
    SELECT key, {opened("value", text=True)} FROM echo_settings WHERE key IN (SELECT value FROM json_each(?))"""

SELECT_SETTINGS_BEGINNING: Final = f"""
    SELECT key, {opened("value", text=True)} FROM echo_settings WHERE substr(key, 1, ?) = ? ORDER BY rowid"""

#: The first one wins; touching the row that is there makes SQLite return it.
CLAIM_SETTING: Final = f"""
    INSERT INTO echo_settings (key, value, updated_at, encrypted) VALUES (?, echo_seal(?), ?, echo_encrypts())
    ON CONFLICT (key) DO UPDATE SET value = value RETURNING {opened("value", text=True)}"""

INSERT_SETTING: Final = """
    INSERT OR IGNORE INTO echo_settings (key, value, updated_at, encrypted)
    VALUES (?, echo_seal(?), ?, echo_encrypts())"""

#: What is there already is not encrypted once more only to be thrown away.
INSERT_BLOB: Final = """
    INSERT OR IGNORE INTO blobs (sha256, data, encrypted) SELECT ?1, echo_seal(?2), echo_encrypts()
    WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE sha256 = ?1)"""

SELECT_BLOBS: Final = f"SELECT sha256, {opened('data')} FROM blobs WHERE sha256 IN (SELECT value FROM json_each(?))"

PAGE_OF_BLOBS: Final = f"SELECT sha256, {opened('data')}, rowid FROM blobs WHERE rowid > ? ORDER BY rowid LIMIT ?"

APPEND_LOG: Final = """
    INSERT INTO turn_log (message_id, seq, data, encrypted)
    SELECT ?, coalesce(max(seq), -1) + 1, echo_seal(?), echo_encrypts() FROM turn_log WHERE message_id = ?"""

SELECT_LOG: Final = f"SELECT {opened('data')} FROM turn_log WHERE message_id = ? ORDER BY seq"

DELETE_LOG: Final = "DELETE FROM turn_log WHERE message_id = ?"

MOVE_TOOL_IO: Final = """
    INSERT OR IGNORE INTO tool_journal (cumulative_hash, io_json, blob_refs, updated_at, encrypted)
    SELECT ?, io_json, blob_refs, updated_at, encrypted FROM tool_journal WHERE cumulative_hash = ?"""

SET_INVARIANT: Final = "UPDATE message_shadows SET invariant_hash = ? WHERE message_id = ?"

DELETE_STRAY_SIGNATURES: Final = """
    DELETE FROM cognitive_signatures WHERE cumulative_hash NOT IN (SELECT cumulative_hash FROM suture_index)"""

DELETE_ORPHAN_BLOBS: Final = """
    DELETE FROM blobs WHERE sha256 NOT IN (
        SELECT json_extract(value, '$[2]') FROM message_shadows, json_each(blob_refs) WHERE blob_refs <> ''
        UNION SELECT json_extract(value, '$[2]') FROM rich_payloads, json_each(blob_refs) WHERE blob_refs <> ''
        UNION SELECT json_extract(value, '$[2]') FROM tool_journal, json_each(blob_refs) WHERE blob_refs <> ''
        UNION SELECT blob_sha256 FROM cognitive_signatures WHERE blob_sha256 IS NOT NULL)"""

#: Messages sealed before a time, and what they were before.
FORGET_BEFORE: Final = (
    "DELETE FROM message_shadows WHERE created_at < ?",
    "DELETE FROM rich_payloads WHERE created_at < ?",
)

#: What no remaining message names. Of the suture index the ancestors of what remains stay: hashes without content.
FORGET_ORPHANS: Final = (
    "DELETE FROM rich_payloads WHERE message_id NOT IN (SELECT message_id FROM message_shadows)",
    "DELETE FROM cognitive_signatures WHERE message_id NOT IN (SELECT message_id FROM message_shadows)",
    # Keys of kept tool results are `output:{message}:{call}…`, see `_outputs`.
    """DELETE FROM tool_journal WHERE CASE WHEN cumulative_hash LIKE 'output:%'
        THEN substr(cumulative_hash, 8, instr(substr(cumulative_hash, 8), ':') - 1)
            NOT IN (SELECT message_id FROM message_shadows)
        ELSE cumulative_hash NOT IN (
            SELECT cumulative_hash FROM message_shadows UNION SELECT cumulative_hash FROM rich_payloads) END""",
    """DELETE FROM suture_index WHERE cumulative_hash NOT IN (
        WITH RECURSIVE needed (hash) AS (
            SELECT cumulative_hash FROM message_shadows
            UNION SELECT cumulative_hash FROM rich_payloads
            UNION SELECT parent_hash FROM suture_index JOIN needed ON cumulative_hash = hash)
        SELECT hash FROM needed)""",
    "DELETE FROM turn_log WHERE message_id NOT IN (SELECT message_id FROM message_shadows)",
    DELETE_ORPHAN_BLOBS,
)

#: What is said, by table; the columns that are encrypted.
_CONTENT: Final = {
    "message_shadows": ("full_parts_json", "overlay_json", "visible_text"),
    "rich_payloads": ("rich_parts_json", "overlay_json", "visible_text"),
    "cognitive_signatures": ("thought_signature",),
    "tool_journal": ("io_json",),
    "blobs": ("data",),
    "turn_log": ("data",),
    "echo_settings": ("value",),
    "echo_resources": ("payload",),
}

#: Makes a copy of a file plain; what does not open is left out of it.
DECRYPT: Final = (
    *(
        f"UPDATE OR IGNORE {table} SET {', '.join(f'{name} = echo_open({name})' for name in names)}, encrypted = 0 "
        "WHERE encrypted <> 0"
        for table, names in _CONTENT.items()
    ),
    *(f"DELETE FROM {table} WHERE encrypted <> 0" for table in _CONTENT),
    "DELETE FROM vault_meta WHERE key = 'check'",
)

#: Messages that can be carried over to another file, parents mostly first.
TRANSFERABLE: Final = """
    SELECT message_id FROM message_shadows WHERE state <> 'streaming' AND cumulative_hash <> '' ORDER BY rowid"""

#: Settings of the chat; those that begin with an underscore are the file's own.
ALL_SETTINGS: Final = f"SELECT key, {opened('value', text=True)} FROM echo_settings WHERE substr(key, 1, 1) <> '_'"

ALL_RESOURCES: Final = f"""
    SELECT id, name, resource_type, status, item_type, updated_at, {opened("payload", text=True)}, created_at,
        anchor_message_id FROM echo_resources ORDER BY rowid"""

INSERT_RESOURCE: Final = """
    INSERT OR IGNORE INTO echo_resources (id, name, resource_type, status, item_type, updated_at, payload, created_at,
        anchor_message_id, encrypted)
    VALUES (?, ?, ?, ?, ?, ?, echo_seal(?), ?, ?, echo_encrypts())"""

#: Messages by id, with all that belongs to them and to no other.
FORGET_MESSAGES: Final = "DELETE FROM message_shadows WHERE message_id IN (SELECT value FROM json_each(?))"
