"""The Suture at work: the chain of a chat as Gemini contents, each message from its shadow where that is trusted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from echo_core.compaction import EchoCompactionEngine
from echo_core.compaction_records import STATE_KEY, CompactionState, Epoch
from echo_core.compaction_records import Chain as CompactionChain
from echo_core.compaction_replay import Rendered, Replayed
from echo_core.heads import Heads
from echo_core.overlay import NO_OVERLAY, render
from echo_core.ports import Clock, ShadowStore
from echo_core.prefix import PrefixBreak
from echo_core.records import Shadow
from echo_core.settled_prefix import SettledPrefix
from echo_core.suture import Assembly, Verdict, closed, judge
from echo_protocol import ROOT_PARENT, Notice, content_json, text_part, user_parts
from echo_runtime.adoption import adopted
from echo_runtime.attachments import Attachments
from echo_runtime.breaks import BREAKS
from echo_runtime.call import PipeCall
from echo_runtime.chains import Chain
from echo_runtime.compaction_store import RenderedHeads, artifacts_of
from echo_runtime.document_desk import DocumentDesk, DocumentReader
from echo_runtime.drafting import Drafter
from echo_runtime.orphans import purge_orphans
from echo_runtime.scopes import Reader, Scopes
from echo_runtime.settling import Settler
from echo_runtime.stores import ChatStores
from echo_runtime.vaults import Vaults
from echo_runtime.writers import SHARED_SUFFIX, shared

#: Key in `echo_settings`: the question that was answered last, on whatever branch.
ASKED_KEY: Final = "asked_last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """The conversation up to what is asked for now.

    Args:
        contents: serialised fragments for the request, oldest first, up to the current user message; see `sent`.
        question: the current user message without its overlay, b"" where there is none or it is in `contents`.
        overlay: of the answer that is continued or asked for again with a hint; None when one has to be made.
        overlays: those of the answers on the chain, oldest first.
        chain: ids of the messages from the root to the current user message.
        lead: fragments that open the answer's own record (see `TurnRecord`).
        before: the continued answer's text as the page shows it.
        parent_hash: cumulative hash of the current user message; the answer's parent.
        recovered: how many messages had to be rebuilt from the page's text.
        former: the continued answer's shadow, which stands again if nothing is added.
        shared: whether the chat has several writers.
        client_parent: for API callers, the client hash of the question; "" in Open WebUI's chats.
        notices: what the user is told about attachments.
        view: the chain as it would be sent without any compaction.
        state: all compactions of the chat.
        epoch: the one by which `contents` was made, None for none.
        replayed: how.
        again: whether the question was answered before, so that its request stays what it was.
    """

    contents: tuple[bytes, ...]
    question: bytes = b""
    overlay: bytes | None = None
    overlays: tuple[bytes, ...] = ()
    chain: Sequence[str] = ()
    lead: tuple[bytes, ...] = ()
    before: str = ""
    parent_hash: str = ROOT_PARENT
    recovered: int = 0
    former: Shadow | None = None
    shared: bool = False
    client_parent: str = ""
    notices: tuple[Notice, ...] = ()
    view: CompactionChain = field(default_factory=CompactionChain)
    state: CompactionState = field(default_factory=CompactionState)
    epoch: Epoch | None = None
    replayed: Replayed | None = None
    again: bool = False

    @property
    def for_tools(self) -> dict[str, Any]:
        """What of it decides which tools ECHO adds; see `tooling_of`."""
        return {"chain": self.view.ids, "compacted": self.epoch is not None, "questions": self._own_questions()}

    def _own_questions(self) -> Iterator[bytes]:
        """The serialised messages of the person who asks; none where several write, which nobody's documents enter."""
        for shadow, piece in zip(self.view.shadows, self.view.pieces, strict=True):
            if shadow.role == "user" and not self.shared:
                yield piece

    def under(self, epoch: Epoch | None, artifacts: Sequence[str], kept: Rendered | None = None) -> "Rebuilt":
        """The same conversation as it is sent under a compaction; None brings back the whole of it.

        Args:
            epoch: which one.
            artifacts: of its checkpoint.
            kept: what was rendered of this chat last.
        """
        replayed = EchoCompactionEngine.replay(self.view, epoch, artifacts, kept)
        overlays = (shadow.overlay_json for shadow in self.view.shadows[replayed.first :])
        return replace(
            self,
            contents=replayed.contents,
            question=replayed.question,
            overlays=tuple(overlay for overlay in overlays if overlay != NO_OVERLAY),
            epoch=epoch,
            replayed=replayed,
        )

    def estimate(self) -> int:
        """Tokens of what is sent, by our own estimate."""
        return EchoCompactionEngine.estimate(self.view, self.replayed or Replayed(contents=(), question=self.question))

    def sent(self, overlay: bytes) -> tuple[bytes, ...]:
        """All contents of the request, the current user message with what is told beside it."""
        return (*self.contents, render(self.question, overlay)) if self.question else self.contents


