"""Drives one turn: asks the model, runs its tools, asks again, and tells what happened as events."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from echo_core.citations import sources_of
from echo_core.ports import (
    Clock,
    GenerateRequest,
    MediaStore,
    ModelBackend,
    OnWait,
    ToolOutcome,
    ToolRequest,
    ToolRunner,
    TurnJournal,
)
from echo_core.turn import Answered, Ask, Begin, Fail, Finish, RunTools, ToolsAnswered, TurnMachine
from echo_core.usage import RoundUsage, usage_shown
from echo_events import (
    MediaShown,
    SourcesFound,
    TextStreamed,
    ThoughtEnded,
    ThoughtStreamed,
    ToolCalled,
    ToolFinished,
    Transcript,
    TurnEvent,
    TurnFinished,
    UsageCounted,
)
from echo_protocol import (
    CitationsReceived,
    FunctionCallPart,
    InlineDataPart,
    MediaReceived,
    Part,
    StreamEvent,
    StreamProcessor,
    StreamResult,
    TextDelta,
    ThoughtDelta,
    Usage,
    content_json,
    function_response_part,
    replayable,
    request_json,
)
from echo_utils import dumps

#: What a card shows whose tool broke in a way that nobody foresaw.
UNKNOWN_RESULT: Final = '{"error": "The result of this call is not known."}'


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlan:
    """Everything that one turn sends, prepared.

    Args:
        model_id: the backend's id.
        contents: serialised Content objects, oldest first, the current user message last.
        system_instruction: serialised Content, or None.
        tools: serialised `tools` array, or None.
        tool_names: Open WebUI's name by declared name.
        max_rounds: tool rounds before the model is asked for a last answer.
    """

    model_id: str
    contents: Sequence[bytes]
    system_instruction: bytes | None = None
    tools: bytes | None = None
    tool_config: dict[str, Any] | None = None
    generation_config: dict[str, Any] = field(default_factory=dict)
    safety_settings: list[dict[str, Any]] | None = None
    tool_names: Mapping[str, str] = field(default_factory=dict)
    max_rounds: int = 50


class TurnRecord:
    """What a turn has produced so far; sealed at its end, whatever the end is.

    Args:
        lead: serialised Contents that open the answer's record: what a continued answer said before, and the words
            that ask for more.
        before: text of the answer that the page shows already.
    """

    def __init__(self, lead: Sequence[bytes] = (), before: str = "") -> None:
        self.hops: list[bytes] = list(lead)
        self.tool_io: list[dict[str, Any]] = []
        self.transcript = Transcript(before)
        self._carried: tuple[Part, ...] = ()
        self.usage = Usage()
        self.last_usage = Usage()
        self.asked_model = ""
        self.rounds: list[RoundUsage] = []
        self.model_version = ""
        self.stream: StreamProcessor | None = None

    def end_stream(self) -> StreamResult | None:
        """Close the stream that is running, if any, and keep what it brought as a hop.

        An answer that ends by CONTINUATION goes on in the next stream; its parts wait and become one hop with those.
        """
        if self.stream is None:
            return None
        result, self.stream = self.stream.finish(), None
        parts = (*self._carried, *replayable(result.parts))
        self._carried = parts if result.outcome == "continuation" else ()
        if parts and not self._carried:
            self.hops.append(content_json("model", parts))
        self.usage += result.usage
        self.last_usage = result.usage
        self.rounds.append(RoundUsage(model_id=self.asked_model, usage=result.usage))
        self.model_version = result.model_version or self.model_version
        return result

    def close(self) -> None:
        """Keep everything that has come, wherever the turn stands."""
        self.end_stream()
        if self._carried:
            self.hops.append(content_json("model", self._carried))
            self._carried = ()


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
    ) -> None:
        self._backend = backend
        self._tools = tools
        self._journal = journal
        self._media = media
        self._clock = clock
        self._on_wait = on_wait
        self._thinking_since_s: float | None = None
        self.record = record

    async def run(self, plan: TurnPlan) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events, `TurnFinished` last; what is done is in `record` at any moment.

        Raises:
            EchoError: the backend failed, or the answer is none; the events so far stand.
        """
        machine = TurnMachine(plan.max_rounds)
        step = machine.feed(Begin())
        while True:
            match step:
                case Ask():
                    async with aclosing(self._ask(plan, step)) as events:
                        async for event in events:
                            yield event
                    step = machine.feed(Answered(self._result))
                case RunTools(calls):
                    async with aclosing(self._run_tools(plan, calls)) as events:
                        async for event in events:
                            yield event
                    step = machine.feed(ToolsAnswered())
                case Finish(reason):
                    yield UsageCounted(usage_shown(self.record.rounds))
                    yield TurnFinished(reason)
                    return
                case Fail(error):
                    raise error

    async def _ask(self, plan: TurnPlan, step: Ask) -> AsyncGenerator[TurnEvent, None]:
        request = GenerateRequest(model=plan.model_id, body_json=self._body(plan, step))
        self.record.asked_model = plan.model_id
        stream = self.record.stream = StreamProcessor()
        async with self._backend.stream_generate(request, on_wait=self._on_wait) as chunks:
            async for chunk in chunks:
                await self._journal.chunk(chunk)
                for received in stream.process(chunk):
                    for event in await self._show(received):
                        yield event
        for event in self._end_thought():
            yield event
        result = self.record.end_stream()
        assert result is not None  # noqa: S101 (the stream was opened above)
        self._result = result

    def _body(self, plan: TurnPlan, step: Ask) -> bytes:
        return request_json(
            contents=[*plan.contents, *self.record.hops],
            system_instruction=plan.system_instruction,
            tools=plan.tools,
            tool_config=plan.tool_config if step.with_tools else {"functionCallingConfig": {"mode": "NONE"}},
            generation_config=plan.generation_config,
            safety_settings=plan.safety_settings,
            continuation_token=step.continuation_token,
        )

    async def _show(self, received: StreamEvent) -> list[TurnEvent]:
        if isinstance(received, ThoughtDelta):
            if self._thinking_since_s is None:
                self._thinking_since_s = self._clock.monotonic_s()
            return [self._seen(ThoughtStreamed(received.text))]
        events = self._end_thought()
        match received:
            case TextDelta(text):
                events.append(self._seen(TextStreamed(text)))
            case MediaReceived(InlineDataPart() as part):
                events.append(MediaShown(await self._media.keep(part.mime_type, part.data)))
            case CitationsReceived():
                events.append(SourcesFound(sources_of(received)))
            case _:  # calls become cards when the step is complete; server-side tools have no card of their own
                pass
        return events

    def _end_thought(self) -> list[TurnEvent]:
        since_s, self._thinking_since_s = self._thinking_since_s, None
        return [] if since_s is None else [ThoughtEnded(self._clock.monotonic_s() - since_s)]

    def _seen(self, event: TurnEvent) -> TurnEvent:
        self.record.transcript.add(event)
        return event

    async def _run_tools(self, plan: TurnPlan, calls: Sequence[FunctionCallPart]) -> AsyncGenerator[TurnEvent, None]:
        await self._journal.flush()
        requests = [self._request(plan, index, call) for index, call in enumerate(calls)]
        for request in requests:
            arguments_json = dumps(dict(request.args)).decode()
            yield self._seen(ToolCalled(call_id=request.card_id, name=request.name, arguments_json=arguments_json))
        outcomes: dict[str, ToolOutcome] = {}
        try:
            async for outcome in self._tools.run(requests):
                outcomes[outcome.card_id] = outcome
                yield ToolFinished(
                    call_id=outcome.card_id, text=outcome.text, files=outcome.files, embeds=outcome.embeds
                )
        except Exception:
            for request in requests:
                if request.card_id not in outcomes:  # a card without a result would be run again by Open WebUI
                    yield ToolFinished(call_id=request.card_id, text=UNKNOWN_RESULT)
            raise
        await self._keep_responses(calls, requests, outcomes)

    def _request(self, plan: TurnPlan, index: int, call: FunctionCallPart) -> ToolRequest:
        card_id = f"call_{len(self.record.hops)}_{index}"
        return ToolRequest(card_id=card_id, name=plan.tool_names.get(call.name, call.name), args=call.args)

    async def _keep_responses(
        self, calls: Sequence[FunctionCallPart], requests: Sequence[ToolRequest], outcomes: Mapping[str, ToolOutcome]
    ) -> None:
        parts = []
        for call, request in zip(calls, requests, strict=True):
            outcome = outcomes[request.card_id]
            parts.append(function_response_part(call, dict(outcome.response), outcome.media))
            self.record.tool_io.append(
                {"name": request.name, "args": dict(request.args), "response": dict(outcome.response)}
            )
        content = content_json("user", parts)
        self.record.hops.append(content)
        await self._journal.content(content)
        await self._journal.flush()
