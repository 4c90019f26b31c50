"""The records of one chat in its own SQLite file."""

from collections.abc import Mapping, Sequence

from echo_constants import StateError
from echo_core.records import Seal, Shadow, SignatureRow, VersionLock
from echo_state_manager import _tables
from echo_state_manager._database import Database, Transaction
from echo_state_manager._sql import SELECT_BY_CLIENT_HASH, SELECT_SHADOWS
from echo_state_manager._tables import from_sql, json_ids, shadow_of


class SessionStore:
    """A `ShadowStore` over session.db. `SessionStores.open` makes one; every method may raise StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._notices: list[StateError] = []

    def take_notices(self) -> tuple[StateError, ...]:
        """What the reader must be told about this chat's records; each is given once."""
        notices, self._notices = tuple(self._notices), []
        return notices

    async def get_message_shadow(self, message_id: str, updated_at_s: int | None = None) -> Shadow | None:
        """One shadow under the Version Lock, see `echo_state_manager.get_message_shadow`."""
        return await self._database.read(lambda tx: _tables.get_message_shadow(tx, message_id, updated_at_s))

    async def get_message_shadows(self, message_ids: Sequence[str]) -> Mapping[str, Shadow]:
        """Shadows by message id; ids without a shadow are left out."""
        rows = await self._database.rows(SELECT_SHADOWS, (json_ids(message_ids),))
        shadows = {row[0]: shadow_of(row, {}) for row in rows if not row[16]}
        with_blobs = [row[0] for row in rows if row[16]]
        if with_blobs:
            # Row and blobs must be of one moment, so these are read again inside a snapshot.
            shadows |= await self._database.read(lambda tx: _tables.get_message_shadows(tx, with_blobs))
        return shadows

    async def get_former_shadows(self, message_id: str) -> Sequence[Shadow]:
        """What a message was before its content became another, oldest first; they return when the text is restored."""
        return await self._database.read(lambda tx: _tables.get_former_shadows(tx, message_id))

    async def find_by_client_hash(self, client_hashes: Sequence[str]) -> Mapping[str, Shadow]:
        """The newest shadow for each client hash that is known here."""
        ids = await self._database.rows(SELECT_BY_CLIENT_HASH, (json_ids(client_hashes),))
        shadows = await self.get_message_shadows([row[0] for row in ids])
        return {shadow.client_hash: shadow for shadow in shadows.values()}

    async def get_signatures(self, message_id: str) -> Sequence[SignatureRow]:
        """The signatures of a message in the order of its parts."""
        return await self._database.read(lambda tx: _tables.get_signature_by_id(tx, message_id))

    async def get_tool_io(self, cumulative_hash: str) -> bytes | None:
        """The tool calls and answers sealed under a hash, None when there were none."""
        return await self._database.read(lambda tx: _tables.get_cognitive_data(tx, cumulative_hash))

    async def seal(self, seal: Seal) -> None:
        """Write one message's records in one transaction and empty its turn log."""
        await self._database.write(lambda tx: _seal(tx, seal))

    async def lock(self, message_id: str, lock: VersionLock) -> None:
        """Record what Open WebUI's row looks like now; nothing happens for a message without a shadow."""
        await self._database.write(lambda tx: _tables.lock_shadow(tx, message_id, lock))

    async def append_turn_log(self, message_id: str, data: Sequence[bytes]) -> None:
        """Append raw records of the running turn in one transaction."""
        if data:
            await self._database.write(lambda tx: _tables.append_turn_log(tx, message_id, data))

    async def read_turn_log(self, message_id: str) -> Sequence[bytes]:
        """The records that were appended since the message was last sealed, in order."""
        rows = await self._database.rows("SELECT data FROM turn_log WHERE message_id = ? ORDER BY seq", (message_id,))
        return [row[0] for row in rows]

    async def recover_streaming(self, message_id: str) -> Sequence[bytes] | None:
        """What a crash left of a turn: its logged records; None when the message is not in state `streaming`."""

        async def job(tx: Transaction) -> list[bytes] | None:
            if not await tx.rows(
                "SELECT 1 FROM message_shadows WHERE message_id = ? AND state = 'streaming'", (message_id,)
            ):
                return None
            rows = await tx.rows("SELECT data FROM turn_log WHERE message_id = ? ORDER BY seq", (message_id,))
            return [row[0] for row in rows]

        return await self._database.read(job)

    async def streaming_messages(self) -> Sequence[str]:
        """Ids of the messages whose turn is running or was cut off by a crash."""
        rows = await self._database.rows("SELECT message_id FROM message_shadows WHERE state = 'streaming'")
        return [row[0] for row in rows]

    async def get_setting(self, key: str) -> str | None:
        """One value of `echo_settings`, None when absent."""
        rows = await self._database.rows("SELECT value FROM echo_settings WHERE key = ?", (key,))
        return from_sql(rows[0][0]) if rows else None

    async def save_setting(self, key: str, value: str) -> None:
        """Write one value of `echo_settings`."""
        await self._database.write(lambda tx: _tables.save_session_setting(tx, {key: value}))

    async def close(self) -> None:
        """Finish what was asked for and close the file; twice is harmless."""
        await self._database.close()


async def _seal(tx: Transaction, seal: Seal) -> None:
    shadow = seal.shadow
    await _tables.save_message_shadow(tx, shadow)
    await _tables.save_signature_by_id(tx, shadow.cumulative_hash, seal.signatures)
    if seal.tool_io_json is not None:
        await _tables.save_cognitive_data(tx, shadow.cumulative_hash, seal.tool_io_json)
    if shadow.cumulative_hash:
        await _tables.index_suture(tx, shadow)
    await _tables.save_session_setting(tx, seal.settings)
    await tx.rows("DELETE FROM turn_log WHERE message_id = ?", (shadow.message_id,))
