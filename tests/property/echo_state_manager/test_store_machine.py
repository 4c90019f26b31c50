"""Any sequence of sealing, editing, locking, reading and restarting: the file and its twin in memory stay the same."""

import asyncio
import json
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from echo_core.records import Role, Seal, Shadow, ShadowState, VersionLock
from echo_core.sealing import relink, seal_shadow, signature_rows
from echo_paths import EchoPaths
from echo_protocol import ROOT_PARENT
from echo_state_manager import MemoryShadowStore, SessionStore, SessionStores, repair, verify
from store_kit import CHAT, SECRET, USER, ManualClock, shadow

T = TypeVar("T")

texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.builds("".ljust, st.integers(0, 60_000), st.just("x"))
large_signatures = st.builds("S".ljust, st.just(40_000), st.just("s"))
signatures = st.none() | st.text("ABCabc+/=", min_size=1, max_size=20) | large_signatures
extras = st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=2)
part_lists = st.lists(st.tuples(texts, signatures, extras), max_size=4)
states: st.SearchStrategy[ShadowState] = st.sampled_from(["complete", "stopped", "failed"])
locks = st.builds(
    VersionLock, updated_at_s=st.integers(0, 2**40), fingerprint=st.text("0aé", max_size=5), provisional=st.booleans()
)


def document(role: Role, parts: list[tuple[str, str | None, dict[str, Any]]]) -> bytes:
    wires = [{"text": text, **extra, **({"thoughtSignature": s} if s else {})} for text, s, extra in parts]
    return json.dumps([{"role": role, "parts": wires}], ensure_ascii=len(parts) % 2 == 0).encode("utf-8", "replace")


class StoreMachine(RuleBasedStateMachine):
    """Chains grow, branch and are edited; every read goes to both stores."""

    messages = Bundle("messages")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.twin = MemoryShadowStore()
        self.sealed: dict[str, Shadow] = {}
        self.runner.run(self._open())

    async def _open(self) -> None:
        self.stores = SessionStores(EchoPaths(Path(self.folder.name)), ManualClock(), SECRET)
        self.context = self.stores.open_file(EchoPaths(Path(self.folder.name)).session_db(USER, CHAT))
        self.store: SessionStore = await self.context.__aenter__()

    async def _close(self) -> None:
        await self.context.__aexit__(None, None, None)
        await self.stores.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def both(self, method: str, *arguments: Any) -> Any:
        ours = self.run(getattr(self.store, method)(*arguments))
        theirs = self.run(getattr(self.twin, method)(*arguments))
        assert ours == theirs
        return ours

    def seal(self, made: Shadow, **settings_: str) -> None:
        rows = signature_rows(made, "scope")
        tool_io = made.contents_json if len(rows) > 1 else None
        self.both("seal", Seal(shadow=made, signatures=rows, tool_io_json=tool_io, settings=settings_))
        self.sealed[made.message_id] = made

    def teardown(self) -> None:
        self.run(self._close())
        self.runner.close()
        self.folder.cleanup()

    @initialize(target=messages, parts=part_lists)
    def first(self, parts: list[Any]) -> str:
        self.seal(seal_shadow(shadow("m0", "", role="user", contents_json=document("user", parts)), ROOT_PARENT))
        return "m0"

    @rule(target=messages, parent=messages, parts=part_lists, state=states, overlay=extras)
    def answer(self, parent: str, parts: list[Any], state: ShadowState, overlay: dict[str, Any]) -> str:
        """A new message below any other: a next turn, or an edit that opens a branch."""
        message_id = f"m{len(self.sealed)}"
        role: Role = "user" if self.sealed[parent].role == "model" else "model"
        made = shadow(
            message_id,
            "".join(text for text, _, _ in parts),
            role=role,
            contents_json=document(role, parts),
            overlay_json=json.dumps([overlay]).encode(),
            state=state,
        )
        self.seal(seal_shadow(made, self.sealed[parent].cumulative_hash), last=message_id)
        return message_id

    @rule(on=st.booleans())
    def switch_encryption(self, on: bool) -> None:
        """The administrator's valve: what is there stays readable either way."""
        self.run(self.store.file.switch_encryption(on))

    @rule(message_id=messages, parts=part_lists)
    def edit_in_place(self, message_id: str, parts: list[Any]) -> None:
        """The same message with other content: Cold Recovery, or a continued answer."""
        before = self.sealed[message_id]
        made = replace(before, contents_json=document(before.role, parts), lock=None)
        self.seal(seal_shadow(made, before.parent_hash))

    @rule(message_id=messages)
    def restore_a_former_version(self, message_id: str) -> None:
        former = self.both("get_former_shadows", message_id)
        if former:
            self.seal(former[0])

    @rule(message_id=messages, parent=messages)
    def relink(self, message_id: str, parent: str) -> None:
        """Hang a message elsewhere, as after an edit above it."""
        made = relink(self.sealed[message_id], self.sealed[parent].cumulative_hash)
        before = self.run(self.store.get_signatures(message_id))
        self.both("relink_many", [made])
        self.sealed[message_id] = made
        assert self.run(self.store.get_signatures(message_id)) == before

    @rule(message_id=messages, lock=locks)
    def lock(self, message_id: str, lock: VersionLock) -> None:
        self.both("lock", message_id, lock)
        self.sealed[message_id] = replace(self.sealed[message_id], lock=lock)

    @rule(message_id=messages, data=st.lists(st.binary(max_size=20), max_size=3))
    def log(self, message_id: str, data: list[bytes]) -> None:
        self.both("append_turn_log", message_id, data)
        self.both("read_turn_log", message_id)

    @rule(target=messages, data=st.lists(st.binary(max_size=20), max_size=3))
    def a_turn_breaks_off(self, data: list[bytes]) -> Any:
        self.both("seal", Seal(shadow=shadow("running", "", state="streaming", cumulative_hash="")))
        self.both("append_turn_log", "running", data)
        assert list(self.both("recover_streaming", "running")) == data
        self.both("streaming_messages")
        return multiple()

    @rule()
    def restart(self) -> None:
        self.run(self._close())
        self.run(self._open())

    @rule()
    def repair(self) -> None:
        report = self.run(repair(self.store))
        assert (report.dropped, report.rehashed, report.links_rewritten, report.signatures_rewritten) == ((), (), 0, ())

    @rule(ids=st.lists(messages, max_size=4), updated_at_s=st.integers(0, 3))
    def read(self, ids: list[str], updated_at_s: int) -> None:
        self.both("get_message_shadows", [*ids, "nobody"])
        for message_id in ids:
            self.both("get_message_shadow", message_id, updated_at_s)
            self.both("get_signatures", message_id)
            self.both("get_tool_io", self.sealed[message_id].cumulative_hash)
            self.both("get_former_shadows", message_id)
        self.both("get_setting", "last")

    @invariant()
    def bytes_are_those_that_were_sealed(self) -> None:
        assert self.run(self.store.get_message_shadows(list(self.sealed))) == self.sealed

    @invariant()
    def every_hash_follows(self) -> None:
        assert self.run(verify(self.store)).breaks == ()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=20)
