"""Answers the pipe's calls: prepares the context, runs the turn, streams it in the caller's form, seals it."""

import logging
import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import StreamingResponse

from echo_core.compaction_records import Epoch
from echo_core.engine import TurnEngine
from echo_core.ports import Clock, ModelBackend, ShadowStore
from echo_core.routing import LEVELS
from echo_events import (
    CallsHandedOver,
    CompletionBuilder,
    NoticeShown,
    Renderer,
    TurnEvent,
    TurnFinished,
    UsageCounted,
)
from echo_runtime import _owui
from echo_runtime.backends import SIMULATOR_NOTICE, Backends
from echo_runtime.cached_files import caching
from echo_runtime.call import PipeCall
from echo_runtime.compaction_desk import NoSuchCompaction
from echo_runtime.compaction_guard import TurnGuard
from echo_runtime.compaction_manual import compact_by_hand
from echo_runtime.context import ContextBuilder, Prepared
from echo_runtime.drafting import Drafter
from echo_runtime.file_backend import FileBackend, FileBackends
from echo_runtime.hud import Hud
from echo_runtime.incidents import refusal, refuse, report
from echo_runtime.item_ids import item_prefix
from echo_runtime.keepalive import kept_alive
from echo_runtime.live_catalogue import LiveCatalogue
from echo_runtime.locking import VersionLocker
from echo_runtime.media import OwuiMediaStore
from echo_runtime.metering import PriceList
from echo_runtime.prompt_desk import PromptDesk
from echo_runtime.pushing import Pushes
from echo_runtime.remembering import settle_use
from echo_runtime.scopes import Scopes
from echo_runtime.sealing import AnswerSealer
from echo_runtime.settings import Settings, settings_of
from echo_runtime.stages import run_missing_stages
from echo_runtime.stores import ChatStores
from echo_runtime.subagent_run import Surroundings
from echo_runtime.subagents import bridged, google_tools, turn_runner
from echo_runtime.tasks import answer_task
from echo_runtime.tool_approval import ToolApproval
from echo_runtime.tool_results import ResultReader
from echo_runtime.waiting import WaitNotices
from echo_utils import dumps

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """What the parts of one running turn share.

    Args:
        call: what is asked.
        settings: the valves that count for it.
        store: the chat's records, None for callers without any.
        prepared: what is sent.
        sealer: writes the answer down.
    """

    call: PipeCall
    settings: Settings
    store: ShadowStore | None
    prepared: Prepared
    sealer: AnswerSealer


