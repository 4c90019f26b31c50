"""Rebuilding what can be rebuilt: the indexes from the shadows, never a shadow from anything else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from echo_core.records import Shadow, SignatureRow
from echo_core.sealing import relink, signature_rows
from echo_protocol import ROOT_PARENT
from echo_state_manager._audit import (
    Audited,
    Link,
    audited_former,
    audited_shadows,
    links,
    spoilt_blobs,
    spoilt_tool_journals,
    stored_signatures,
    walk,
)
from echo_state_manager._batch import Batch
from echo_state_manager._database import Transaction
from echo_state_manager._load import get_message_shadows
from echo_state_manager._save import save_signature_by_id
from echo_state_manager._sql import (
    DELETE_ORPHAN_BLOBS,
    DELETE_SIGNATURES,
    DELETE_STRAY_SIGNATURES,
    INSERT_SUTURE,
    MOVE_TOOL_IO,
    RAISE_FLOOR,
    RELINK_SHADOW,
    SET_INVARIANT,
)
from echo_state_manager.session import SessionStore

#: Later than any record.
_ANY_TIME_S: Final = 2**62


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What `repair` did.

    Args:
        dropped: messages whose record cannot be trusted any more; Open WebUI's text stands in for them from now on.
        former_dropped: messages of which a former version, kept for when its text is restored, could not be trusted.
        rehashed: messages whose hashes were derived again.
        links_rewritten: entries of the index that were missing, wrong or out of order.
        signatures_rewritten: messages whose signature rows were made anew from their parts.
        journals_dropped: tool journals that could not be read.
        blobs_dropped: blobs that were spoilt or that nothing names.
    """

    dropped: tuple[str, ...] = ()
    former_dropped: tuple[str, ...] = ()
    rehashed: tuple[str, ...] = ()
    links_rewritten: int = 0
    signatures_rewritten: tuple[str, ...] = ()
    journals_dropped: int = 0
    blobs_dropped: int = 0


async def repair(store: SessionStore) -> RepairReport:
    """Rebuild signatures, suture index and blobs of a chat from its shadows, in one transaction.

    A shadow whose bytes are not those that were sealed is removed, so that its message is recovered from the page's
    text. Turns of this chat wait meanwhile.

    Raises:
        StoreError: nothing was changed.
    """
    return await store.file.write(_repair)


async def _repair(tx: Transaction) -> RepairReport:
    await tx.rows("REINDEX")
    spoilt = await spoilt_blobs(tx)
    for sha256 in spoilt:
        await tx.rows("DELETE FROM blobs WHERE sha256 = ?", (sha256,))
    kept, dropped = await _drop_untrusted(tx)
    former, former_dropped = await _sound_former(tx)
    settled, links_rewritten = await _rebuild_index(tx, kept, former)
    journals = await spoilt_tool_journals(tx)
    for cumulative in journals:
        await tx.rows("DELETE FROM tool_journal WHERE cumulative_hash = ?", (cumulative,))
    signed = await _rebuild_signatures(tx, kept, settled)
    await tx.rows(DELETE_ORPHAN_BLOBS)
    orphans = (await tx.rows("SELECT changes()"))[0][0]
    return RepairReport(
        dropped=tuple(dropped),
        former_dropped=tuple(former_dropped),
        rehashed=tuple(a.shadow.message_id for a in kept if settled[a.shadow.message_id] != a.shadow),
        links_rewritten=links_rewritten,
        signatures_rewritten=tuple(signed),
        journals_dropped=len(journals),
        blobs_dropped=len(spoilt) + orphans,
    )


async def _drop_untrusted(tx: Transaction) -> tuple[list[Audited], list[str]]:
    """Remove shadows whose bytes are not those that were sealed; returns the others and the ids of the removed."""
    kept: list[Audited] = []
    dropped: list[str] = []
    async for audited in audited_shadows(tx):
        if audited.fault in ("lost", "unreadable", "bytes"):
            dropped.append(audited.shadow.message_id)
        else:
            kept.append(audited)
    if dropped:
        await tx.rows(RAISE_FLOOR, (_ANY_TIME_S, tx.now_s))
    for message_id in dropped:
        await tx.rows("DELETE FROM message_shadows WHERE message_id = ?", (message_id,))
    return kept, dropped


async def _sound_former(tx: Transaction) -> tuple[list[Shadow], list[str]]:
    """Remove former shadows that do not agree with their bytes; returns the others and the ids of the removed."""
    former = [audited async for audited in audited_former(tx)]
    for audited in former:
        if audited.fault is not None:
            await tx.rows("DELETE FROM rich_payloads WHERE rowid = ?", (audited.rowid,))
    dropped = [audited.shadow.message_id for audited in former if audited.fault is not None]
    return [audited.shadow for audited in former if audited.fault is None], dropped