class HistoryBuilder:
    """Rebuilds chats.

    Args:
        stores: the records of other chats of the same owner, for copies.
        scopes: tells which signatures a reader accepts.
        clock: for the age of version locks.
        vaults: the files of users; None where large attachments are not kept.
        drafter: prepares questions.
        documents: reads what is attached; None where only what is text already counts.
    """

    def __init__(
        self,
        stores: ChatStores,
        scopes: Scopes,
        clock: Clock,
        vaults: Vaults | None = None,
        drafter: Drafter | None = None,
        documents: DocumentDesk | None = None,
    ) -> None:
        self._stores = stores
        self._scopes = scopes
        self._clock = clock
        self._vaults = vaults
        self._rendered = RenderedHeads()
        self._drafter = drafter
        self._documents = documents

    async def rebuild(self, call: PipeCall, store: ShadowStore, chain: Chain, reader: Reader) -> Rebuilt:
        """Read the chain, trust what can be trusted, recover the rest, seal what is new.

        Args:
            call: names the message to answer.
            store: the chat's records.
            chain: the chat's messages.
            reader: who will read the contents.
        """
        together = await shared(chain, call, store)
        chain = together or chain
        heads = await chain.heads()
        known = await store.get_message_shadows(heads.ids)
        shadows = [known.get(message_id) for message_id in heads.ids]
        prefix = self._prefix(call, store, heads, shadows, reader)
        # What several people read is kept in nobody's vault, and a temporary chat leaves nothing on the disk.
        keeps = self._vaults is not None and together is None and not call.is_temporary
        documents = DocumentReader(call, self._documents, keeps=keeps) if self._documents else None
        attachments = Attachments(call, self._vaults.of(call) if self._vaults and keeps else None, documents)
        names = together.names if together else {}
        # What others read is prepared from nobody's own documents and memories.
        drafter = self._drafter if together is None and call.shared.tells_own else None
        settler = Settler(store, self._stores, self._scopes, self._clock, call, names, attachments, drafter)
        begun = len(prefix)
        rest = await self._settled(settler, call, chain, heads[begun:], shadows[begun:], prefix.parent_hash)
        await settler.write()
        ids = heads.ids if together is None else [m.removesuffix(SHARED_SUFFIX) for m in heads.ids]
        if settler.pivot or settler.moved:
            await purge_orphans(call, store, ids, settler.pivot)
        last = next((s for s in reversed([*prefix.shadows[-1:], *rest]) if s.role == "model"), None)
        unread = last is not None and self._scopes.readable(last, reader) is not last
        again = await self._note_breaks(call, store, settler, ids, known=bool(known), unread=unread)
        rebuilt = self._assemble(call, prefix, rest, settler, reader)
        chain_ids = ids[:-1] if rebuilt.lead else ids
        told = tuple(attachments.notices)
        rebuilt = replace(rebuilt, shared=together is not None, chain=chain_ids, notices=told, again=again)
        return await self._compacted(call, store, rebuilt, reader)

    async def _compacted(self, call: PipeCall, store: ShadowStore, rebuilt: Rebuilt, reader: Reader) -> Rebuilt:
        """As it is sent under the compaction that is in force on this chain, if one is."""
        # What was read ahead will do: whoever compacts looks again under the chat's lock.
        state = CompactionState.from_json(await store.get_setting(STATE_KEY))
        epoch = state.in_force(rebuilt.view) if state.epochs else None
        rebuilt = replace(rebuilt, state=state)
        if epoch is None:
            return rebuilt
        return rebuilt.under(epoch, await artifacts_of(store, epoch), self.rendered(call, reader))

    def rendered(self, call: PipeCall, reader: Reader) -> Rendered:
        """What was rendered of a compacted chat last."""
        return self._rendered.of(call.chat_id, reader.scope)

    async def _note_breaks(
        self, call: PipeCall, store: ShadowStore, settler: Settler, ids: Sequence[str], *, known: bool, unread: bool
    ) -> bool:
        """Say why this request begins otherwise than the one before it, if it does.

        Returns:
            Whether the question is the one that was answered last.
        """
        if settler.pivot:
            BREAKS.note(PrefixBreak.EDIT, call.chat_id)
        elif settler.recovered and known:
            BREAKS.note(PrefixBreak.COLD_RECOVERY, call.chat_id)
        elif settler.moved:
            BREAKS.note(PrefixBreak.DELETE, call.chat_id)
        asked_last = await store.get_setting(ASKED_KEY)
        if asked_last and asked_last not in ids and not settler.moved:
            BREAKS.note(PrefixBreak.BRANCH, call.chat_id)
        if unread:
            BREAKS.note(PrefixBreak.SCOPE, call.chat_id)
        return asked_last is not None and asked_last == call.user_message_id

    def _prefix(
        self, call: PipeCall, store: ShadowStore, heads: Heads, shadows: Sequence[Shadow | None], reader: Reader
    ) -> SettledPrefix:
        """The beginning that is in order, most of it from the turn before."""
        kept = store.settled_prefix() or SettledPrefix()
        begun = kept.still_true(reader.scope, heads, shadows)
        prefix = begun.grown(call.chat_id, heads, shadows, lambda shadow: self._scopes.readable(shadow, reader))
        if prefix is not kept:
            store.keep_settled_prefix(prefix)
        return prefix

    async def _settled(
        self,
        settler: Settler,
        call: PipeCall,
        chain: Chain,
        heads: Heads,
        shadows: Sequence[Shadow | None],
        parent_hash: str,
    ) -> list[Shadow]:
        """What stands for each of the other messages, the one that is asked now included."""
        rows = list(zip(heads, shadows, strict=True))
        doubtful = [head.message_id for head, shadow in rows if judge(head, shadow) is not Verdict.TRUSTED]
        texts = await chain.texts(doubtful) if doubtful else {}
        strangers = [head for head, shadow in rows if shadow is None and head.message_id != call.user_message_id]
        # Where the first question of a copy is asked again there are no strangers, but it was told something.
        begins = call.is_saved and not parent_hash and [shadow for _, shadow in rows] == [None]
        copies = await adopted(self._stores, call, settler.store, strangers, texts) if strangers or begins else {}
        settled: list[Shadow] = []
        for head, shadow in rows:
            message_id = head.message_id
            found = copies.get(message_id) if shadow is None else shadow
            settled.append(await settler.settle(head, found, texts.get(message_id), parent_hash))
            parent_hash = settled[-1].cumulative_hash
        return settled

    def _assemble(
        self, call: PipeCall, prefix: SettledPrefix, rest: list[Shadow], settler: Settler, reader: Reader
    ) -> Rebuilt:
        answer = rest.pop() if rest and rest[-1].role == "model" else None
        parent_hash = rest[-1].cumulative_hash if rest else prefix.parent_hash
        asked = rest.pop() if rest and rest[-1].role == "user" and rest[-1].contents_json != b"[]" else None
        assembly = Assembly(prefix.pieces, prefix.last_roles)
        assembly.extend([self._scopes.readable(shadow, reader) for shadow in rest])
        lead: dict[str, Any] = {} if answer is None else self._lead(call, answer, settler, reader)
        overlays = (shadow.overlay_json for shadow in (*prefix.shadows, *rest))
        question = b"" if asked is None else self._scopes.readable(asked, reader).contents_json
        shown = rest if asked is None else [*rest, asked]
        view = CompactionChain(
            ids=[*prefix.ids, *(shadow.message_id for shadow in shown)],
            shadows=[*prefix.shadows, *shown],
            pieces=assembly.pieces if asked is None else [*assembly.pieces, question[1:-1]],
            asked=asked is not None,
            waiting=bool(assembly.last_roles) and assembly.last_roles[-1] == "user",
        )
        return Rebuilt(
            view=view,
            contents=assembly.fragments if asked is None else assembly.before_question(),
            question=question,
            overlays=tuple(overlay for overlay in overlays if overlay != NO_OVERLAY),
            parent_hash=parent_hash,
            recovered=settler.recovered,
            **lead,
        )

    def _lead(self, call: PipeCall, answer: Shadow, settler: Settler, reader: Reader) -> dict[str, Any]:
        """An answer at the end of the chain is continued, or regenerated with a hint."""
        readable = self._scopes.readable(answer, reader)
        if not call.continues:
            hint = content_json("user", user_parts(settler.hint()))
            return {"lead": (*closed(readable), hint), "overlay": answer.overlay_json}
        asking = content_json("user", [text_part(call.prompts.text("continue", call.locale))])
        lead = () if readable.contents_json == b"[]" else (*closed(readable), asking)
        return {"lead": lead, "before": answer.visible_text, "former": answer, "overlay": answer.overlay_json}
