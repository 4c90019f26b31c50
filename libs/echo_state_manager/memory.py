"""The same records in process memory, for temporary chats: nothing of them reaches the disk."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from echo_aec import DOCUMENT_PREFIX, Asking, OverlayBuilder, Transient
from echo_constants import StateError
from echo_core.ports import ToolOutputSlice
from echo_core.records import Resource, Seal, Shadow, SignatureRow, VersionLock
from echo_core.settled_prefix import SettledPrefix
from echo_state_manager._load import is_locked_at


class MemoryShadowStore:
    """A `ShadowStore` without a file. No method waits between reading and writing, so each is atomic."""

    def __init__(self) -> None:
        self._shadows: dict[str, Shadow] = {}
        self._former: dict[str, dict[tuple[str, bytes, bytes], Shadow]] = {}
        self._signatures: dict[tuple[str, str], tuple[SignatureRow, ...]] = {}
        self._tool_io: dict[str, bytes] = {}
        self._turn_log: dict[str, list[bytes]] = {}
        self._settings: dict[str, str] = {}
        self._outputs: dict[tuple[str, str], str] = {}
        self._prefix: SettledPrefix | None = None
        self._resources: dict[str, Resource] = {}
        self._transients: dict[str, Transient] = {}
        self._drained: dict[str, tuple[list[Transient], dict[str, bytes]]] = {}
        self._drains: set[tuple[str, str]] = set()

    def take_notices(self) -> tuple[StateError, ...]:
        """Always empty: memory is never found damaged."""
        return ()

    async def get_message_shadow(self, message_id: str, updated_at_s: int | None = None) -> Shadow | None:
        """One shadow under the Version Lock, see `echo_state_manager.get_message_shadow`."""
        shadow = self._shadows.get(message_id)
        return shadow if shadow is None or updated_at_s is None or is_locked_at(shadow, updated_at_s) else None

    async def get_message_shadows(self, message_ids: Sequence[str]) -> Mapping[str, Shadow]:
        """Shadows by message id; ids without a shadow are left out."""
        return {key: self._shadows[key] for key in message_ids if key in self._shadows}

    def settled_prefix(self) -> SettledPrefix | None:
        """The beginning that was kept last."""
        return self._prefix

    def keep_settled_prefix(self, prefix: SettledPrefix) -> None:
        """Keep a beginning for the next turn."""
        self._prefix = prefix

    async def get_former_shadows(self, message_id: str) -> Sequence[Shadow]:
        """What a message was before its content became another, oldest first."""
        return list(self._former.get(message_id, {}).values())

    async def find_by_client_hash(self, client_hashes: Sequence[str]) -> Mapping[str, Shadow]:
        """The newest shadow for each client hash that is known here."""
        wanted = {client_hash for client_hash in client_hashes if client_hash}
        return {shadow.client_hash: shadow for shadow in self._shadows.values() if shadow.client_hash in wanted}

    async def get_signatures(self, message_id: str) -> Sequence[SignatureRow]:
        """The signatures of a message in the order of its parts."""
        shadow = self._shadows.get(message_id)
        return list(self._signatures.get((message_id, shadow.cumulative_hash), ())) if shadow else []

    async def get_tool_io(self, cumulative_hash: str) -> bytes | None:
        """The tool calls and answers sealed under a hash, None when there were none."""
        return self._tool_io.get(cumulative_hash)

    async def seal(self, seal: Seal) -> None:
        """Keep one message's records and empty its turn log."""
        shadow = seal.shadow
        before = self._shadows.get(shadow.message_id)
        if before and not _same_bytes(before, shadow):
            self._signatures.pop((shadow.message_id, shadow.cumulative_hash), None)
            if before.state != "streaming" and before.cumulative_hash:
                former = self._former.setdefault(shadow.message_id, {})
                key = (before.invariant_hash, before.contents_json, before.overlay_json)
                former.pop(key, None)
                former[key] = before
        self._shadows[shadow.message_id] = shadow
        if before and _same_bytes(before, shadow):
            self._carry(before, shadow)
        if seal.signatures:
            ordered = sorted(seal.signatures, key=lambda row: (row.content_index, row.part_index))
            self._signatures[(shadow.message_id, shadow.cumulative_hash)] = tuple(ordered)
        if seal.tool_io_json is not None:
            self._tool_io[shadow.cumulative_hash] = seal.tool_io_json
        self._settings |= seal.settings
        self._turn_log.pop(shadow.message_id, None)

    async def seal_many(self, seals: Sequence[Seal]) -> None:
        """Keep several messages' records, in the order given."""
        for seal in seals:
            await self.seal(seal)

    async def relink_many(self, shadows: Sequence[Shadow]) -> None:
        """Hang messages under other parents: only `parent_hash` and `cumulative_hash` change."""
        for shadow in shadows:
            before = self._shadows.get(shadow.message_id)
            if before is not None:
                self._carry(before, shadow)
                self._shadows[shadow.message_id] = replace(
                    before, parent_hash=shadow.parent_hash, cumulative_hash=shadow.cumulative_hash
                )

    async def lock(self, message_id: str, lock: VersionLock) -> None:
        """Record what Open WebUI's row looks like now; nothing happens for a message without a shadow."""
        shadow = self._shadows.get(message_id)
        if shadow is not None:
            self._shadows[message_id] = replace(shadow, lock=lock)

    async def lock_many(self, locks: Mapping[str, VersionLock]) -> None:
        """`lock` for several messages."""
        for message_id, lock in locks.items():
            await self.lock(message_id, lock)

    async def append_turn_log(self, message_id: str, data: Sequence[bytes]) -> None:
        """Append raw records of the running turn."""
        if data:
            self._turn_log.setdefault(message_id, []).extend(data)

    async def read_turn_log(self, message_id: str) -> Sequence[bytes]:
        """The records that were appended since the message was last sealed, in order."""
        return list(self._turn_log.get(message_id, ()))

    async def recover_streaming(self, message_id: str) -> Sequence[bytes] | None:
        """What is left of a turn that did not end; None when the message is not in state `streaming`."""
        shadow = self._shadows.get(message_id)
        if shadow is None or shadow.state != "streaming":
            return None
        return await self.read_turn_log(message_id)

    async def message_ids(self) -> Sequence[str]:
        """Ids of all messages that have a record here."""
        return list(self._shadows)

    async def unembedded(self) -> Sequence[str]:
        """All messages, newest first: what leaves nothing on the disk is in no session memory."""
        return list(reversed(self._shadows))

    async def mark_embedded(self, shadows: Sequence[Shadow]) -> None:
        """Nothing: see `unembedded`."""

    async def streaming_messages(self) -> Sequence[str]:
        """Ids of the messages whose turn has not ended."""
        return [key for key, shadow in self._shadows.items() if shadow.state == "streaming"]

    async def get_setting(self, key: str) -> str | None:
        """One value of the settings, None when absent."""
        return self._settings.get(key)

    async def get_settings(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Several values of the settings by key; absent ones are left out."""
        return {key: self._settings[key] for key in keys if key in self._settings}

    async def reading_ahead(self, keys: Sequence[str]) -> "MemoryShadowStore":
        """Itself: nothing is far."""
        return self

    async def settings_beginning(self, prefix: str) -> Mapping[str, str]:
        """The values whose keys begin so, by key."""
        return {key: value for key, value in self._settings.items() if key.startswith(prefix)}

    async def save_setting(self, key: str, value: str) -> None:
        """Write one value of the settings."""
        self._settings[key] = value

    async def claim_settings(self, values: Mapping[str, str]) -> None:
        """Write values of the settings, those left out that have one."""
        self._settings = {**values, **self._settings}

    async def push_transient(self, transient: Transient) -> None:
        """Let a directive or event wait; nothing happens for an id that is known."""
        self._transients.setdefault(transient.id, transient)

    async def drain(self, asking: Asking, build: OverlayBuilder) -> bytes:
        """The overlay of an answer, see `echo_aec.DirectiveStore`."""
        chain = set(asking.chain)
        if asking.question_id not in self._drained:
            held = {resource_id for resource_id, answer_id in self._drains if answer_id in chain}
            waiting = self._transients.values() if asking.takes else ()
            pending = [t for t in waiting if t.id not in held and t.anchor_message_id in {"", *chain}]
            self._drained[asking.question_id] = sorted(pending, key=lambda t: t.created_at_s), {}
        drained, overlays = self._drained[asking.question_id]
        if asking.model_id not in overlays:
            overlays[asking.model_id] = build([t for t in drained if t.id in self._transients])
        self._drains |= {(transient.id, asking.answer_id) for transient in drained}
        return overlays[asking.model_id]

    async def transient_anchors(self) -> frozenset[str]:
        """Ids of the messages that anything waiting belongs to."""
        return frozenset(t.anchor_message_id for t in self._transients.values() if t.anchor_message_id)

    async def purge_transients(self, since_s: float, anchors: Collection[str]) -> int:
        """Remove what belongs to some messages; how many there were."""
        orphans = [
            t.id
            for t in self._transients.values()
            if t.created_at_s >= since_s and t.anchor_message_id in anchors and not t.name.startswith(DOCUMENT_PREFIX)
        ]
        for orphan in orphans:
            del self._transients[orphan]
        self._drains = {drain for drain in self._drains if drain[0] not in orphans}
        return len(orphans)

    async def update_setting(self, key: str, change: Callable[[str | None], str]) -> str:
        """Make a value of the settings out of the one that stands; the new one."""
        self._settings[key] = value = change(self._settings.get(key))
        return value

    async def claim_setting(self, key: str, value: str) -> str:
        """Write one value of the settings unless there is one; the value that stands."""
        return self._settings.setdefault(key, value)

    async def keep_tool_output(self, message_id: str, call_id: str, text: str) -> None:
        """Keep a tool's whole result."""
        self._outputs[(message_id, call_id)] = text

    async def read_tool_output(
        self, message_id: str, call_id: str, start: int, end: int | None
    ) -> ToolOutputSlice | None:
        """Characters of a kept result; None when nothing was kept."""
        whole = self._outputs.get((message_id, call_id))
        if whole is None:
            return None
        first, last, _ = slice(start, end).indices(len(whole))
        return ToolOutputSlice(text=whole[first:last], start=first, total_chars=len(whole))

    async def save_resource(self, resource: Resource) -> None:
        """Write one resource; one of the same id is replaced and keeps its place."""
        self._resources[resource.id] = resource

    async def get_resources(self, kind: str) -> Sequence[Resource]:
        """The resources of a kind, oldest first."""
        return [resource for resource in self._resources.values() if resource.kind == kind]

    def _carry(self, before: Shadow, after: Shadow) -> None:
        """What hangs on a message's hash moves along when only its parent changed."""
        if not after.cumulative_hash:
            return
        signatures = self._signatures.get((before.message_id, before.cumulative_hash))
        if signatures is not None:
            self._signatures.setdefault((after.message_id, after.cumulative_hash), signatures)
        if before.cumulative_hash in self._tool_io:
            self._tool_io.setdefault(after.cumulative_hash, self._tool_io[before.cumulative_hash])


def _same_bytes(one: Shadow, other: Shadow) -> bool:
    return one.contents_json == other.contents_json and one.overlay_json == other.overlay_json
