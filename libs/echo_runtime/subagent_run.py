"""One sub-agent: a task of its own, worked on with the turn's tools in a context of its own.

A sub-agent sees its task and nothing of the conversation. What it uses counts in the turn; what it did can be read with
`read_tool_output`. Source: docs/design.md section 6.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final

from anyio import to_thread

from echo_constants import Bilingual, EchoError, Locale, ModelFeedbackError, StateError
from echo_core.engine import TurnEngine, TurnPlan
from echo_core.ports import Clock, MediaStore, ModelBackend, ShadowStore
from echo_core.routing import LEVELS, Level, Mode, Route, level_of
from echo_core.turn_record import TurnRecord
from echo_core.usage import RoundUsage
from echo_events import (
    NoticeShown,
    SourcesFound,
    TextStreamed,
    ThoughtStreamed,
    ToolCalled,
    ToolFinished,
    ToolProgressed,
    TurnEvent,
)
from echo_protocol import Backend, ModelInfo, content_json, convert_owui_tools, generation_settings, text_part
from echo_runtime.call import PipeCall
from echo_runtime.google_tools import position_of
from echo_runtime.own_tools import READ_TOOL_OUTPUT, kept_for, output_id
from echo_runtime.sealing import NoJournal
from echo_runtime.subagent_report import exchange_text, result_text
from echo_runtime.tool_approval import ToolApproval
from echo_runtime.tool_config import tool_config
from echo_runtime.tool_results import ResultReader
from echo_runtime.tool_runner import OwuiToolRunner
from echo_runtime.tools_cache import Seat
from echo_utils import dumps

log = logging.getLogger(__name__)

TOOL_NAME: Final = "delegate_to_subagent"
TOOLKIT: Final = "echo_subagent"
#: Nobody answers a sub-agent's questions, and Open WebUI's own sub-agents would know no bounds inside of one.
_WITHHELD: Final = ("builtin:ask_user", "builtin:delegate_task", "builtin:timer")
#: Share of its time after which a sub-agent is asked to conclude. Source: our choice.
_CONCLUDE_AFTER: Final = 0.75
#: Steps that the card lists. Source: our choice.
_SHOWN_STEPS: Final = 30

_THINKING: Final = Bilingual(en="thinking", fr="réfléchit")
_WRITING: Final = Bilingual(en="writing", fr="rédige")


class SubagentOutOfTime(ModelFeedbackError):
    """The sub-agent did not end in time."""

    code = "subagent_out_of_time"
    message = Bilingual(
        en="The sub-agent did not finish within {seconds} seconds.",
        fr="Le sous-agent n'a pas fini en {seconds} secondes.",
    )
    remedy = Bilingual(
        en="Use what it found so far, give it a smaller task, or do the rest yourself.",
        fr="Servez-vous de ce qu'il a trouvé, donnez-lui une tâche plus petite ou faites le reste vous-même.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a sub-agent is to do.

    Args:
        task: in words; all that it knows together with the context.
        context: what it needs to know.
        level: the level that was asked for, None leaves it to the policy.
    """

    task: str
    context: str = ""
    level: Level | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one sub-agent may use.

    Args:
        depth: sub-agents inside each other; 0 allows none.
        rounds: tool rounds before it has to conclude.
        tokens: sent and received together, likewise.
        time_s: after three quarters of these seconds it has to conclude, after all of them it is ended.
    """

    depth: int
    rounds: int
    tokens: int
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What of a turn its sub-agents work with.

    Args:
        call: whose turn it is.
        backend: where the models are.
        backend_name: whose model ids are used.
        models: the model of each level.
        policy: the user's MODEL_SELECTION.
        max_context_tokens: the most of a model's window that may be filled.
        specs: the tools, in Open WebUI's form.
        runnable: who runs them, by name.
        google: Google's own tools, as they are declared.
        safety_settings: as of the turn.
        results: reads what tools return.
        approval: asks the user about calls.
        tool_timeout_s: after this many seconds a tool's call counts as failed.
        media: keeps images.
        store: where exchanges are kept, None where nothing is.
        record: the turn's; what sub-agents use is added to it.
        clock: time.
    """

    call: PipeCall
    backend: ModelBackend
    backend_name: Backend
    models: Mapping[Level, ModelInfo]
    policy: Mode
    max_context_tokens: int
    specs: Sequence[Mapping[str, Any]]
    runnable: Mapping[str, Mapping[str, Any]]
    google: Sequence[Mapping[str, Any]]
    safety_settings: list[dict[str, Any]] | None
    results: ResultReader
    approval: ToolApproval
    tool_timeout_s: float
    media: MediaStore
    store: ShadowStore | None
    record: TurnRecord
    clock: Clock


