"""Compacts chats: weighs what would be sent, has the plan made, carries it out, and says so."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakValueDictionary

from echo_constants import Bilingual, EchoError
from echo_core.compaction import EchoCompactionEngine
from echo_core.compaction_checkpoint import Checkpoint, read_checkpoint
from echo_core.compaction_counting import calibrated, estimated_tokens
from echo_core.compaction_planning import Budget, CompactionPlan, Wish
from echo_core.compaction_records import WEIGHED_KEY, Epoch, Weighed
from echo_core.ports import Clock, GenerateRequest, ModelBackend, ShadowStore
from echo_core.prefix import PrefixBreak
from echo_events import NoticeShown
from echo_prompts import PromptBook
from echo_protocol import Backend, ModelInfo, Notice, request_json
from echo_runtime.breaks import BREAKS
from echo_runtime.call import PipeCall
from echo_runtime.compaction_model import Condensed, Summariser
from echo_runtime.compaction_store import add_epoch, artifacts_of, change_state, compaction_state, keep_artifacts
from echo_runtime.compaction_told import compacted_text
from echo_runtime.history import Rebuilt
from echo_runtime.waiting import show_now

log = logging.getLogger(__name__)

FILTER: Final = "context_compaction_filter"

COMPACTING: Final = Bilingual(
    en="The conversation has grown long: ECHO is condensing its beginning…",
    fr="La conversation est devenue longue : ECHO en condense le début…",
)
NOT_BELOW: Final = Bilingual(
    en="The conversation could not be brought down to {target} tokens; {tokens} are sent. {why}",
    fr="La conversation n'a pu être ramenée à {target} jetons ; {tokens} sont envoyés. {why}",
)
PINS_WEIGH: Final = Bilingual(
    en="Pinned messages take {tokens} of them.", fr="Les messages épinglés en occupent {tokens}."
)
PINS_LEFT_OUT: Final = Bilingual(
    en="Not all pinned messages fit into the model's window: of the oldest only the checkpoint tells.",
    fr="Les messages épinglés ne tiennent pas tous dans la fenêtre du modèle : seul le point de reprise évoque "
    "les plus anciens.",
)
LAST_WEIGHS: Final = Bilingual(
    en="The last message and what stands around it cannot be shortened.",
    fr="Le dernier message et ce qui l'entoure ne peuvent être raccourcis.",
)

#: How far an estimate may be off that no count of the server stands behind. Source: our choice.
_DOUBT: Final = 0.25
_FIRST_DOUBT: Final = 0.6
#: Below this share of a limit, what stands around the conversation need not be looked at. Source: our choice.
_FAR: Final = 0.8
#: So far above its target a compaction counts as one that reached it. Source: our choice.
_NEAR_TARGET: Final = 1.1
#: Share of the context that must have been added before one that could not reach its target is tried again.
_WORTH_SHARE: Final = 0.1
#: Tokens of the notes that come with a question. Source: our choice.
_NOTES_TOKENS: Final = 600
#: UTF-8 bytes of system instruction and tools in one token. Source: Gemini API docs, Tokens.
_BYTES_A_TOKEN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around a conversation.

    Args:
        system: serialised `systemInstruction`, b"" while it is not sealed.
        tools: serialised `tools`, b"" for none.
        beside_tokens: what may be told beside a question.
    """

    system: bytes = b""
    tools: bytes = b""
    beside_tokens: int = _NOTES_TOKENS

    @property
    def size_bytes(self) -> int:
        """Both together."""
        return len(self.system) + len(self.tools)

    @property
    def tokens(self) -> int:
        """Both together, estimated."""
        return self.size_bytes // _BYTES_A_TOKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What a request is taken to weigh.

    Args:
        tokens: most probably.
        doubt_tokens: it may be so many more or fewer.
        ratio: counted tokens for one estimated.
        counted: all but the question was counted by the server.
    """

    tokens: int
    doubt_tokens: int = 0
    ratio: float = 1.0
    counted: bool = False


class Compactor:
    """Keeps chats within their context.

    Args:
        apollo: the model that sums up, as the catalogue knows it now.
        backend_name: whose model ids are used.
        clock: dates epochs.
        prompts: gives the words that hold now, in which that model is asked.
    """

    def __init__(
        self,
        apollo: Callable[[], ModelInfo],
        backend_name: Backend,
        clock: Clock,
        prompts: Callable[[], Awaitable[PromptBook]],
    ) -> None:
        self._apollo = apollo
        self._prompts = prompts
        self._backend_name = backend_name
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def new_id(self) -> str:
        """An id that no epoch has."""
        return f"e{secrets.token_hex(6)}"

    def now_s(self) -> int:
        """Epoch seconds."""
        return int(self._clock.now_s())

    def lock(self, chat_id: str) -> asyncio.Lock:
        """Held while a chat is compacted."""
        return self._locks.setdefault(chat_id, asyncio.Lock())

    async def fitted(
        self,
        call: PipeCall,
        store: ShadowStore,
        history: Rebuilt,
        *,
        frame_of: Callable[[], Awaitable[Frame]],
        model: ModelInfo,
        budget: Budget,
        backend: ModelBackend,
    ) -> tuple[Rebuilt, tuple[Notice, ...]]:
        """The history as it is to be sent, compacted if it has to be; and what the user is told about it.

        Args:
            call: who asks.
            store: the chat's records.
            history: as it would be sent.
            frame_of: reads what stands around it.
            model: what will answer.
            budget: how much the request may weigh.
            backend: counts and sums up.
        """
        engine = EchoCompactionEngine(budget)
        wish = wish_of(call, history)
        weight = await self.weigh(store, history, Frame())
        size_bytes = sum(map(len, history.contents)) + len(history.question)
        if weight.counted and weight.tokens < budget.trigger_tokens * _FAR and size_bytes < budget.max_bytes * _FAR:
            return history, ()
        frame = await frame_of()
        weight = await self.weigh(store, history, frame)
        size_bytes += frame.size_bytes
        if self._in_doubt(weight, budget, wish):
            weight = await self._counted(weight, history, frame, model, backend)
        if not engine.is_needed(weight.tokens, size_bytes, wish) or _as_small_as_can_be(
            history, weight, size_bytes, budget
        ):
            return history, ()
        async with self.lock(call.chat_id):
            state = await compaction_state(store)
            there = state.in_force(history.view)
            if there != history.epoch:  # somebody else's turn was quicker
                return replace(history, state=state).under(there, await artifacts_of(store, there)), ()
            history = replace(history, state=state)
            return await self.compact(call, store, history, frame, engine, weight, backend)

    async def compact(
        self,
        call: PipeCall,
        store: ShadowStore,
        history: Rebuilt,
        frame: Frame,
        engine: EchoCompactionEngine,
        weight: Weight,
        backend: ModelBackend | None,
    ) -> tuple[Rebuilt, tuple[Notice, ...]]:
        """Carry out one compaction; the caller holds the lock. As `fitted`."""
        view, now = history.view, history.epoch
        held = await artifacts_of(store, now)
        pinned_tokens = self._pinned_tokens(history, weight.ratio)
        around = frame.tokens + frame.beside_tokens
        held_tokens = calibrated(sum(estimated_tokens(xml.encode()) for xml in held), weight.ratio)
        plan = await asyncio.to_thread(
            engine.plan,
            view,
            now,
            frame_tokens=around + held_tokens,
            ratio=weight.ratio,
            pinned_tokens=pinned_tokens,
        )
        if plan is None:
            lighter = await self._without_pins(call.chat_id, store, history, engine, weight, held)
            return lighter or (history, self._unmet(engine.budget, weight.tokens, pinned_tokens))
        await show_now(call, NoticeShown(COMPACTING.render(call.locale), done=False))
        epoch, artifacts = await self.carried_out(store, history, frame, engine, plan, weight, backend)
        tokens_after = epoch.tokens_after
        standing = await add_epoch(store, view, now, epoch)
        if standing.id != epoch.id:
            artifacts = await artifacts_of(store, standing)
        BREAKS.note(PrefixBreak.COMPACTION, call.chat_id)
        log.info("chat %s compacted by %s: %d → %d tokens", call.chat_id, epoch.method, weight.tokens, tokens_after)
        told = compacted_text(weight.tokens, tokens_after, call.locale)
        await show_now(call, NoticeShown(told))
        result = replace(history, state=await compaction_state(store)).under(standing, artifacts)
        left_out = (Notice(PINS_LEFT_OUT),) if "pins" in epoch.unmet else ()
        missed = self._unmet(engine.budget, tokens_after, pinned_tokens) if "target" in epoch.unmet else ()
        return result, (*left_out, *missed)

    async def _without_pins(
        self,
        chat_id: str,
        store: ShadowStore,
        history: Rebuilt,
        engine: EchoCompactionEngine,
        weight: Weight,
        held: list[str],
    ) -> tuple[Rebuilt, tuple[Notice, ...]] | None:
        """The same compaction without the pins that the window has no room for; None where that is not what weighs."""
        now = history.epoch
        if now is None:
            return None
        epoch, artifacts = engine.let_go(now, held, weight.tokens - engine.budget.hard_tokens, weight.ratio)
        if epoch is now:
            return None
        epoch = epoch.changed()
        await keep_artifacts(store, epoch.checkpoint_id, artifacts)
        state = await change_state(store, lambda known: known.with_epoch(epoch))
        BREAKS.note(PrefixBreak.COMPACTION, chat_id)
        return replace(history, state=state).under(epoch, artifacts), (Notice(PINS_LEFT_OUT),)

    async def carried_out(
        self,
        store: ShadowStore,
        history: Rebuilt,
        frame: Frame,
        engine: EchoCompactionEngine,
        plan: CompactionPlan,
        weight: Weight,
        backend: ModelBackend | None,
    ) -> tuple[Epoch, list[str]]:
        """The epoch that a plan makes, and the artifacts of its checkpoint, which are kept; it is not yet in force."""
        view, now = history.view, history.epoch
        artifacts = await artifacts_of(store, now)
        epoch = engine.epoch(plan, view, now, history.state, self.new_id())
        if plan.pivot >= 0:
            pinned_tokens = self._pinned_tokens(history, weight.ratio)
            room = engine.checkpoint_bytes(frame.tokens + frame.beside_tokens, plan.tail_tokens, pinned_tokens)
            done = await self._condensed(engine, history, plan, artifacts, room, backend)
            epoch = replace(epoch, method=done.method, model_id=done.model_id)
            artifacts = await asyncio.to_thread(engine.artifacts, done.checkpoint, epoch, view)
            after = await asyncio.to_thread(history.under, epoch, artifacts)
            excess = self._estimate(after, frame, weight.ratio) + plan.beside_tokens - engine.budget.hard_tokens
            epoch, artifacts = engine.let_go(epoch, artifacts, excess, weight.ratio)
            await keep_artifacts(store, epoch.checkpoint_id, artifacts)
        after = await asyncio.to_thread(history.under, epoch, artifacts)
        tokens_after = self._estimate(after, frame, weight.ratio) + plan.beside_tokens
        missed = tokens_after > engine.budget.target_tokens * _NEAR_TARGET
        epoch = replace(
            epoch,
            tokens_before=weight.tokens,
            tokens_after=tokens_after,
            unmet=(*epoch.unmet, "target") if missed else epoch.unmet,
            bytes_checkpoint=sum(len(xml.encode()) for xml in artifacts),
            created_at_s=self.now_s(),
        )
        return epoch, artifacts

    async def weigh(self, store: ShadowStore, history: Rebuilt, frame: Frame) -> Weight:
        """What a history weighs: the server's last count and what came since, or all of it estimated."""
        epoch_id = history.epoch.edition_id if history.epoch is not None else ""
        last = next((shadow for shadow in reversed(history.view.shadows[-2:]) if shadow.role == "model"), None)
        held = None
        if last is not None:
            held = Weighed.from_json(await store.get_setting(WEIGHED_KEY.format(message_id=last.message_id)))
        news = estimated_tokens(history.question) + sum(map(estimated_tokens, history.lead)) + frame.beside_tokens
        if held is not None and last is not None and held.hash == last.cumulative_hash and held.epoch_id == epoch_id:
            grown = (frame.size_bytes - held.frame_bytes) // _BYTES_A_TOKEN if frame.size_bytes else 0
            tokens = held.tokens + grown + calibrated(news, held.ratio)
            doubt_tokens = int(news * held.ratio * _DOUBT)
            return Weight(tokens=tokens, doubt_tokens=doubt_tokens, ratio=held.ratio, counted=True)
        ratio = held.ratio if held is not None else 1.0
        tokens = self._estimate(history, frame, ratio)
        doubt = _DOUBT if held is not None else _FIRST_DOUBT
        return Weight(tokens=tokens, doubt_tokens=int(tokens * doubt), ratio=ratio)

    @staticmethod
    def _estimate(history: Rebuilt, frame: Frame, ratio: float) -> int:
        pieces = history.estimate() + sum(map(estimated_tokens, history.lead))
        return calibrated(pieces, ratio) + frame.tokens + frame.beside_tokens

    @staticmethod
    def _in_doubt(weight: Weight, budget: Budget, wish: Wish) -> bool:
        limit = budget.trigger_tokens if wish == "auto" else budget.hard_tokens
        return abs(weight.tokens - limit) <= weight.doubt_tokens

    async def _counted(
        self, weight: Weight, history: Rebuilt, frame: Frame, model: ModelInfo, backend: ModelBackend
    ) -> Weight:
        """The weight as the server counts it; the upper end of the estimate when it does not."""
        body = request_json(
            contents=[*history.contents, history.question] if history.question else history.contents,
            system_instruction=frame.system or None,
            tools=frame.tools or None,
        )
        try:
            request = GenerateRequest(model=model.backend_id(self._backend_name), body_json=body)
            counted = await backend.count_tokens(request)
        except EchoError as error:
            log.info("the tokens of a request could not be counted: %s", error)
            return replace(weight, tokens=weight.tokens + weight.doubt_tokens)
        lead = sum(map(estimated_tokens, history.lead))
        tokens = counted + calibrated(lead, weight.ratio) + frame.beside_tokens
        estimate = history.estimate()
        ratio = (counted - frame.tokens) / estimate if estimate else weight.ratio
        return Weight(tokens=tokens, ratio=min(max(ratio, 0.4), 2.5))

    @staticmethod
    def _pinned_tokens(history: Rebuilt, ratio: float) -> int:
        view = history.view
        places = [place for place in map(view.place, history.state.pins) if place >= 0]
        return calibrated(sum(estimated_tokens(view.pieces[place]) for place in places), ratio)

    async def _condensed(
        self,
        engine: EchoCompactionEngine,
        history: Rebuilt,
        plan: CompactionPlan,
        held: list[str],
        room_bytes: int,
        backend: ModelBackend | None,
    ) -> Condensed:
        """The checkpoint of everything before the pivot, made from the former one and what follows it."""
        now, view = history.epoch, history.view
        start = view.place(now.pivot_id) if now is not None and now.pivot_id else 0
        before = read_checkpoint(held[0]) if held and start > 0 else Checkpoint()
        messages = await asyncio.to_thread(engine.between, view, start, plan.pivot)
        summariser = Summariser(self._apollo(), self._backend_name, await self._prompts())
        return await summariser.condense(backend, messages, before, room_bytes)

    @staticmethod
    def _unmet(budget: Budget, tokens: int, pinned_tokens: int) -> tuple[Notice, ...]:
        """What is told when the target is out of reach."""
        pins = pinned_tokens > budget.target_tokens // 4
        why = PINS_WEIGH if pins else LAST_WEIGHS
        fields = {"tokens": tokens, "target": budget.target_tokens}
        told = Bilingual(
            en=NOT_BELOW.en.replace("{why}", why.en.replace("{tokens}", "{pinned}")),
            fr=NOT_BELOW.fr.replace("{why}", why.fr.replace("{tokens}", "{pinned}")),
        )
        return (Notice(told, {**fields, "pinned": pinned_tokens}),)


def _as_small_as_can_be(history: Rebuilt, weight: Weight, size_bytes: int, budget: Budget) -> bool:
    """Whether the last compaction could not reach its target, and little came since: another one would do no more."""
    epoch = history.epoch
    if epoch is None or not epoch.unmet:
        return False
    if weight.tokens > budget.hard_tokens or size_bytes > budget.max_bytes:
        return False
    return weight.tokens < epoch.tokens_after + budget.size_tokens * _WORTH_SHARE


def wish_of(call: PipeCall, history: Rebuilt) -> Wish:
    """When this call may be compacted: asking for the same answer again changes nothing that was sent before."""
    switched_off = call.shared.stages.get(FILTER) == "off"
    same = history.again or call.continues or call.regenerates_with_hint
    if switched_off or same or history.state.taken_back(history.view):
        return "only_window"
    return "auto"
