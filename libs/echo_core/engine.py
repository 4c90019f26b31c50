"""Drives one turn: asks the model, runs its tools, asks again, and tells what happened as events."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from echo_constants import Bilingual, EchoError, Locale
from echo_core.citations import sources_of
from echo_core.level_tool import LevelTools
from echo_core.mending import unsigned
from echo_core.overlay import NO_OVERLAY, render
from echo_core.ports import (
    Clock,
    ContextGuard,
    Fitted,
    GenerateRequest,
    MediaStore,
    ModelBackend,
    OnWait,
    PlanStore,
    StreamEnd,
    ToolRunner,
    TurnJournal,
)
from echo_core.routing import Ladder, Level, Route, RouteChange
from echo_core.server_cards import ServerCards
from echo_core.tool_rounds import ToolRounds
from echo_core.turn import (
    Answered,
    Ask,
    Begin,
    Broken,
    Fail,
    Finish,
    RunTools,
    Step,
    ToolsAnswered,
    TurnMachine,
)
from echo_core.turn_record import TurnRecord
from echo_core.usage import usage_shown
from echo_events import (
    MediaShown,
    NoticeShown,
    SourcesFound,
    TextStreamed,
    ThoughtEnded,
    ThoughtStreamed,
    TurnEvent,
    TurnFinished,
    UsageCounted,
)
from echo_prompts import SHIPPED, PromptBook
from echo_protocol import (
    CitationsReceived,
    InlineDataPart,
    MediaReceived,
    ServerToolUsed,
    StreamEvent,
    StreamProcessor,
    TextDelta,
    ThoughtDelta,
    join_contents,
    request_json,
)

BROKEN_PICTURE: Final = Bilingual(
    en="A picture of the model could not be read or kept; ask for it again.",
    fr="Une image du modèle n'a pu être lue ou conservée ; demandez-la à nouveau.",
)

#: For a last answer in words.
NO_CALLS: Final = {"functionCallingConfig": {"mode": "NONE"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlan:
    """Everything that one turn sends, prepared.

    Args:
        model_id: the backend's id.
        contents: serialised Content objects, oldest first, the current user message last.
        system_instruction: serialised Content, or None.
        tools: serialised `tools` array, or None.
        tool_config: `toolConfig` of every request.
        tool_choice: `functionCallingConfig` of the first request only: what a caller forces is forced once.
        tool_names: Open WebUI's name by declared name.
        handed_over: Open WebUI's names of the tools that the caller runs itself.
        max_rounds: tool rounds before the model is asked for a last answer.
        level: which level `model_id` stands for.
        others: the levels that the turn may move to; none pins it.
        scope, signs: as of `Route`, for `model_id`.
        window_tokens: what fits into `model_id`.
        locale: the language in which ECHO speaks to user and model.
        max_tokens: sent and received in all requests together; once they are used up, a last answer is asked for.
        conclude_at_s: monotonic time from which on a last answer is asked for.
        question: the current user message without its overlay; b"" when it is not the last of `contents`.
        overlay: what is told beside it. When the model changes, the message is told anew which one answers.
        prompts: the words in which it speaks to the model.
    """

    model_id: str
    contents: Sequence[bytes]
    system_instruction: bytes | None = None
    tools: bytes | None = None
    tool_config: dict[str, Any] | None = None
    tool_choice: dict[str, Any] | None = None
    generation_config: dict[str, Any] = field(default_factory=dict)
    safety_settings: list[dict[str, Any]] | None = None
    tool_names: Mapping[str, str] = field(default_factory=dict)
    handed_over: frozenset[str] = frozenset()
    max_rounds: int = 50
    level: Level = "FLASH"
    others: tuple[Route, ...] = ()
    scope: str = ""
    signs: bool = True
    window_tokens: int = 1_048_576
    locale: Locale = "en"
    max_tokens: int | None = None
    conclude_at_s: float | None = None
    question: bytes = b""
    overlay: bytes = NO_OVERLAY
    prompts: PromptBook = SHIPPED

    def ladder(self) -> Ladder:
        """The levels of the turn, standing on the first one."""
        first = Route(
            level=self.level,
            model_id=self.model_id,
            generation_config=self.generation_config,
            window_tokens=self.window_tokens,
            scope=self.scope,
            signs=self.signs,
        )
        return Ladder((first, *self.others))


class TurnEngine:
    """One instance a turn.

    Args:
        backend: where the model is.
        tools: runs what the model calls.
        journal: keeps chunks before they are shown.
        media: keeps images that the model makes.
        clock: measures thoughts.
        record: filled as the turn goes on.
        on_wait: told when the backend waits before it tries again.
        plans: keeps Transfer Plans; None where nothing is kept.
        call_prefix: begins the id of every call.
        guard: keeps each request within the context; None leaves it as it is.
    """

    def __init__(
        self,
        *,
        backend: ModelBackend,
        tools: ToolRunner,
        journal: TurnJournal,
        media: MediaStore,
        clock: Clock,
        record: TurnRecord,
        on_wait: OnWait | None = None,
        plans: PlanStore | None = None,
        call_prefix: str = "call",
        guard: ContextGuard | None = None,
    ) -> None:
        self._guard = guard
        self._lighter: Fitted | None = None
        self._signs: bool | None = None  # of the family that the turn moved to
        self._backend = backend
        self._tools = tools
        self._call_prefix = call_prefix
        self._journal = journal
        self._media = media
        self._clock = clock
        self._on_wait = on_wait
        self._plans = plans
        self._thinking_since_s: float | None = None
        self._server_cards = ServerCards(len(record.hops))
        self.record = record

    async def run(self, plan: TurnPlan) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events, `TurnFinished` last; what is done is in `record` at any moment.

        Raises:
            EchoError: the backend failed for good, or the answer is none; the events so far stand.
        """
        ladder = self.record.ladder = plan.ladder()
        tools = LevelTools(self._tools, self.record, self._plans)
        rounds = ToolRounds(tools, self._journal, self.record, self._call_prefix, plan.prompts)
        self._contents = tuple(plan.contents)
        self._locale = plan.locale
        self._machine = machine = TurnMachine(plan.max_rounds, ladder)
        step, seen = machine.feed(Begin()), 0
        while True:
            for change in ladder.changes[seen:]:
                yield NoticeShown(change.notice(plan.locale), "info" if change.cause == "cognitive" else "warning")
                self._rescope(change, ladder.current)
                self._rename(plan, ladder)
            seen = len(ladder.changes)
            match step:
                case Ask():
                    async with aclosing(self._ask(plan, step)) as events:
                        async for event in events:
                            yield event
                    step = await self._judge(machine, plan)
                case RunTools(calls, last):
                    running = rounds.run(
                        calls,
                        names=plan.tool_names,
                        handed_over=plan.handed_over,
                        last=partial(self._is_last, plan, last),
                        locale=plan.locale,
                    )
                    async with aclosing(running) as events:
                        async for event in events:
                            yield event
                    step = machine.feed(ToolsAnswered(rounds.end))
                case Finish(reason):
                    yield UsageCounted(usage_shown(self.record.rounds))
                    yield TurnFinished(reason)
                    return
                case Fail(error):
                    raise error

    async def _ask(self, plan: TurnPlan, step: Ask) -> AsyncGenerator[TurnEvent, None]:
        """Stream one answer, to its end or until it breaks; `_judge` says which."""
        if step.wait_s and step.because is not None:
            if self._on_wait is not None:
                await self._on_wait(step.wait_s, step.because)
            await self._clock.sleep(step.wait_s)
        await self._fit()
        request = GenerateRequest(model=self.record.ladder.current.model_id, body_json=self._body(plan, step))
        self.record.asked_model = request.model
        stream = self.record.stream = StreamProcessor()
        self._failure: EchoError | None = None
        try:
            async with self._backend.stream_generate(request, on_wait=self._waiting) as chunks:
                async for chunk in chunks:
                    await self._journal.chunk(chunk)
                    for received in stream.process(chunk):
                        for event in await self._show(received):
                            yield event
        except EchoError as error:
            self._failure = error
        for event in (*self._end_thought(), *self._rejoined(self.record.end_rejoining())):
            yield event

    def _is_last(self, plan: TurnPlan, last: bool) -> bool:
        """Whether no tools are called any more: rounds, tokens or time are used up."""
        if last:
            return True
        if plan.conclude_at_s is not None and self._clock.monotonic_s() >= plan.conclude_at_s:
            return True
        used_tokens = sum(entry.usage.total_tokens for entry in self.record.rounds)
        return plan.max_tokens is not None and used_tokens >= plan.max_tokens

    async def _judge(self, machine: TurnMachine, plan: TurnPlan) -> Step:
        """What the stream's end means, and the record made ready for the next step."""
        record, failure = self.record, self._failure
        assert record.stream is not None  # noqa: S101 (`_ask` opened it)
        result = record.stream.finish()
        given = Answered(result) if failure is None else Broken(failure, result, len(record.hops))
        step = machine.feed(given)
        if not isinstance(step, Ask):
            if not isinstance(step, Fail):  # what failed is kept as it is, until the record is closed
                record.end_stream()
        elif step.mend is None or step.mend == "again":
            how: StreamEnd = "kept" if step.mend is None else "again"
            record.stream_over(how)
            await self._journal.stream_over(how)
        else:
            contents = record.break_off(plan.prompts.nudge(plan.locale, step.mend))
            await self._journal.stream_over("gone")
            for content in contents:
                await self._journal.content(content)
        return step

    def _rescope(self, change: RouteChange, route: Route) -> None:
        """Another family of models does not read the signatures so far; the six shipped ones are one family."""
        if change.rescoped:
            self._contents = unsigned(self._contents)
            self.record.hops = list(unsigned(self.record.hops, current=True, signs=route.signs))
            self._signs = route.signs
            if self._lighter is not None:
                self._lighter = self._readable(self._lighter)

    async def _fit(self) -> None:
        """Let the guard make the request lighter where it has grown too heavy."""
        fitted = None if self._guard is None else await self._guard.fit(self.record.hops, self.record.last_usage)
        if fitted is not None:
            self._lighter = fitted if self._signs is None else self._readable(fitted)
            self._contents = self._lighter.contents

    def _readable(self, fitted: Fitted) -> Fitted:
        """Without the signatures that the family of the current model does not read."""
        hops = unsigned(fitted.hops, current=True, signs=bool(self._signs))
        return replace(fitted, contents=unsigned(fitted.contents), hops=hops)

    def _hops(self) -> list[bytes]:
        """The answer so far as it is sent."""
        if self._lighter is None:
            return self.record.hops
        return [*self._lighter.hops, *self.record.hops[self._lighter.seen :]]

    def _rename(self, plan: TurnPlan, ladder: Ladder) -> None:
        """The question as it is read from now on: of several models the last one is named."""
        question, told = plan.question, plan.overlay
        if self._lighter is not None:
            question, told = self._lighter.question, self._lighter.overlay
        if question and ladder.current.note:
            overlay = join_contents([told, *(change.overlay() for change in ladder.changes)])
            self._contents = (*self._contents[:-1], render(question, overlay))

    async def _waiting(self, wait_s: float, error: EchoError) -> None:
        if not self._machine.may_wait(wait_s, error):
            raise error
        if self._on_wait is not None:
            await self._on_wait(wait_s, error)

    def _body(self, plan: TurnPlan, step: Ask) -> bytes:
        return request_json(
            contents=[*self._contents, *self._hops()],
            system_instruction=plan.system_instruction,
            tools=plan.tools,
            tool_config=self._tool_config(plan, step),
            generation_config=dict(self.record.ladder.current.generation_config),
            safety_settings=plan.safety_settings,
            continuation_token=step.continuation_token,
        )

    def _tool_config(self, plan: TurnPlan, step: Ask) -> dict[str, Any]:
        config = dict(plan.tool_config or {})
        if not step.with_tools:
            return config | NO_CALLS
        if plan.tool_choice is not None and not self.record.tool_io:
            config["functionCallingConfig"] = plan.tool_choice
        return config

    async def _show(self, received: StreamEvent) -> list[TurnEvent]:
        if isinstance(received, ThoughtDelta):
            if self.record.rejoins:  # would cut the sentence in two that is being resumed
                return []
            if self._thinking_since_s is None:
                self._thinking_since_s = self._clock.monotonic_s()
            return [self._seen(ThoughtStreamed(received.text))]
        events = self._end_thought()
        match received:
            case TextDelta(text):
                events += self._rejoined(self.record.rejoined(text))
            case MediaReceived(InlineDataPart() as part):
                url = await self._media.keep(part.mime_type, part.data)
                broken = NoticeShown(BROKEN_PICTURE.render(self._locale), "warning")
                events.append(broken if url is None else MediaShown(url))
            case CitationsReceived():
                events.append(SourcesFound(sources_of(received)))
            case ServerToolUsed():
                events += [self._seen(event) for event in self._server_cards.show(received)]
            case _:  # calls become cards when the step is complete
                pass
        return events

    def _end_thought(self) -> list[TurnEvent]:
        since_s, self._thinking_since_s = self._thinking_since_s, None
        return [] if since_s is None else [ThoughtEnded(self._clock.monotonic_s() - since_s)]

    def _rejoined(self, text: str) -> list[TurnEvent]:
        return [self._seen(TextStreamed(text))] if text else []

    def _seen(self, event: TurnEvent) -> TurnEvent:
        self.record.transcript.add(event)
        return event
