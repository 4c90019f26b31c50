"""memory.db: what ECHO remembers of one user, and which turns are still to be read for it."""

# ruff: noqa: S608 - the pieces that are put together are constants of this file

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from anyio import to_thread

from echo_core.memories import Fact, Memory, MemoryKind, MemoryOrigin, Provenance
from echo_core.ports import Clock
from echo_paths import EchoPaths
from echo_state_manager._database import Database, Transaction, open_database
from echo_state_manager._load import json_ids
from echo_state_manager._migrations import Migration
from echo_state_manager.prompts import make_private

_MIGRATIONS: Final = (
    Migration(
        "m001_memories",
        (
            """CREATE TABLE memories (
                id TEXT PRIMARY KEY, text TEXT NOT NULL, kind TEXT NOT NULL, topic TEXT NOT NULL, value TEXT NOT NULL,
                exclusive INTEGER NOT NULL, importance INTEGER NOT NULL, origin TEXT NOT NULL, pinned INTEGER NOT NULL,
                created_at INTEGER NOT NULL, reinforced_at INTEGER NOT NULL, reinforcements INTEGER NOT NULL,
                chat_id TEXT NOT NULL, message_id TEXT NOT NULL, said_at INTEGER NOT NULL,
                superseded_by TEXT NOT NULL DEFAULT '', is_embedded INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID""",
            "CREATE INDEX idx_memories_successor ON memories (superseded_by)",
            "CREATE INDEX idx_memories_embedded ON memories (is_embedded) WHERE is_embedded = 0",
            """CREATE TABLE unread_turns (
                chat_id TEXT NOT NULL, message_id TEXT NOT NULL, at INTEGER NOT NULL,
                PRIMARY KEY (chat_id, message_id)) WITHOUT ROWID""",
            "CREATE TABLE revision (number INTEGER NOT NULL)",
            "INSERT INTO revision VALUES (0)",
        ),
    ),
)

_COLUMNS: Final = (
    "id, text, kind, topic, value, exclusive, importance, origin, pinned, created_at, reinforced_at, reinforcements, "
    "chat_id, message_id, said_at, superseded_by"
)
_SELECT: Final = f"SELECT {_COLUMNS} FROM memories"
_PUT: Final = f"INSERT OR REPLACE INTO memories ({_COLUMNS}) VALUES ({', '.join('?' * 16)})"
#: A memory with all that it took the place of, however long ago.
_LINE: Final = """
    WITH RECURSIVE line (id, age) AS (
        SELECT id, 0 FROM memories WHERE id IN (SELECT value FROM json_each(?))
        UNION SELECT m.id, age + 1 FROM memories m JOIN line ON m.superseded_by = line.id)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadTurn:
    """An answered message of the user's that has not been read for what to remember."""

    chat_id: str
    message_id: str
    at_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is remembered at one moment.

    Args:
        revision: grows with each change.
        current: what holds, oldest first.
    """

    revision: int
    current: tuple[Memory, ...]


class MemoryStore:
    """One user's memory.db; belongs to one event loop. Nothing is made before something is kept.

    Every method may raise a StoreError.

    Args:
        path: the file.
        clock: time.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._database: Database | None = None
        self._opening = asyncio.Lock()

    async def snapshot(self) -> Snapshot:
        """All that holds."""
        database = await self._open(make=False)
        if database is None:
            return Snapshot(revision=0, current=())

        async def job(tx: Transaction) -> Snapshot:
            rows = await tx.rows(f"{_SELECT} WHERE superseded_by = '' ORDER BY created_at, id")
            [(revision,)] = await tx.rows("SELECT number FROM revision")
            return Snapshot(revision=revision, current=tuple(map(_memory, rows)))

        return await database.read(job)

    async def holds_any(self) -> bool:
        """Whether anything is remembered; cheap enough for every turn."""
        database = await self._open(make=False)
        return database is not None and bool(await database.rows("SELECT 1 FROM memories LIMIT 1"))

    async def everything(self) -> list[Memory]:
        """What holds and what it took the place of, oldest first."""
        return await self._read(f"{_SELECT} ORDER BY created_at, id")

    async def by_id(self, ids: Collection[str]) -> dict[str, Memory]:
        """Memories by id; unknown ids are left out."""
        rows = await self._read(f"{_SELECT} WHERE id IN (SELECT value FROM json_each(?))", (json_ids(list(ids)),))
        return {memory.id: memory for memory in rows}

    async def line(self, memory_id: str) -> list[Memory]:
        """A memory and all that it took the place of, newest first; empty for an unknown id."""
        sql = f"{_LINE} {_SELECT} JOIN line USING (id) ORDER BY age, created_at DESC, id"
        return await self._read(sql, (json_ids([memory_id]),))

    async def change(self, revision: int, put: Sequence[Memory]) -> bool:
        """Write memories if nothing has changed since a snapshot; whether that was so."""
        database = await self._open(make=True)
        assert database is not None  # noqa: S101 (`make`)

        async def job(tx: Transaction) -> bool:
            moved = await tx.rows(
                "UPDATE revision SET number = number + 1 WHERE number = ? RETURNING number", (revision,)
            )
            if moved:
                await tx.connection.executemany(_PUT, [_row(memory) for memory in put])
            return bool(moved)

        return await database.write(job)

    async def delete(self, ids: Collection[str]) -> list[str]:
        """Remove memories with all that they took the place of; the ids of all that is gone."""
        database = await self._open(make=False)
        if database is None:
            return []

        async def job(tx: Transaction) -> list[str]:
            gone = [row[0] for row in await tx.rows(f"{_LINE} SELECT DISTINCT id FROM line", (json_ids(list(ids)),))]
            await tx.rows("DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))", (json_ids(gone),))
            await tx.rows("UPDATE revision SET number = number + 1")
            return gone

        return await database.write(job)

    async def not_embedded(self, limit: int) -> list[Memory]:
        """Memories that hold and are not in the vector store yet."""
        return await self._read(f"{_SELECT} WHERE is_embedded = 0 AND superseded_by = '' LIMIT ?", (limit,))

    async def mark_embedded(self, memories: Sequence[Memory]) -> None:
        """Note what is in the vector store, unless its text has changed since."""
        database = await self._open(make=False)
        if database is not None:

            async def job(tx: Transaction) -> None:
                marked = "UPDATE memories SET is_embedded = 1 WHERE id = ? AND text = ?"
                await tx.connection.executemany(marked, [(memory.id, memory.text) for memory in memories])

            await database.write(job)

    async def add_unread(self, turn: UnreadTurn) -> None:
        """Note a turn that is to be read; one that is noted already stays as it is."""
        database = await self._open(make=True)
        assert database is not None  # noqa: S101 (`make`)
        row = (turn.chat_id, turn.message_id, turn.at_s)
        await database.write(lambda tx: tx.rows("INSERT OR IGNORE INTO unread_turns VALUES (?, ?, ?)", row))

    async def unread(self) -> list[UnreadTurn]:
        """Turns that are to be read, oldest first."""
        database = await self._open(make=False)
        rows = [] if database is None else await database.rows("SELECT * FROM unread_turns ORDER BY at, message_id")
        return [UnreadTurn(chat_id=row[0], message_id=row[1], at_s=row[2]) for row in rows]

    async def drop_unread(self, turns: Sequence[UnreadTurn] = (), *, chat_id: str = "") -> None:
        """Forget turns that were read, or all those of a chat that is gone."""
        database = await self._open(make=False)
        if database is not None:

            async def job(tx: Transaction) -> None:
                named = [(turn.chat_id, turn.message_id) for turn in turns]
                await tx.connection.executemany("DELETE FROM unread_turns WHERE chat_id = ? AND message_id = ?", named)
                await tx.rows("DELETE FROM unread_turns WHERE chat_id = ?", (chat_id,))

            await database.write(job)

    async def close(self) -> None:
        """Close the file; the next use opens it again."""
        async with self._opening:
            database, self._database = self._database, None
            if database is not None:
                await database.close()

    async def _read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Memory]:
        database = await self._open(make=False)
        return [] if database is None else [_memory(row) for row in await database.rows(sql, parameters)]

    async def _open(self, *, make: bool) -> Database | None:
        if self._database is not None:
            return self._database
        async with self._opening:
            if self._database is None and (make or await to_thread.run_sync(self._path.exists)):
                await to_thread.run_sync(make_private, self._path)
                self._database = await open_database(self._path, _MIGRATIONS, self._clock)
            return self._database


