"""Proof that a chat's records still say what was sealed: every hash is derived again, every chain is walked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from echo_protocol import ROOT_PARENT
from echo_state_manager._audit import (
    Audited,
    Fault,
    Link,
    Place,
    audited_former,
    audited_shadows,
    links,
    spoilt_blobs,
    spoilt_tool_journals,
    stored_signatures,
    walk,
)
from echo_state_manager._database import Transaction
from echo_state_manager._files import snapshot
from echo_state_manager.session import SessionStore

BreakKind = Fault | Literal["file", "blob", "link", "parent", "index", "signatures", "tool_io", "former"]

#: How many complaints of SQLite's own check are reported. Source: our choice.
_FILE_COMPLAINTS: Final = 10


@dataclass(frozen=True, slots=True)
class Break:
    """One thing that does not agree.

    Args:
        kind: what it is; the words of `_audit.Fault` for a shadow, and `file` (SQLite's own check), `blob` (data is not
            what its key says), `link` (an entry's hash does not follow), `parent` (a parent is missing), `index` (a
            shadow is not indexed), `signatures`, `tool_io`, `former` (what a message was before).
        message_id: which message, "" when it is about the file.
        detail: for a developer.
    """

    kind: BreakKind
    message_id: str
    detail: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` found.

    Args:
        messages: how many shadows were derived again.
        chains: how many chains were walked (one for each last message).
        breaks: the file first, then along the chains from the root on; the first one is where trouble begins.
    """

    messages: int
    chains: int
    breaks: tuple[Break, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found."""
        return not self.breaks

    @property
    def first_break(self) -> Break | None:
        """Where trouble begins."""
        return self.breaks[0] if self.breaks else None


@dataclass(slots=True)
class _Findings:
    messages: int = 0
    by_hash: dict[str, list[Break]] = field(default_factory=dict)
    elsewhere: list[Break] = field(default_factory=list)

    def add(self, kind: BreakKind, message_id: str, detail: str, cumulative: str = "") -> None:
        found = Break(kind, message_id, detail)
        if cumulative:
            self.by_hash.setdefault(cumulative, []).append(found)
        else:
            self.elsewhere.append(found)


async def verify(store: SessionStore) -> VerifyReport:
    """Derive every hash of a chat again and walk each chain. Reads one consistent state and holds up no turn.

    Raises:
        StoreError: the file could not be read.
    """
    async with snapshot(store.file.path, store.file.now_s, store.file.secret) as tx:
        return await verify_records(tx)


async def verify_records(tx: Transaction) -> VerifyReport:
    findings = _Findings()
    for (complaint,) in await tx.rows(f"PRAGMA integrity_check({_FILE_COMPLAINTS})"):
        if complaint != "ok":
            findings.add("file", "", complaint)
    for sha256 in await spoilt_blobs(tx):
        findings.add("blob", "", f"blob {sha256} holds other data")
    entries = await links(tx)
    signatures = await stored_signatures(tx)
    index = {link.cumulative_hash: link for link in entries}
    async for audited in audited_shadows(tx):
        findings.messages += 1
        _check_shadow(findings, audited, index, signatures)
    async for audited in audited_former(tx):
        if audited.fault is not None:
            findings.add("former", audited.shadow.message_id, audited.fault)
    for cumulative in await spoilt_tool_journals(tx):
        entry = index.get(cumulative)
        findings.add("tool_io", entry.message_id if entry else "", f"journal of {cumulative}", cumulative)
    return _report(findings, entries)


def _check_shadow(
    findings: _Findings,
    audited: Audited,
    index: Mapping[str, Link],
    signatures: Mapping[tuple[str, str], Mapping[Place, str]],
) -> None:
    shadow = audited.shadow
    cumulative = shadow.cumulative_hash
    if audited.fault is not None:
        findings.add(audited.fault, shadow.message_id, f"sealed under {cumulative or 'no hash yet'}", cumulative)
        return
    if not cumulative:
        return
    entry = index.get(cumulative)
    if entry is None or (entry.invariant_hash, entry.parent_hash) != (shadow.invariant_hash, shadow.parent_hash):
        findings.add("index", shadow.message_id, f"{cumulative} is not indexed as it was sealed", cumulative)
    if dict(signatures.get((shadow.message_id, cumulative), {})) != dict(audited.signatures):
        findings.add(
            "signatures", shadow.message_id, f"the rows of {cumulative} are not those of its parts", cumulative
        )


def _report(findings: _Findings, entries: list[Link]) -> VerifyReport:
    reached = walk(entries)
    known = {link.cumulative_hash for link in entries}
    walked = {link.cumulative_hash for link in reached}
    parents = {link.parent_hash for link in entries}
    along: list[Break] = []
    for link in [*reached, *(link for link in entries if link.cumulative_hash not in walked)]:
        if not link.is_sound():
            along.append(Break("link", link.message_id, f"{link.cumulative_hash} does not follow from its parent"))
        if link.parent_hash not in known and link.parent_hash != ROOT_PARENT:
            along.append(Break("parent", link.message_id, f"the parent of {link.cumulative_hash} is missing"))
        along += findings.by_hash.pop(link.cumulative_hash, [])
    rest = [found for group in findings.by_hash.values() for found in group]
    return VerifyReport(
        messages=findings.messages,
        chains=sum(link.cumulative_hash not in parents for link in reached),
        breaks=(*findings.elsewhere, *along, *rest),
    )
