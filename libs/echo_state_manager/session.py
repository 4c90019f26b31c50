"""The records of one chat in its own SQLite file."""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from functools import partial

from anyio import to_thread

from echo_aec import Asking, OverlayBuilder, Transient
from echo_constants import StateError
from echo_core.ports import ToolOutputSlice
from echo_core.records import Resource, Seal, Shadow, SignatureRow, VersionLock
from echo_core.settled_prefix import SettledPrefix
from echo_state_manager import _directives, _load, _outputs, _save
from echo_state_manager._batch import Batch, in_batches
from echo_state_manager._cache import ShadowCache
from echo_state_manager._database import Transaction
from echo_state_manager._load import from_sql, is_readable, json_ids, shadow_of
from echo_state_manager._redaction import redact
from echo_state_manager._save import to_sql
from echo_state_manager._session_file import SessionFile
from echo_state_manager._sql import (
    CLAIM_SETTING,
    FORGET_BEFORE,
    FORGET_MESSAGES,
    FORGET_ORPHANS,
    INSERT_SETTING,
    MARK_EMBEDDED,
    RAISE_FLOOR,
    SELECT_BY_CLIENT_HASH,
    SELECT_CHANGED,
    SELECT_LOG,
    SELECT_NEWEST,
    SELECT_RESOURCES,
    SELECT_SETTING,
    SELECT_SETTINGS,
    SELECT_SETTINGS_BEGINNING,
    SELECT_SHADOWS,
    SELECT_UNEMBEDDED,
)

#: From this many bytes or rows on, building statements and records leaves the event loop. Source: our choice, about
#: 2 ms on the development machines.
_OFF_LOOP_BYTES = 512 * 1024
_OFF_LOOP_ROWS = 256

#: Later than any record.
_ANY_TIME_S = 2**62