def _row(memory: Memory) -> tuple[object, ...]:
    fact, source = memory.fact, memory.source
    return (
        memory.id, fact.text, fact.kind, fact.topic, fact.value, int(fact.exclusive), memory.importance, memory.origin,
        int(memory.pinned), memory.created_at_s, memory.reinforced_at_s, memory.reinforcements,
        source.chat_id, source.message_id, source.at_s, memory.superseded_by,
    )  # fmt: skip


def _memory(row: Sequence[Any]) -> Memory:
    kind: MemoryKind = row[2] if row[2] in get_args(MemoryKind) else "fact"
    origin: MemoryOrigin = row[7] if row[7] in get_args(MemoryOrigin) else "import"
    return Memory(
        id=row[0],
        fact=Fact(text=row[1], kind=kind, topic=row[3], value=row[4], exclusive=bool(row[5])),
        importance=row[6],
        origin=origin,
        pinned=bool(row[8]),
        created_at_s=row[9],
        reinforced_at_s=row[10],
        reinforcements=row[11],
        source=Provenance(chat_id=row[12], message_id=row[13], at_s=row[14]),
        superseded_by=row[15],
    )


class MemoryStores:
    """The memory.db of every user, opened on demand; belongs to one event loop.

    Args:
        paths: the data folder.
        clock: time.
        max_open: files that stay open. Source of the default: our choice; each costs a thread.
    """

    def __init__(self, paths: EchoPaths, clock: Clock, *, max_open: int = 16) -> None:
        self._paths = paths
        self._clock = clock
        self._max_open = max_open
        self._open: OrderedDict[str, MemoryStore] = OrderedDict()

    async def of(self, user_id: str) -> MemoryStore:
        """A user's memories. Raises UnsafeIdError."""
        store = self._open.get(user_id)
        if store is None:
            store = self._open[user_id] = MemoryStore(self._paths.memory_db(user_id), self._clock)
        self._open.move_to_end(user_id)
        while len(self._open) > self._max_open:
            # A store that is still in use opens its file again.
            await self._open.popitem(last=False)[1].close()
        return store

    async def users(self) -> list[str]:
        """Everybody of whom anything is remembered."""

        def look() -> list[str]:
            return [user for user in self._paths.users_on_disk() if self._paths.memory_db(user).is_file()]

        return await to_thread.run_sync(look)

    async def purge_user(self, user_id: str) -> None:
        """Let go of a user's file, whose folder is removed next."""
        store = self._open.pop(user_id, None)
        if store is not None:
            await store.close()

    async def close(self) -> None:
        """Close everything."""
        while self._open:
            await self._open.popitem()[1].close()
