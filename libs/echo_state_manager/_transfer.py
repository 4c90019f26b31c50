"""A chat's records on their way to another chat, machine or owner: out of one file as plain values, into another."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import aiosqlite

from echo_constants import Bilingual, StateError
from echo_core.records import Seal, Shadow
from echo_core.sealing import relink
from echo_state_manager import _load
from echo_state_manager._audit import links
from echo_state_manager._batch import Batch
from echo_state_manager._cipher import FileCrypt
from echo_state_manager._database import APPLICATION_ID, Transaction, on_thread
from echo_state_manager._errors import ForeignFileError, FutureFileError, store_error
from echo_state_manager._inspect import readable
from echo_state_manager._load import from_sql
from echo_state_manager._migrations import SESSION_MIGRATIONS, migrate, steps_done
from echo_state_manager._save import save_session_setting
from echo_state_manager._sql import ALL_RESOURCES, ALL_SETTINGS, DECRYPT, INSERT_RESOURCE, INSERT_SUTURE, TRANSFERABLE
from echo_state_manager._verify import Break, verify_records
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.session import SessionStore
from echo_utils import normalise_visible_text

#: Messages that are carried over at once. Source: our choice; a few megabytes with images.
_PAGE_MESSAGES: Final = 50

#: Where the header says whether a log file is used; an image in memory cannot have one.
#: Source: https://www.sqlite.org/fileformat.html section 1.3.3
_WRITE_VERSION: Final = slice(18, 20)
_WITHOUT_LOG: Final = b"\x01\x01"

#: The time at which an image is read does not matter: nothing is written under it.
_NO_TIME_S: Final = 0


class UnsoundRecordsError(StateError):
    """Records that are to be carried over are not what was sealed."""

    code = "records_unsound"
    audience = "admin"
    message = Bilingual(
        en="The records of chat {chat} are not what was sealed (first at message {message}: {kind}).",
        fr="Les enregistrements de la conversation {chat} ne sont pas ce qui a été scellé (d'abord au message "
        "{message} : {kind}).",
    )
    remedy = Bilingual(
        en="Run `echoctl repair --chat {chat}` where they come from, then export them again.",
        fr="Lancez `echoctl repair --chat {chat}` là d'où ils viennent, puis exportez-les de nouveau.",
    )


@dataclass(frozen=True, slots=True)
class Image:
    """All records of one chat, plain, as the bytes of a small database.

    Args:
        messages: how many messages it holds.
    """

    data: bytes
    messages: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What was carried over.

    Args:
        added: messages that were not known where they went.
        restored: messages of which only the text was known, and now the signatures are again.
        known: messages that were there already.
        kept: messages that were there with other content, which stays.
    """

    added: int = 0
    restored: int = 0
    known: int = 0
    kept: int = 0

    def plus(self, other: "Taken") -> "Taken":
        """Both together."""
        return Taken(
            self.added + other.added,
            self.restored + other.restored,
            self.known + other.known,
            self.kept + other.kept,
        )


async def image_of(path: Path, chat_id: str, secret: MasterSecret | None) -> Image:
    """Read everything that a file holds, decrypted; others may be writing to it meanwhile.

    Args:
        path: a session.db.
        chat_id: for what is said about it.
        secret: what it is encrypted under, if it is.

    Raises:
        UnsoundRecordsError: they are not what was sealed.
        StoreError: the file cannot be read.
    """
    async with readable(path, _NO_TIME_S, secret) as tx:
        report = await verify_records(tx)
        _require_sound(report.first_break, chat_id)
        data = await on_thread(tx.connection, partial(_plain_copy, secret))
    return Image(data, report.messages)


@asynccontextmanager
async def opened_image(data: bytes, chat_id: str) -> AsyncIterator[Transaction]:
    """The records of an image, brought to our schema and verified. Nothing in it is believed before that.

    Raises:
        ForeignFileError, FutureFileError: it is none of ours, or of a newer version.
        UnsoundRecordsError: the records are not what was sealed.
    """
    connection = aiosqlite.connect(":memory:", isolation_level=None)
    connection._thread.daemon = True
    try:
        async with connection:
            await on_thread(connection, partial(_load_image, data))
            tx = Transaction(connection, _NO_TIME_S)
            _require_sound((await verify_records(tx)).first_break, chat_id)
            yield tx
    except sqlite3.Error as error:
        raise store_error(error) from error


