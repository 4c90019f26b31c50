"""The schema of session.db as numbered steps: forward only, each in one transaction with its own record.

A step that was released is never edited; a change is a new step at the end. `user_version` counts the steps, the table
`_migrations` names them. They run on the connection's own thread.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from echo_state_manager._errors import ForeignFileError, FutureFileError


@dataclass(frozen=True, slots=True)
class Migration:
    """One step.

    Args:
        name: `m001_initial`…; recorded in the file.
        statements: executed in order, one SQL statement each.
    """

    name: str
    statements: tuple[str, ...]


_SHADOW_COLUMNS: Final = """
    chat_id TEXT NOT NULL,
    role TEXT NOT NULL,
    {parts} BLOB NOT NULL,
    updated_at INTEGER,
    is_embedded INTEGER NOT NULL DEFAULT 0,
    invariant_hash TEXT NOT NULL DEFAULT '',
    parent_hash TEXT NOT NULL DEFAULT '',
    cumulative_hash TEXT NOT NULL DEFAULT '',
    sealed_hash TEXT NOT NULL DEFAULT '',
    fingerprint TEXT,
    lock_provisional INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    overlay_json BLOB NOT NULL,
    visible_text TEXT NOT NULL DEFAULT '',
    backend TEXT NOT NULL DEFAULT '',
    model_id TEXT NOT NULL DEFAULT '',
    client_hash TEXT NOT NULL DEFAULT '',
    blob_refs TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL"""

#: The tables of docs/design.md section 4. `updated_at` of a shadow is the Version Lock's, NULL before the first lock.
_M001: Final = Migration(
    "m001_initial",
    (
        "CREATE TABLE message_shadows (message_id TEXT PRIMARY KEY,"
        f"{_SHADOW_COLUMNS.format(parts='full_parts_json')}, revision INTEGER NOT NULL)",
        # Orders all writes of the file; see `_cache`.
        "CREATE INDEX idx_shadow_revision ON message_shadows (revision)",
        "CREATE INDEX idx_shadow_cumulative ON message_shadows (cumulative_hash)",
        "CREATE INDEX idx_shadow_client ON message_shadows (client_hash) WHERE client_hash <> ''",
        """CREATE TABLE suture_index (
            cumulative_hash TEXT PRIMARY KEY, chat_id TEXT NOT NULL, invariant_hash TEXT NOT NULL,
            parent_hash TEXT NOT NULL, message_id TEXT NOT NULL, timestamp INTEGER NOT NULL)""",
        "CREATE INDEX idx_suture_msg_id ON suture_index (message_id)",
        """CREATE TABLE cognitive_signatures (
            cumulative_hash TEXT NOT NULL, message_id TEXT NOT NULL, content_index INTEGER NOT NULL,
            part_index INTEGER NOT NULL, thought_signature TEXT NOT NULL, model_id TEXT NOT NULL, scope TEXT NOT NULL,
            blob_sha256 TEXT, updated_at INTEGER NOT NULL,
            PRIMARY KEY (cumulative_hash, message_id, content_index, part_index))""",
        "CREATE INDEX idx_sig_msg_id ON cognitive_signatures (message_id)",
        """CREATE TABLE tool_journal (
            cumulative_hash TEXT PRIMARY KEY, io_json BLOB NOT NULL, blob_refs TEXT NOT NULL DEFAULT '',
            updated_at INTEGER NOT NULL)""",
        # What a message was before it was recovered or sealed anew. Two messages may have had the same content, and one
        # message the same content with other parts.
        f"""CREATE TABLE rich_payloads (
            message_id TEXT NOT NULL,{_SHADOW_COLUMNS.format(parts="rich_parts_json")},
            PRIMARY KEY (invariant_hash, message_id, sealed_hash))""",
        "CREATE INDEX idx_rich_msg_id ON rich_payloads (message_id)",
        "CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, data BLOB NOT NULL)",
        """CREATE TABLE turn_log (
            message_id TEXT NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (message_id, seq))""",
        """CREATE TABLE echo_resources (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, resource_type TEXT NOT NULL, status TEXT NOT NULL,
            item_type TEXT NOT NULL, updated_at INTEGER NOT NULL, payload TEXT NOT NULL DEFAULT '',
            created_at INTEGER NOT NULL, anchor_message_id TEXT)""",
        """CREATE TABLE drains (
            resource_id TEXT NOT NULL, answer_id TEXT NOT NULL, PRIMARY KEY (resource_id, answer_id))""",
        "CREATE TABLE echo_settings (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at INTEGER NOT NULL)",
    ),
)

#: Encryption of what is said; see `_cipher`. Each file's salt is there before anything is encrypted.
_M002: Final = Migration(
    "m002_encryption",
    (
        "CREATE TABLE vault_meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        "INSERT INTO vault_meta VALUES ('salt', randomblob(32))",
        *(
            f"ALTER TABLE {table} ADD COLUMN encrypted INTEGER NOT NULL DEFAULT 0"
            for table in (
                "message_shadows",
                "rich_payloads",
                "cognitive_signatures",
                "tool_journal",
                "blobs",
                "turn_log",
                "echo_settings",
                "echo_resources",
            )
        ),
    ),
)

#: Which messages wait to be embedded is asked after each turn.
_M003: Final = Migration(
    "m003_unembedded",
    ("CREATE INDEX idx_shadow_unembedded ON message_shadows (message_id) WHERE is_embedded = 0",),
)

SESSION_MIGRATIONS: Final[tuple[Migration, ...]] = (_M001, _M002, _M003)

_RECORDS: Final = "CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL)"


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration], now_s: int) -> None:
    """Bring a file to the newest step; several processes may do so at once.

    Raises:
        FutureFileError: the file has more steps than we know.
        ForeignFileError: its steps have other names than ours.
        sqlite3.Error: as SQLite says.
    """
    if migrations and steps_done(connection) == len(migrations):
        return
    finished = False
    while not finished:
        connection.execute("BEGIN IMMEDIATE")
        try:
            finished = _one_step(connection, migrations, now_s)
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise


def _one_step(connection: sqlite3.Connection, migrations: Sequence[Migration], now_s: int) -> bool:
    done = steps_done(connection)
    connection.execute(_RECORDS)
    check_steps(connection, migrations)
    if done == len(migrations):
        return True
    step = migrations[done]
    for statement in step.statements:
        connection.execute(statement)
    connection.execute("INSERT INTO _migrations (name, applied_at) VALUES (?, ?)", (step.name, now_s))
    connection.execute(f"PRAGMA user_version = {done + 1}")
    return done + 1 == len(migrations)


def check_steps(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Compare the recorded steps with ours. Raises as `migrate`."""
    recorded = [str(row[0]) for row in connection.execute("SELECT name FROM _migrations ORDER BY name")]
    known = [migration.name for migration in migrations]
    if recorded[: len(known)] != known[: len(recorded)]:
        raise ForeignFileError(f"steps {recorded} are not ours")
    if len(recorded) > len(known):
        raise FutureFileError(f"the file has {len(recorded)} steps, we know {len(known)}")


def steps_done(connection: sqlite3.Connection) -> int:
    """How many steps the file has."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
