"""The Suture at work: the chain of a chat as Gemini contents, each message from its shadow where that is trusted."""

from dataclasses import dataclass, replace
from typing import Any

from echo_core.overlay import NO_OVERLAY, render
from echo_core.ports import Clock, ShadowStore
from echo_core.records import Shadow
from echo_core.suture import Assembly, Verdict, closed, judge
from echo_prompts import continue_words
from echo_protocol import ROOT_PARENT, content_json, text_part, user_parts
from echo_runtime.adoption import adopted
from echo_runtime.call import PipeCall
from echo_runtime.chains import Chain
from echo_runtime.scopes import Reader, Scopes
from echo_runtime.settling import Settler
from echo_runtime.stores import ChatStores
from echo_runtime.writers import shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """The conversation up to what is asked for now.

    Args:
        contents: serialised fragments for the request, oldest first, up to the current user message; see `sent`.
        question: the current user message without its overlay, b"" where there is none or it is in `contents`.
        overlay: of the answer that is continued or asked for again with a hint; None when one has to be made.
        overlays: those of the answers on the chain, oldest first.
        lead: fragments that open the answer's own record (see `TurnRecord`).
        before: the continued answer's text as the page shows it.
        parent_hash: cumulative hash of the current user message; the answer's parent.
        recovered: how many messages had to be rebuilt from the page's text.
        former: the continued answer's shadow, which stands again if nothing is added.
        shared: whether the chat has several writers.
        client_parent: for API callers, the client hash of the question; "" in Open WebUI's chats.
    """

    contents: tuple[bytes, ...]
    question: bytes = b""
    overlay: bytes | None = None
    overlays: tuple[bytes, ...] = ()
    lead: tuple[bytes, ...] = ()
    before: str = ""
    parent_hash: str = ROOT_PARENT
    recovered: int = 0
    former: Shadow | None = None
    shared: bool = False
    client_parent: str = ""

    def sent(self, overlay: bytes) -> tuple[bytes, ...]:
        """All contents of the request, the current user message with what is told beside it."""
        return (*self.contents, render(self.question, overlay)) if self.question else self.contents


class HistoryBuilder:
    """Rebuilds chats.

    Args:
        stores: the records of other chats of the same owner, for copies.
        scopes: tells which signatures a reader accepts.
        clock: for the age of version locks.
    """

    def __init__(self, stores: ChatStores, scopes: Scopes, clock: Clock) -> None:
        self._stores = stores
        self._scopes = scopes
        self._clock = clock

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
        shadows = dict(await store.get_message_shadows([head.message_id for head in heads]))
        doubtful = [h.message_id for h in heads if judge(h, shadows.get(h.message_id)) is not Verdict.TRUSTED]
        texts = await chain.texts(doubtful) if doubtful else {}
        strangers = [h for h in heads if h.message_id not in shadows and h.message_id != call.user_message_id]
        shadows |= await adopted(self._stores, call, strangers, texts)
        settler = Settler(store, self._stores, self._scopes, self._clock, call, together.names if together else {})
        settled: list[Shadow] = []
        parent_hash = ROOT_PARENT
        for head in heads:
            message_id = head.message_id
            shadow = await settler.settle(head, shadows.get(message_id), texts.get(message_id), parent_hash)
            settled.append(shadow)
            parent_hash = shadow.cumulative_hash
        await settler.write()
        return replace(self._assemble(call, settled, settler, reader), shared=together is not None)

    def _assemble(self, call: PipeCall, settled: list[Shadow], settler: Settler, reader: Reader) -> Rebuilt:
        answer = settled.pop() if settled and settled[-1].role == "model" else None
        assembly = Assembly()
        for shadow, following in zip(settled, [*settled[1:], None], strict=True):
            overlay = following.overlay_json if following is not None and following.role == "model" else NO_OVERLAY
            assembly.add(self._scopes.readable(shadow, reader), overlay)
        contents, question = assembly.fragments, b""
        if settled and settled[-1].role == "user" and contents and contents[-1] is settled[-1].contents_json:
            contents, question = contents[:-1], contents[-1]
        lead: dict[str, Any] = {} if answer is None else self._lead(call, answer, settler, reader)
        return Rebuilt(
            contents=contents,
            question=question,
            overlays=tuple(shadow.overlay_json for shadow in settled if shadow.overlay_json != NO_OVERLAY),
            parent_hash=settled[-1].cumulative_hash if settled else ROOT_PARENT,
            recovered=settler.recovered,
            **lead,
        )

    def _lead(self, call: PipeCall, answer: Shadow, settler: Settler, reader: Reader) -> dict[str, Any]:
        """An answer at the end of the chain is continued, or regenerated with a hint."""
        readable = self._scopes.readable(answer, reader)
        if not call.continues:
            hint = content_json("user", user_parts(settler.hint()))
            return {"lead": (*closed(readable), hint), "overlay": answer.overlay_json}
        asking = content_json("user", [text_part(continue_words(call.locale))])
        lead = () if readable.contents_json == b"[]" else (*closed(readable), asking)
        return {"lead": lead, "before": answer.visible_text, "former": answer, "overlay": answer.overlay_json}