async def take_over(source: Transaction, store: SessionStore, setting_prefix: str = "") -> Taken:
    """Carry records over into a store. What is there stays, unless it is only the text of what comes.

    Args:
        source: verified records.
        store: where they go; interrupted, the same call again completes it.
        setting_prefix: is put before the names of settings; those that are there already stay.
    """
    ids = [row[0] for row in await source.rows(TRANSFERABLE)]
    taken = Taken()
    for start in range(0, len(ids), _PAGE_MESSAGES):
        taken = taken.plus(await _take_page(source, store, ids[start : start + _PAGE_MESSAGES]))
    now_s = store.file.now_s
    batch = Batch(now_s)
    batch.add(
        INSERT_SUTURE,
        *(
            (link.cumulative_hash, link.chat_id, link.invariant_hash, link.parent_hash, link.message_id, link.timestamp)
            for link in await links(source)
        ),
    )
    batch.add(INSERT_RESOURCE, *(row for row in await source.rows(ALL_RESOURCES) if row[6] is not None))
    drained = await source.rows("SELECT resource_id, answer_id FROM drains")
    batch.add("INSERT OR IGNORE INTO drains (resource_id, answer_id) VALUES (?, ?)", *drained)
    found = await source.rows(ALL_SETTINGS)
    settings = {f"{setting_prefix}{key}": from_sql(value) for key, value in found if value is not None}
    known = {key for key in settings if await store.get_setting(key) is not None}
    save_session_setting(batch, {key: value for key, value in settings.items() if key not in known})
    await store.file.execute(batch)
    return taken


async def _take_page(source: Transaction, store: SessionStore, ids: Sequence[str]) -> Taken:
    here = await store.get_message_shadows(ids)
    coming = await _load.get_message_shadows(source, ids)
    seals: list[Seal] = []
    counts = dict.fromkeys(("added", "restored", "known", "kept"), 0)
    for message_id in ids:
        shadow, present = coming[message_id], here.get(message_id)
        if present is None:
            counts["added"] += 1
            seals += [Seal(shadow=replace(f, lock=None)) for f in await _load.get_former_shadows(source, message_id)]
            seals.append(await _seal_of(source, shadow, replace(shadow, lock=None)))
        elif (present.contents_json, present.overlay_json) == (shadow.contents_json, shadow.overlay_json):
            counts["known"] += 1
        elif await _says_more(source, store, shadow, present):
            counts["restored"] += 1
            hung = relink(shadow, present.parent_hash)
            seals.append(await _seal_of(source, shadow, replace(hung, lock=present.lock, chat_id=present.chat_id)))
        else:
            counts["kept"] += 1
    await store.seal_many(seals)
    return Taken(**counts)


async def _says_more(source: Transaction, store: SessionStore, shadow: Shadow, present: Shadow) -> bool:
    """Whether a message that is there is the same text as what comes, without the signatures that come with it."""
    if normalise_visible_text(shadow.visible_text) != normalise_visible_text(present.visible_text):
        return False
    comes = await _load.get_signature_by_id(source, shadow.message_id)
    return bool(comes) and present.state != "streaming" and not await store.get_signatures(present.message_id)


async def _seal_of(source: Transaction, shadow: Shadow, as_kept: Shadow) -> Seal:
    return Seal(
        shadow=as_kept,
        signatures=tuple(await _load.get_signature_by_id(source, shadow.message_id)),
        tool_io_json=await _load.get_cognitive_data(source, shadow.cumulative_hash),
    )


def _require_sound(first: Break | None, chat_id: str) -> None:
    if first is not None:
        raise UnsoundRecordsError(first.detail, chat=chat_id, message=first.message_id or "-", kind=first.kind)


def _plain_copy(secret: MasterSecret | None, source: sqlite3.Connection) -> bytes:
    """A decrypted copy in memory, as bytes; a plain copy never touches the disk."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        source.backup(copy)
        FileCrypt(secret).attach(copy)
        for statement in DECRYPT:
            copy.execute(statement)
        copy.execute("VACUUM")
        data = copy.serialize()
    return data[: _WRITE_VERSION.start] + _WITHOUT_LOG + data[_WRITE_VERSION.stop :]


def _load_image(data: bytes, connection: sqlite3.Connection) -> None:
    try:
        connection.deserialize(data)
        # Nothing that a schema says is run: no function of ours, no view, no trigger.
        connection.execute("PRAGMA trusted_schema = OFF")
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise ForeignFileError(str(error)) from error
    if owner != APPLICATION_ID:
        raise ForeignFileError("another application's file")
    if steps_done(connection) > len(SESSION_MIGRATIONS):
        raise FutureFileError(f"the file has {steps_done(connection)} steps, we know {len(SESSION_MIGRATIONS)}")
    migrate(connection, SESSION_MIGRATIONS, _NO_TIME_S)
    FileCrypt(None).attach(connection)
