"""What verifying and repairing share: every record of a file, re-derived from the bytes that were sealed."""

import hashlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any, Final, Literal

from anyio import to_thread

from echo_constants import ProtocolError
from echo_core.records import Shadow
from echo_core.sealing import seal_shadow, signature_rows
from echo_protocol import ROOT_PARENT, cumulative_hash, sealed_hash
from echo_state_manager._blobs import fill, wanted
from echo_state_manager._database import Transaction
from echo_state_manager._load import from_sql, is_readable, load_blobs, shadow_of
from echo_state_manager._save import TOOL_IO
from echo_state_manager._sql import (
    ALL_SIGNATURES,
    PAGE_OF_BLOBS,
    PAGE_OF_FORMER,
    PAGE_OF_SHADOWS,
    PAGE_OF_TOOL_IO,
)

#: Records that are read and re-derived at once. Source: our choice; a few hundred kilobytes without images.
_PAGE_ROWS: Final = 200

#: Blobs reach 3 MB, so few are held at once.
_PAGE_BLOBS: Final = 8

Place = tuple[int, int]

#: What is wrong with a record, worst first.
#: lost: a blob is gone. unreadable: not Gemini contents. bytes: not what was sealed. invariant, cumulative: a hash does
#: not follow from the bytes or from the parent.
Fault = Literal["lost", "unreadable", "bytes", "invariant", "cumulative"]


@dataclass(frozen=True, slots=True)
class Link:
    """One row of `suture_index`."""

    cumulative_hash: str
    invariant_hash: str
    parent_hash: str
    message_id: str
    chat_id: str = ""
    timestamp: int = 0

    def is_sound(self) -> bool:
        """Whether the hash follows from the message and its parent."""
        return cumulative_hash(self.invariant_hash, self.parent_hash) == self.cumulative_hash


@dataclass(frozen=True, slots=True)
class Audited:
    """One shadow, re-derived.

    Args:
        shadow: as stored, without its bytes.
        derived: with the hashes that follow from its bytes; the same as `shadow` when it streams or cannot be read.
        fault: None when everything agrees.
        rowid: where its row is in its table.
        signatures: SHA-256 of each signature by (content, part), as the bytes have them.
    """

    shadow: Shadow
    derived: Shadow
    fault: Fault | None
    rowid: int
    signatures: Mapping[Place, str]


async def audited_shadows(tx: Transaction, sql: str = PAGE_OF_SHADOWS) -> AsyncIterator[Audited]:
    """Every shadow in the order of the table; the work on it leaves the event loop."""
    after = -1
    while rows := await tx.rows(sql, (after, _PAGE_ROWS)):
        after = rows[-1][18]
        blobs = await load_blobs(tx, [row[16] for row in rows if row[16]])
        for audited in await to_thread.run_sync(_audit_page, rows, blobs):
            yield audited


async def audited_former(tx: Transaction) -> AsyncIterator[Audited]:
    """Every former shadow."""
    async for audited in audited_shadows(tx, PAGE_OF_FORMER):
        yield audited


async def links(tx: Transaction) -> list[Link]:
    """All of `suture_index`, oldest first."""
    rows = await tx.rows(
        "SELECT cumulative_hash, invariant_hash, parent_hash, message_id, chat_id, timestamp FROM suture_index "
        "ORDER BY rowid"
    )
    return [Link(*row) for row in rows]


async def spoilt_blobs(tx: Transaction) -> list[str]:
    """The keys of the blobs whose data is not what their key says."""
    spoilt: list[str] = []
    after = -1
    while rows := await tx.rows(PAGE_OF_BLOBS, (after, _PAGE_BLOBS)):
        after = rows[-1][2]
        spoilt += await to_thread.run_sync(_spoilt, rows)
    return spoilt


async def spoilt_tool_journals(tx: Transaction) -> list[str]:
    """The cumulative hashes whose tool journal is not JSON any more."""
    spoilt: list[str] = []
    after = -1
    while rows := await tx.rows(PAGE_OF_TOOL_IO, (after, _PAGE_ROWS)):
        after = rows[-1][3]
        blobs = await load_blobs(tx, [row[2] for row in rows])
        spoilt += [row[0] for row in rows if not _is_json(row[1], row[2], blobs)]
    return spoilt


