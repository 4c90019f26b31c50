"""Repairing a session.db as a file: a safe copy first, and what can still be read where SQLite finds damage."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from echo_core.ports import Clock
from echo_state_manager._database import APPLICATION_ID
from echo_state_manager._errors import DamagedFileError, StoreUnavailableError, store_error
from echo_state_manager._files import free_name, identity_of, read_only, set_aside
from echo_state_manager._inspect import copy_file, verify_file
from echo_state_manager._migrations import SESSION_MIGRATIONS, migrate
from echo_state_manager._repair import RepairReport, repair
from echo_state_manager._session_file import SessionFile
from echo_state_manager._verify import VerifyReport
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.session import SessionStore

#: Bookkeeping of the new file itself.
_NOT_CARRIED: Final = ("_migrations",)

#: The new file has a salt of its own, with which nothing of the old one could be read.
_VAULT: Final = "vault_meta"


@dataclass(frozen=True, slots=True)
class FileRepair:
    """What `repair_file` did with one file.

    Args:
        before: what verifying found first; None when the file was too damaged to be verified.
        report: what was rebuilt; empty when nothing was wrong.
        kept_as: where the file as it was is kept; None when nothing was changed.
        rows_saved: rows that could still be read out of a damaged file; None when it was not damaged.
    """

    before: VerifyReport | None
    report: RepairReport
    kept_as: Path | None = None
    rows_saved: int | None = None


async def repair_file(path: Path, clock: Clock, secret: MasterSecret | None = None) -> FileRepair:
    """Repair one session.db, also while Open WebUI runs. The file as it was stays beside it.

    Raises:
        ForeignFileError, FutureFileError, LockedFileError: the file is not ours to repair; it is as it was.
        StoreError: it could not be read or written; it is as it was.
    """
    now_s = int(clock.now_s())
    try:
        before = await verify_file(path, now_s, secret)
    except DamagedFileError:
        return await _salvaged(path, clock, secret, None)
    if before.is_sound:
        return FileRepair(before, RepairReport())
    kept_as = await to_thread.run_sync(_keep, path, now_s)
    report = await repaired(path, clock, secret)
    if any(found.kind == "file" for found in (await verify_file(path, now_s, secret)).breaks):
        return await _salvaged(path, clock, secret, before)
    return FileRepair(before, report, kept_as)


async def repaired(path: Path, clock: Clock, secret: MasterSecret | None) -> RepairReport:
    """Open a file as a store and repair it there."""
    file = await SessionFile.open(path, clock, secret)
    try:
        return await repair(SessionStore(file))
    finally:
        await file.close()


async def _salvaged(path: Path, clock: Clock, secret: MasterSecret | None, before: VerifyReport | None) -> FileRepair:
    kept_as, rows = await to_thread.run_sync(_salvage, path, int(clock.now_s()))
    return FileRepair(before, await repaired(path, clock, secret), kept_as, rows)


def _keep(path: Path, now_s: int) -> Path:
    target = free_name(path, "before-repair", now_s)
    copy_file(path, target)
    return target


def _salvage(path: Path, now_s: int) -> tuple[Path, int]:
    """Put a new file in the place of a damaged one, with all rows that can be read; blocks on the disk."""
    identity = identity_of(path)
    fresh = path.with_name(f".{path.name}.salvaged")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    try:
        rows = carry_over(path, fresh, now_s)
        kept_as = set_aside(path, identity, DamagedFileError.reason, now_s)
        if kept_as is None:
            raise StoreUnavailableError(f"{path} was replaced meanwhile")
        fresh.rename(path)
    except sqlite3.Error as error:
        raise store_error(error) from error
    finally:
        fresh.unlink(missing_ok=True)
    return kept_as, rows


def carry_over(source: Path, target: Path, now_s: int) -> int:
    """Make a new file with every row of a damaged one that can be read; returns how many; blocks on the disk."""
    carried = 0
    with (
        closing(sqlite3.connect(read_only(source), uri=True)) as old,
        closing(sqlite3.connect(target, isolation_level=None)) as new,
    ):
        new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrate(new, SESSION_MIGRATIONS, now_s)
        tables = [row[0] for row in new.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            if table not in _NOT_CARRIED and not table.startswith("sqlite_"):
                carried += _carry_table(old, new, table)
    return carried


def _carry_table(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> int:
    """Copy the rows of one table that can be read; returns how many there were."""
    columns = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    try:
        known = {row[1] for row in old.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        return 0
    names = ", ".join(column for column in columns if column in known)
    if not names:
        return 0
    marks = ", ".join("?" * len(names.split(", ")))
    carried = 0
    new.execute("BEGIN")
    for row in _readable_rows(old, table, names):
        # A column that must not be empty is empty in a row of garbage: such a row is no record.
        conflict = "REPLACE" if table == _VAULT else "IGNORE"
        insert = f"INSERT OR {conflict} INTO {table} ({names}) VALUES ({marks})"  # noqa: S608
        carried += new.execute(insert, row).rowcount
    new.execute("COMMIT")
    return carried


def _readable_rows(old: sqlite3.Connection, table: str, names: str) -> Iterator[tuple[Any, ...]]:
    """Rows from the first one up to the damage, then from the last one down to it."""
    try:
        yield from old.execute(f"SELECT {names} FROM {table}")  # noqa: S608
    except sqlite3.DatabaseError:
        place = "key" if table == _VAULT else "rowid"
        try:
            yield from old.execute(f"SELECT {names} FROM {table} ORDER BY {place} DESC")  # noqa: S608
        except sqlite3.DatabaseError:
            return