class Agent:
    """One sub-agent, from its task to its result."""

    def __init__(self, around: Surroundings, order: Order, limits: Limits, seat: Seat, number: int) -> None:
        self._around = around
        self._order = order
        self._limits = limits
        self._seat = seat
        self._locale: Locale = around.call.locale
        self._name = f"sub-agent {number}"
        self._record = TurnRecord()
        self._level = _start_level(around.policy, order.level)
        self._steps: list[str] = []
        self._tools: dict[str, str] = {}
        self._doing = ""

    async def work(self) -> str | dict[str, Any]:
        """Run to an end of whatever kind; what was used is counted in the turn also when it is cancelled."""
        failure: EchoError | None = None
        try:
            async with asyncio.timeout(self._limits.time_s) as limit:
                await self._run()
        except TimeoutError:
            if not limit.expired():
                raise
            failure = SubagentOutOfTime(seconds=f"{self._limits.time_s:g}")
        except EchoError as error:
            log.warning("%s of chat %s failed: %s", self._name, self._around.call.chat_id, error)
            failure = error
        finally:
            self._record.close()
            self._around.record.rounds += [_billed(entry, self._name) for entry in self._record.rounds]
        exchange = await self._keep_exchange()
        seen = self._record.transcript
        answer = seen.open_text.strip() or seen.text.strip()
        if failure is not None:
            return self._failed(failure, exchange)
        return result_text(
            self._locale,
            answer,
            level=self._record.ladder.current.level,
            requests=len(self._record.rounds),
            calls=len(self._record.tool_io),
            tokens=sum(entry.usage.total_tokens for entry in self._record.rounds),
            exchange=exchange,
        )

    def _failed(self, failure: EchoError, exchange: str) -> dict[str, Any]:
        message, remedy = (text.render(self._locale, **failure.fields) for text in (failure.message, failure.remedy))
        told: dict[str, Any] = {"error": {"code": failure.code, "message": message, "remedy": remedy}}
        if partial := self._record.transcript.text.strip():
            told["partial"] = partial
        if exchange:
            told["exchange"] = f'{READ_TOOL_OUTPUT}(id="{exchange}")'
        return told

    async def _run(self) -> None:
        around = self._around
        depth = self._seat.depth + 1
        withheld = _WITHHELD if depth < self._limits.depth else (*_WITHHELD, TOOLKIT)
        tools = {name: tool for name, tool in around.runnable.items() if tool.get("tool_id") not in withheld}
        engine = TurnEngine(
            backend=around.backend,
            tools=OwuiToolRunner(
                around.call,
                tools,
                around.results,
                around.tool_timeout_s,
                answer_id=self._seat.answer_id,
                depth=depth,
                approval=around.approval,
            ),
            journal=NoJournal(),
            media=around.media,
            clock=around.clock,
            record=self._record,
            on_wait=self._waiting,
            call_prefix=f"{self._seat.card_id or TOOL_NAME}.s",
        )
        self._show(self._level)
        async with aclosing(engine.run(self._plan([s for s in around.specs if s["name"] in tools]))) as events:
            async for event in events:
                self._follow(event)

    def _plan(self, specs: Sequence[Mapping[str, Any]]) -> TurnPlan:
        around = self._around
        functions = convert_owui_tools(specs, backend=around.backend_name)
        declared = [{"functionDeclarations": list(functions.declarations)}] if functions.declarations else []
        tools = dumps([*declared, *around.google]) if declared or around.google else None
        routes = {level: self._route(level, with_tools=tools is not None) for level in LEVELS}
        first = routes.pop(self._level)
        today = dt.datetime.fromtimestamp(around.clock.now_s(), dt.UTC).date().isoformat()
        prompts = self._around.call.prompts
        question = prompts.subagent_question(self._locale, self._order.task, self._order.context)
        return TurnPlan(
            model_id=first.model_id,
            contents=[content_json("user", [text_part(question)])],
            system_instruction=content_json("user", [text_part(prompts.subagent(self._locale, today))]),
            tools=tools,
            tool_config=tool_config(tools, position_of(around.call)),
            generation_config=dict(first.generation_config),
            safety_settings=around.safety_settings,
            tool_names=functions.original_names,
            max_rounds=self._limits.rounds,
            level=first.level,
            others=tuple(routes.values()) if around.policy in ("AUTO", "AUTO_PRO") else (),
            scope=first.scope,
            signs=first.signs,
            window_tokens=first.window_tokens,
            locale=self._locale,
            max_tokens=self._limits.tokens,
            conclude_at_s=around.clock.monotonic_s() + self._limits.time_s * _CONCLUDE_AFTER,
        )

    def _route(self, level: Level, *, with_tools: bool) -> Route:
        model = self._around.models[level]
        generation = generation_settings(model, {}, include_thoughts=False, with_tools=with_tools)
        return Route(
            level=level,
            model_id=model.backend_id(self._around.backend_name),
            generation_config=generation.config,
            window_tokens=min(self._around.max_context_tokens, model.window_tokens),
            scope=model.signature_scope,
            signs=model.validates_signatures,
        )

    async def _waiting(self, wait_s: float, error: EchoError) -> None:
        self._show(error.message.render(self._locale, **error.fields))

    def _follow(self, event: TurnEvent) -> None:
        """Show what happens on the card; only a change of activity is told, not each piece of text."""
        match event:
            case ThoughtStreamed():
                self._show(_THINKING.render(self._locale))
            case TextStreamed():
                self._show(_WRITING.render(self._locale))
            case ToolCalled(call_id=call_id, name=name):
                self._tools[call_id] = name
                self._show(name)
            case ToolProgressed(call_id=call_id, doing=doing):
                self._show(f"{self._tools.get(call_id, '')} · {doing}")
            case ToolFinished(call_id=call_id, files=files):
                self._seat.files.extend(files)
                self._steps.append(self._tools.get(call_id, ""))
                self._show(self._doing, again=True)
            case SourcesFound(sources):
                self._seat.sources.extend(sources)
            case NoticeShown(text):
                self._steps.append(text)
            case _:
                return

    def _show(self, doing: str, *, again: bool = False) -> None:
        if doing == self._doing and not again:
            return
        self._doing = doing
        numbered = [f"{at}. {step}" for at, step in enumerate(self._steps, start=1)]
        self._seat.tell(f"{doing} ({len(numbered)})" if numbered else doing, numbered[-_SHOWN_STEPS:])

    async def _keep_exchange(self) -> str:
        """Keep what was said and done; the id by which it can be read, "" when it could not be kept."""
        store, seat = self._around.store, self._seat
        if store is None or not seat.card_id or not self._record.hops:
            return ""
        text = await to_thread.run_sync(exchange_text, self._order.task, self._order.context, list(self._record.hops))
        name = f"{seat.card_id}.exchange"
        try:
            await store.keep_tool_output(seat.answer_id, kept_for(name, self._around.call.user_id), text)
        except StateError as error:
            log.warning("the exchange of a sub-agent could not be kept: %s", error)
            return ""
        return output_id(seat.answer_id, name)


def _billed(entry: RoundUsage, name: str) -> RoundUsage:
    return entry if entry.agent else replace(entry, agent=name)


def _start_level(policy: Mode, wanted: Level | None) -> Level:
    """A pinned policy decides; otherwise the level that was asked for, or where the policy begins."""
    pinned = level_of(policy)
    return pinned or wanted or ("PRO" if policy == "AUTO_PRO" else "FLASH")