async def stored_signatures(tx: Transaction) -> dict[tuple[str, str], dict[Place, str]]:
    """SHA-256 of the stored signatures by (message, cumulative hash) and (content, part); "" for lost ones."""
    found: dict[tuple[str, str], dict[Place, str]] = defaultdict(dict)
    for message_id, cumulative, content_index, part_index, value, key, blob in await tx.rows(ALL_SIGNATURES):
        digest = blob or "" if key is not None else "" if value is None else _digest(from_sql(value))
        found[(message_id, cumulative)][(content_index, part_index)] = digest
    return found


def walk(known: Iterable[Link]) -> list[Link]:
    """The links that hang together with a root: in the order given, except that parents stand before children."""
    ages: dict[str, int] = {}
    children: dict[str, list[Link]] = defaultdict(list)
    for age, link in enumerate(known):
        ages[link.cumulative_hash] = age
        children[link.parent_hash].append(link)
    reached: list[Link] = []
    waiting = [(ages[link.cumulative_hash], link) for link in children.pop(ROOT_PARENT, [])]
    while waiting:
        _, link = heappop(waiting)
        reached.append(link)
        for child in children.pop(link.cumulative_hash, []):
            heappush(waiting, (ages[child.cumulative_hash], child))
    return reached


def _audit_page(rows: list[Any], blobs: Mapping[str, bytes]) -> list[Audited]:
    return [_audit(row, blobs) for row in rows]


def _audit(row: Any, blobs: Mapping[str, bytes]) -> Audited:
    if not is_readable(row):
        sealed_away = shadow_of((*row[:3], b"", b"", *row[5:8], "", *row[9:16], ""), {})
        return Audited(sealed_away, sealed_away, "bytes", row[18], {})
    if any(sha256 not in blobs for sha256 in wanted([row[16]])):
        lost = shadow_of((*row[:3], b"", b"", *row[5:8], "", *row[9:16], ""), {})
        return Audited(lost, lost, "lost", row[18], {})
    whole = shadow_of(row, blobs)
    # The bytes of a whole chat may not fit into memory; what was derived from them does.
    shadow = replace(whole, contents_json=b"", overlay_json=b"", visible_text="")
    if sealed_hash(contents_json=whole.contents_json, overlay_json=whole.overlay_json) != row[17]:
        return Audited(shadow, shadow, "bytes", row[18], {})
    try:
        sealed = seal_shadow(whole, whole.parent_hash or ROOT_PARENT)
        signed = {(r.content_index, r.part_index): _digest(r.thought_signature) for r in signature_rows(whole, "")}
    except (ValueError, RecursionError, ProtocolError):
        return Audited(shadow, shadow, "unreadable", row[18], {})
    if not shadow.cumulative_hash:
        return Audited(shadow, shadow, None, row[18], signed)
    derived = replace(
        shadow,
        invariant_hash=sealed.invariant_hash,
        parent_hash=sealed.parent_hash,
        cumulative_hash=sealed.cumulative_hash,
    )
    return Audited(shadow, derived, _hash_fault(shadow, derived), row[18], signed)


def _hash_fault(shadow: Shadow, derived: Shadow) -> Fault | None:
    if shadow.invariant_hash != derived.invariant_hash:
        return "invariant"
    return None if shadow.cumulative_hash == derived.cumulative_hash else "cumulative"


def _spoilt(rows: list[Any]) -> list[str]:
    return [row[0] for row in rows if row[1] is None or hashlib.sha256(row[1]).hexdigest() != row[0]]


def _is_json(remaining: bytes | None, column: str, blobs: Mapping[str, bytes]) -> bool:
    if remaining is None or any(sha256 not in blobs for sha256 in wanted([column])):
        return False
    try:
        json.loads(fill(TOOL_IO, remaining, column, blobs.__getitem__))
    except (ValueError, RecursionError):
        return False
    return True


def _digest(signature: str) -> str:
    return hashlib.sha256(signature.encode("utf-8", "surrogatepass")).hexdigest()