class SessionStore:
    """A `ShadowStore` over session.db. `SessionStores.open` makes one; every method may raise StoreError."""

    def __init__(self, file: SessionFile) -> None:
        self.file = file
        self._cache = ShadowCache()
        self._cached_generation = file.generation
        self._ahead: dict[str, str | None] = {}

    def take_notices(self) -> Sequence[StateError]:
        """What the reader must be told about this chat's records; each is given once."""
        return self.file.take_notices()

    async def get_message_shadow(self, message_id: str, updated_at_s: int | None = None) -> Shadow | None:
        """One shadow under the Version Lock, see `echo_state_manager.get_message_shadow`."""
        return _load.under_lock((await self._read_shadows([message_id])).get(message_id), updated_at_s)

    async def get_message_shadows(self, message_ids: Sequence[str]) -> Mapping[str, Shadow]:
        """Shadows by message id; ids without a shadow are left out."""
        seen = self._cache.revision
        changed = await (self.file.rows(SELECT_CHANGED, (seen,)) if seen else self.file.rows(SELECT_NEWEST))
        if self._cached_generation != self.file.generation:
            self._cache.clear()
            self._cached_generation = self.file.generation
        self._cache.advance(changed)
        found, absent = self._cache.lookup(message_ids)
        if absent:
            drops = self._cache.drops
            read = await self._read_shadows(absent)
            self._cache.add(read.values(), drops)
            found |= read
        return found

    @property
    def held_bytes(self) -> int:
        """Memory that is kept for the next turn."""
        return self._cache.held_bytes

    def settled_prefix(self) -> SettledPrefix | None:
        """The beginning that was kept last; None when none was, or when it had to make room."""
        return self._cache.prefix

    def keep_settled_prefix(self, prefix: SettledPrefix) -> None:
        """Keep a beginning in memory for the next turn, as far as there is room."""
        self._cache.keep_prefix(prefix)

    async def get_former_shadows(self, message_id: str) -> Sequence[Shadow]:
        """What a message was before its content became another, oldest first; for when its text is restored."""
        return await self.file.read(lambda tx: _load.get_former_shadows(tx, message_id))

    async def find_by_client_hash(self, client_hashes: Sequence[str]) -> Mapping[str, Shadow]:
        """The newest shadow for each client hash that is known here."""
        ids = await self.file.rows(SELECT_BY_CLIENT_HASH, (json_ids(client_hashes),))
        shadows = await self.get_message_shadows([row[0] for row in ids])
        return {shadow.client_hash: shadow for shadow in shadows.values()}

    async def get_signatures(self, message_id: str) -> Sequence[SignatureRow]:
        """The signatures of a message in the order of its parts."""
        return await self.file.read(lambda tx: _load.get_signature_by_id(tx, message_id))

    async def get_tool_io(self, cumulative_hash: str) -> bytes | None:
        """The tool calls and answers sealed under a hash, None when there were none."""
        return await self.file.read(lambda tx: _load.get_cognitive_data(tx, cumulative_hash))

    async def seal(self, seal: Seal) -> None:
        """Write one message's records in one transaction and empty its turn log."""
        await self.seal_many([seal])

    async def seal_many(self, seals: Sequence[Seal]) -> None:
        """Write several messages' records in one transaction, in the order given."""
        build = partial(in_batches, seals, _sealed_id, _save.seal_message, self.file.now_s)
        heavy = sum(_weight_bytes(seal) for seal in seals) > _OFF_LOOP_BYTES
        await self.file.execute(*(await to_thread.run_sync(build) if heavy else build()))

    async def relink_many(self, shadows: Sequence[Shadow]) -> None:
        """Hang stored messages under other parents: only `parent_hash` and `cumulative_hash` are written."""
        build = partial(in_batches, shadows, _shadow_id, _save.relink_shadow, self.file.now_s)
        heavy = len(shadows) > _OFF_LOOP_ROWS
        await self.file.execute(*(await to_thread.run_sync(build) if heavy else build()))

    async def forget_before(self, epoch_s: float) -> None:
        """Remove every message that was sealed before a time, with all that belongs to it and to no other."""
        batch = Batch(self.file.now_s)
        batch.add(RAISE_FLOOR, (int(epoch_s), batch.now_s))
        for statement in FORGET_BEFORE:
            batch.add(statement, (int(epoch_s),))
        for statement in FORGET_ORPHANS:
            batch.add(statement, ())
        await self.file.execute(batch)

    async def forget_messages(self, message_ids: Sequence[str]) -> None:
        """Remove some messages with all that belongs to them and to no other; unknown ids are no error."""
        batch = Batch(self.file.now_s)
        batch.add(RAISE_FLOOR, (_ANY_TIME_S, batch.now_s))
        batch.add(FORGET_MESSAGES, (json_ids(message_ids),))
        for statement in FORGET_ORPHANS:
            batch.add(statement, ())
        await self.file.execute(batch)

    async def redact(self, marks: Collection[str]) -> int:
        """Remove every artifact that holds one of some marks from what answers were told; how many answers it was."""
        return await self.file.write(lambda tx: redact(tx, marks))

    async def message_ids(self) -> list[str]:
        """Ids of all messages that have a record."""
        return [row[0] for row in await self.file.rows("SELECT message_id FROM message_shadows ORDER BY rowid")]

    async def unembedded(self) -> Sequence[str]:
        """Ids of the messages that are not in the session memory as they are now, newest first."""
        return [row[0] for row in await self.file.rows(SELECT_UNEMBEDDED)]

    async def mark_embedded(self, shadows: Sequence[Shadow]) -> None:
        """Note that these messages are in the session memory; one that has become another meanwhile is not noted."""
        batch = Batch(self.file.now_s)
        batch.add(MARK_EMBEDDED, *((shadow.message_id, shadow.invariant_hash) for shadow in shadows))
        await self.file.execute(batch)

    async def lock(self, message_id: str, lock: VersionLock) -> None:
        """Record what Open WebUI's row looks like now; nothing happens for a message without a shadow."""
        await self.lock_many({message_id: lock})

    async def lock_many(self, locks: Mapping[str, VersionLock]) -> None:
        """`lock` for several messages in one transaction."""
        batch = Batch(self.file.now_s)
        for message_id, lock in locks.items():
            _save.lock_shadow(batch, message_id, lock)
        await self.file.execute(batch)

    async def append_turn_log(self, message_id: str, data: Sequence[bytes]) -> None:
        """Append raw records of the running turn in one transaction."""
        batch = Batch(self.file.now_s)
        _save.append_turn_log(batch, message_id, data)
        await self.file.execute(batch)

    async def read_turn_log(self, message_id: str) -> Sequence[bytes]:
        """The records that were appended since the message was last sealed, in order."""
        return [row[0] for row in await self.file.rows(SELECT_LOG, (message_id,)) if row[0] is not None]

    async def recover_streaming(self, message_id: str) -> Sequence[bytes] | None:
        """What a crash left of a turn: its logged records; None when the message is not in state `streaming`."""

        async def job(tx: Transaction) -> list[bytes] | None:
            streaming = "SELECT 1 FROM message_shadows WHERE message_id = ? AND state = 'streaming'"
            if not await tx.rows(streaming, (message_id,)):
                return None
            return [row[0] for row in await tx.rows(SELECT_LOG, (message_id,)) if row[0] is not None]

        return await self.file.read(job)

    async def streaming_messages(self) -> Sequence[str]:
        """Ids of the messages whose turn is running or was cut off by a crash."""
        rows = await self.file.rows("SELECT message_id FROM message_shadows WHERE state = 'streaming'")
        return [row[0] for row in rows]

    async def reading_ahead(self, keys: Sequence[str]) -> "SessionStore":
        """This store for a moment: each of its reads is a change of threads, and a turn begins with many of them."""
        found = await self.get_settings(keys)
        ahead = copy(self)
        ahead._ahead = {key: found.get(key) for key in keys}
        return ahead

    async def get_setting(self, key: str) -> str | None:
        """One value of `echo_settings`, None when absent."""
        if key in self._ahead:
            return self._ahead[key]
        rows = await self.file.rows(SELECT_SETTING, (key,))
        return from_sql(rows[0][0]) if rows and rows[0][0] is not None else None

    async def get_settings(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Several values of `echo_settings` by key; absent ones are left out."""
        rows = await self.file.rows(SELECT_SETTINGS, (json_ids(keys),))
        return {from_sql(row[0]): from_sql(row[1]) for row in rows if row[1] is not None}

    async def settings_beginning(self, prefix: str) -> Mapping[str, str]:
        """The values of `echo_settings` whose keys begin so, by key; those that cannot be read are left out."""
        rows = await self.file.rows(SELECT_SETTINGS_BEGINNING, (len(prefix), prefix))
        return {row[0]: from_sql(row[1]) for row in rows if row[1] is not None}

    async def save_setting(self, key: str, value: str) -> None:
        """Write one value of `echo_settings`."""
        self._ahead.pop(key, None)
        batch = Batch(self.file.now_s)
        _save.save_session_setting(batch, {key: value})
        await self.file.execute(batch)

    async def claim_settings(self, values: Mapping[str, str]) -> None:
        """Write values of `echo_settings` in one transaction, those left out that have one."""
        for key in values:
            self._ahead.pop(key, None)
        batch = Batch(self.file.now_s)
        batch.add(INSERT_SETTING, *((key, to_sql(value), batch.now_s) for key, value in values.items()))
        await self.file.execute(batch)

    async def push_transient(self, transient: Transient) -> None:
        """Let a directive or event wait; nothing happens for an id that is known."""
        batch = Batch(self.file.now_s)
        _directives.push(batch, transient)
        await self.file.execute(batch)

    async def drain(self, asking: Asking, build: OverlayBuilder) -> bytes:
        """The overlay of an answer, see `echo_aec.DirectiveStore`."""
        return await self.file.write_at_once(partial(_directives.drain, asking, build, self.file.now_s))

    async def transient_anchors(self) -> frozenset[str]:
        """Ids of the messages that anything waiting belongs to."""
        return frozenset(str(row[0]) for row in await self.file.rows(_directives.ANCHORS))

    async def purge_transients(self, since_s: float, anchors: Collection[str]) -> int:
        """Remove what belongs to some messages; how many there were."""
        return await self.file.write(lambda tx: _directives.purge(tx, since_s, anchors))

    async def claim_setting(self, key: str, value: str) -> str:
        """Write one value of `echo_settings` unless there is one; the value that stands, whoever wrote it."""
        self._ahead.pop(key, None)
        rows = await self.file.rows(CLAIM_SETTING, (key, to_sql(value), self.file.now_s))
        if rows[0][0] is None:  # sealed with a key that is gone: nobody can read it any more
            await self.save_setting(key, value)
            return value
        return from_sql(rows[0][0])

    async def update_setting(self, key: str, change: Callable[[str | None], str]) -> str:
        """Make a value of `echo_settings` out of the one that stands, in one transaction; the new one."""
        self._ahead.pop(key, None)

        async def job(tx: Transaction) -> str:
            rows = await tx.rows(SELECT_SETTING, (key,))
            value = change(from_sql(rows[0][0]) if rows and rows[0][0] is not None else None)
            batch = Batch(self.file.now_s)
            _save.save_session_setting(batch, {key: value})
            await tx.execute(batch)
            return value

        return await self.file.write(job)

    async def keep_tool_output(self, message_id: str, call_id: str, text: str) -> None:
        """Keep a tool's whole result in pieces; building them leaves the event loop."""
        batch = Batch(self.file.now_s)
        await to_thread.run_sync(_outputs.save_tool_output, batch, message_id, call_id, text)
        await self.file.execute(batch)

    async def read_tool_output(
        self, message_id: str, call_id: str, start: int, end: int | None
    ) -> ToolOutputSlice | None:
        """Characters of a kept result; None when nothing was kept, or not all of it is readable."""
        return await self.file.read(lambda tx: _outputs.load_tool_output(tx, message_id, call_id, start, end))

    async def save_resource(self, resource: Resource) -> None:
        """Write one resource; one of the same id is replaced and keeps its place."""
        batch = Batch(self.file.now_s)
        _save.save_resource(batch, resource)
        await self.file.execute(batch)

    async def get_resources(self, kind: str) -> Sequence[Resource]:
        """The resources of a kind, oldest first."""
        rows = await self.file.rows(SELECT_RESOURCES, (kind,))
        return [
            Resource(
                id=row[0],
                name=from_sql(row[1]),
                kind=row[2],
                payload=from_sql(row[3]) if row[3] is not None else "",  # its key may be gone
                status=row[4],
                item_type=row[5],
                anchor_message_id=row[6],
            )
            for row in rows
        ]

    async def _read_shadows(self, message_ids: Sequence[str]) -> dict[str, Shadow]:
        rows = await self.file.rows(SELECT_SHADOWS, (json_ids(message_ids),))
        plain = [row for row in rows if not row[16] and is_readable(row)]
        if len(plain) > _OFF_LOOP_ROWS:
            shadows = await to_thread.run_sync(_records, plain)
        else:
            shadows = _records(plain)
        with_blobs = [row[0] for row in rows if row[16]]
        if with_blobs:
            # Row and blobs must be of one moment, so these are read again inside a snapshot.
            shadows |= await self.file.read(lambda tx: _load.get_message_shadows(tx, with_blobs))
        return shadows


def _sealed_id(seal: Seal) -> str:
    return seal.shadow.message_id


def _shadow_id(shadow: Shadow) -> str:
    return shadow.message_id


def _records(rows: Sequence[Sequence[object]]) -> dict[str, Shadow]:
    return {shadow.message_id: shadow for shadow in (shadow_of(row, {}) for row in rows)}


def _weight_bytes(seal: Seal) -> int:
    shadow = seal.shadow
    signatures = sum(len(row.thought_signature) for row in seal.signatures)
    parts = len(shadow.contents_json) + len(shadow.overlay_json) + len(shadow.visible_text)
    return parts + signatures + len(seal.tool_io_json or b"")