class Orchestrator:
    """One an event loop; holds nothing of a single request.

    Args:
        backends: Gemini by base URL, with the caller's key.
        files: resolves what requests name of the caller's files.
        stores: the records of chats.
        contexts: turns a call into what is sent.
        scopes: names the scope of what is signed.
        catalogue: what is known of models, kept fresh between turns.
        prices: what requests cost.
        hud: shows the Context Gauge and counts requests.
        prompts: the words in which ECHO speaks to models.
        clock: time.
        drafter: prepares questions before the pipe is called.
        pushes: takes what the model is to be told with its next question.
        env_base_url: GEMINI_BASE_URL of the environment, "" when unset.
    """

    def __init__(
        self,
        *,
        backends: Backends,
        files: FileBackends,
        stores: ChatStores,
        contexts: ContextBuilder,
        scopes: Scopes,
        catalogue: LiveCatalogue,
        prices: PriceList,
        hud: Hud,
        prompts: PromptDesk,
        clock: Clock,
        drafter: Drafter,
        pushes: Pushes,
        env_base_url: str,
    ) -> None:
        self._backends = backends
        self._files = files
        self._stores = stores
        self._contexts = contexts
        self._scopes = scopes
        self._catalogue = catalogue
        self._prices = prices
        self._hud = hud
        self.prompts = prompts
        self._clock = clock
        self.drafter = drafter
        self.pushes = pushes
        self._env_base_url = env_base_url

    async def respond(self, call: PipeCall) -> Any:
        """A streaming response, a `chat.completion` object, or a task's text."""
        if call.task:
            return await self._task(call)
        call.shared.prompts = await self.prompts.book()
        await run_missing_stages(call)
        settle_use(call)
        if call.streams:
            stream = kept_alive(self._sse(call), call, self._clock)
            return StreamingResponse(stream, media_type="text/event-stream")
        return await self._whole(call)

    async def prepare_context(
        self, call: PipeCall, store: ShadowStore | None, signer: str, backend: ModelBackend | None = None
    ) -> Prepared:
        """What this call sends to Gemini; seals the current user message on the way.

        Args:
            call: what is asked.
            store: the chat's records, None for callers without any.
            signer: backend and key of the request; the signatures of others stay behind.
            backend: counts and sums up what grows too long; None leaves it as it is.

        Raises:
            EchoError: the call asks for something that cannot be sent.
        """
        return await self._contexts.prepare(call, self._settings(call), store, signer, backend)

    async def lock_displayed(self, call: PipeCall) -> None:
        """Take the Version Lock of a turn that has ended; `call.body` is an outlet's (see `VersionLocker`)."""
        await VersionLocker(self._stores, self._clock).lock(call)

    async def compact_now(self, call: PipeCall) -> Epoch | None:
        """Condense a chat of the caller's because the caller wants it; None when there is nothing to condense.

        Args:
            call: names the chat and, as the message that is answered, the last one that counts.

        Raises:
            EchoError: the chat is not the caller's, or its records cannot be used.
        """
        if not call.is_saved or await _owui.chat_owner(call.chat_id) != call.user_id:
            raise NoSuchCompaction("not a saved chat of this user's")
        settings = self._settings(call)
        endpoint = await self._backends.for_call(call, settings)
        size_tokens = min(settings.max_context_tokens, self._contexts.model("FLASH").window_tokens)
        async with self._stores.open(call, keep_api=False) as store:
            assert store is not None  # noqa: S101 (the chat is saved)
            return await compact_by_hand(
                self._contexts.compactor,
                call,
                store,
                frame=await self._contexts.frame(call, store),
                size_tokens=size_tokens,
                backend=self._files.around(endpoint, call),
            )

    async def _task(self, call: PipeCall) -> str:
        """The task's text; "" when it failed, upon which Open WebUI falls back to its own default."""
        try:
            return await self._task_text(call)
        except Exception as error:  # the rim of the pipe, as in `events`
            report(error, call.locale, chat_id=call.chat_id, message_id=call.message_id)
            return ""

    async def _task_text(self, call: PipeCall) -> str:
        settings = self._settings(call)
        backend = (await self._backends.for_call(call, settings)).client
        model = self._contexts.model("LITE")
        model_id = model.backend_id(self._contexts.backend_name)
        return await answer_task(call.body, backend=backend, model=model, model_id=model_id)

    async def _sse(self, call: PipeCall) -> AsyncGenerator[bytes, None]:
        try:
            renderer = self._renderer(call)
            async with aclosing(self.events(call)) as events:
                async for event in events:
                    for wire in renderer.render(event):
                        yield _sse_event(wire)
        except Exception as error:  # also what is no turn's fault must not reach the reader bare
            yield _sse_event(refuse(error, call))
        yield b"data: [DONE]\n\n"

    async def _whole(self, call: PipeCall) -> Any:
        builder = CompletionBuilder(**self._head(call))
        async with aclosing(self.events(call)) as events:
            async for event in events:
                builder.add(event)
        return builder.build() if builder.refusal is None else refusal(call, builder.refusal)

    async def events(self, call: PipeCall) -> AsyncGenerator[TurnEvent, None]:
        """The events of one turn, exactly one terminal event last unless the caller goes away."""
        try:
            settings = self._settings(call)
            keep_api, encrypted = settings.keep_api_history, settings.encrypts_records
            async with (
                self._stores.open(call, keep_api=keep_api, encrypted=encrypted) as store,
                aclosing(self._turn(call, store)) as events,
            ):
                async for event in events:
                    yield event
        except Exception as error:  # the rim of the pipe: everything becomes a message with a reference
            yield report(error, call.locale, chat_id=call.chat_id, message_id=call.message_id)

    async def _turn(self, call: PipeCall, store: ShadowStore | None) -> AsyncGenerator[TurnEvent, None]:
        settings = self._settings(call)
        endpoint = await self._backends.for_call(call, settings)
        if self._backends.is_simulator(settings):
            yield NoticeShown(SIMULATOR_NOTICE.render(call.locale))
        backend = self._files.around(endpoint, call)
        prepared = await self.prepare_context(call, store, endpoint.signer, backend)
        for text in (*call.shared.notices, *prepared.notices, *_problems(call, store)):
            yield NoticeShown(text, "warning")
        waits = WaitNotices(call, self._clock)
        sealer = AnswerSealer(call, store, prepared, self._scopes, self._prices, settings.model_selection)
        turn = _Turn(call=call, settings=settings, store=store, prepared=prepared, sealer=sealer)
        hud = self._hud.turn(call, self._cached(turn, backend))
        around = self._surroundings(turn, hud.backend)
        sealer.guard = self._guard(turn, hud.backend)
        engine = TurnEngine(
            backend=around.backend,
            tools=turn_runner(around, sealer.answer_id),
            journal=sealer.journal,
            media=around.media,
            clock=self._clock,
            record=sealer.record,
            on_wait=waits.waiting,
            call_prefix=sealer.call_prefix,
            plans=sealer.plans,
            guard=sealer.guard,
        )
        try:
            async with (
                bridged(around, sealer.answer_id),
                self.pushes.of_turn(call, store, sealer.record),
                sealer.sealing(),
                aclosing(engine.run(prepared.plan)) as events,
            ):
                async for event in events:
                    await waits.over()
                    if isinstance(event, UsageCounted):
                        event = await sealer.usage()  # with prices and the chat's totals, which the engine has not
                    if isinstance(event, CallsHandedOver):
                        sealer.handed_over = tuple(one.call_id for one in event.calls)
                    if isinstance(event, TurnFinished):
                        await sealer.seal("complete")
                        if line := await hud.line(store):
                            yield NoticeShown(line)
                    yield event
        finally:
            await waits.over()
            hud.over(sealer.record.rounds)
            await self._take_in(call, shared=prepared.history.shared)
            self._catalogue.refresh_soon(settings.base_url, endpoint.client.list_models)

    async def _take_in(self, call: PipeCall, *, shared: bool) -> None:
        """Let the session memory of the chat's owner take what was said, and the user's own memory what is lasting."""
        if call.is_saved:
            self._contexts.valley.soon(call, await self._stores.owner(call))
        if self._contexts.remembering is not None:
            self._contexts.remembering.turn_is_over(call, shared=shared, backend=partial(self._client, call))

    async def _client(self, call: PipeCall) -> ModelBackend:
        return (await self._backends.for_call(call, self._settings(call))).client

    @property
    def hud(self) -> Hud:
        """Makes the gauges."""
        return self._hud

    async def aclose(self) -> None:
        """End what runs between turns and the connections to Gemini."""
        if self._contexts.remembering is not None:
            await self._contexts.remembering.aclose()
        await self._hud.aclose()
        await self._catalogue.aclose()
        await self._backends.aclose()
        await self.prompts.aclose()

    def _cached(self, turn: _Turn, files: FileBackend) -> ModelBackend:
        return caching(
            files,
            turn.store,
            turn.call,
            self._clock,
            ttl_s=turn.settings.cache_files_s,
            shared=turn.prepared.history.shared,
            model_of=self._catalogue.now().model,
            on_cost=turn.sealer.record.rounds.append,
        )

    def _surroundings(self, turn: _Turn, backend: ModelBackend) -> Surroundings:
        """What the turn's tools work with, sub-agents included."""
        prepared, settings = turn.prepared, turn.settings
        sees_media = prepared.reader.model.capabilities.multimodal_responses
        return Surroundings(
            call=turn.call,
            backend=backend,
            backend_name=self._contexts.backend_name,
            models={level: self._contexts.model(level) for level in LEVELS},
            policy=settings.model_selection,
            max_context_tokens=settings.max_context_tokens,
            specs=prepared.tools.specs,
            runnable=prepared.tools.runnable,
            google=google_tools(prepared.plan.tools),
            safety_settings=prepared.plan.safety_settings,
            results=ResultReader(turn.call, turn.store, turn.sealer.answer_id, sees_media=sees_media),
            approval=ToolApproval(turn.call),
            tool_timeout_s=settings.tool_timeout_s,
            media=OwuiMediaStore(turn.call),
            store=turn.store,
            record=turn.sealer.record,
            clock=self._clock,
        )

    def _guard(self, turn: _Turn, backend: ModelBackend) -> TurnGuard | None:
        """What keeps the turn's later requests within the context; None where nothing is kept of the conversation."""
        call, store = turn.call, turn.store
        if store is None or call.is_api or call.draws:
            return None
        return TurnGuard(
            self._contexts.compactor,
            call,
            store,
            turn.prepared,
            turn.sealer.record,
            answer_id=turn.sealer.answer_id,
            backend=backend,
            max_context_tokens=turn.settings.max_context_tokens,
        )

    def _settings(self, call: PipeCall) -> Settings:
        return settings_of(call, self._env_base_url)

    def _renderer(self, call: PipeCall) -> Renderer:
        return (
            Renderer.for_page(item_prefix(call.message_id))
            if call.speaks_responses
            else Renderer.for_api(**self._head(call))
        )

    def _head(self, call: PipeCall) -> dict[str, Any]:
        return {
            "completion_id": f"chatcmpl-{secrets.token_hex(12)}",
            "created_s": int(self._clock.now_s()),
            "model": call.called_model,
        }


def _problems(call: PipeCall, store: ShadowStore | None) -> Iterator[str]:
    """What the reader must be told about the chat's records."""
    for problem in () if store is None else store.take_notices():
        log.warning("records of chat %s: %s", call.chat_id, problem)
        yield problem.user_message(call.locale)


def _sse_event(wire: dict[str, Any]) -> bytes:
    return b"data: " + dumps(wire) + b"\n\n"