async def _rebuild_index(tx: Transaction, kept: list[Audited], former: list[Shadow]) -> tuple[dict[str, Shadow], int]:
    """Put every sound link back, parents first.

    Returns:
        the shadows by message id with their final hashes, and how many links changed.
    """
    before = await links(tx)
    known = {link.cumulative_hash: link for link in before if link.is_sound()}
    for shadow in (*former, *(audited.derived for audited in kept)):
        _learn(known, shadow, tx.now_s)
    reached = {link.cumulative_hash for link in walk(known.values())}
    settled: dict[str, Shadow] = {}
    for audited in kept:
        shadow = audited.derived
        if shadow.cumulative_hash and shadow.cumulative_hash not in reached:
            # Its parent is lost for good; the next turn hangs it where it belongs.
            shadow = relink(shadow, ROOT_PARENT)
            _learn(known, shadow, tx.now_s)
        settled[shadow.message_id] = shadow
    after = walk(known.values())
    await tx.execute(_index_batch(kept, settled, after, tx.now_s))
    return settled, 0 if after == before else len(set(after) ^ set(before)) or len(after)


def _learn(known: dict[str, Link], shadow: Shadow, now_s: int) -> None:
    if shadow.cumulative_hash:
        link = Link(
            cumulative_hash=shadow.cumulative_hash,
            invariant_hash=shadow.invariant_hash,
            parent_hash=shadow.parent_hash,
            message_id=shadow.message_id,
            chat_id=shadow.chat_id,
            timestamp=now_s,
        )
        known.setdefault(shadow.cumulative_hash, link)


def _index_batch(kept: list[Audited], settled: Mapping[str, Shadow], after: list[Link], now_s: int) -> Batch:
    batch = Batch(now_s)
    for audited in kept:
        final = settled[audited.shadow.message_id]
        if final != audited.shadow:
            batch.add(MOVE_TOOL_IO, (final.cumulative_hash, audited.shadow.cumulative_hash))
            batch.add(SET_INVARIANT, (final.invariant_hash, final.message_id))
            batch.add(RELINK_SHADOW, (final.parent_hash, final.cumulative_hash, final.message_id))
    batch.add("DELETE FROM suture_index", ())
    batch.add(
        INSERT_SUTURE,
        *(
            (link.cumulative_hash, link.chat_id, link.invariant_hash, link.parent_hash, link.message_id, link.timestamp)
            for link in after
        ),
    )
    return batch


async def _rebuild_signatures(tx: Transaction, kept: list[Audited], settled: Mapping[str, Shadow]) -> list[str]:
    """Write the rows of each message anew that are not those of its parts; returns which messages."""
    origins = _Origins(
        await tx.rows(
            "SELECT message_id, content_index, part_index, model_id, scope FROM cognitive_signatures ORDER BY rowid"
        )
    )
    stored = await stored_signatures(tx)
    rewritten = [
        audited.shadow.message_id
        for audited in kept
        if (final := settled[audited.shadow.message_id]).cumulative_hash
        and dict(stored.get((final.message_id, final.cumulative_hash), {})) != dict(audited.signatures)
    ]
    for message_id in rewritten:
        shadow = (await get_message_shadows(tx, [message_id]))[message_id]
        batch = Batch(tx.now_s)
        batch.add(DELETE_SIGNATURES, (shadow.cumulative_hash, message_id))
        rows = [origins.restored(row) for row in signature_rows(shadow, "")]
        save_signature_by_id(batch, shadow.cumulative_hash, rows)
        await tx.execute(batch)
    await tx.rows(DELETE_STRAY_SIGNATURES)
    return rewritten


class _Origins:
    """Which model and scope signed a part, as far as any row still says so."""

    def __init__(self, rows: Iterable[tuple[str, int, int, str, str]]) -> None:
        self._by_place = {
            (message_id, content, part): (model, scope) for message_id, content, part, model, scope in rows
        }
        self._scopes = dict(self._by_place.values())

    def restored(self, row: SignatureRow) -> SignatureRow:
        """The row with the model and scope that it had; the scope of its model elsewhere when that is lost."""
        known = self._by_place.get((row.message_id, row.content_index, row.part_index))
        model_id, scope = known or (row.model_id, self._scopes.get(row.model_id, ""))
        return replace(row, model_id=model_id, scope=scope)
