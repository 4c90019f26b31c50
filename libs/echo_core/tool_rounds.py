"""The tool rounds of one turn: runs the calls of each step, keeps their responses in call order, watches for loops."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from echo_constants import Bilingual, Locale
from echo_core.loops import LoopWatch, Verdict, with_note
from echo_core.ports import ToolOutcome, ToolProgress, ToolRequest, ToolRunner, TurnJournal
from echo_events import (
    CallsHandedOver,
    HandedCall,
    NoticeShown,
    SourcesFound,
    ToolCalled,
    ToolFinished,
    ToolProgressed,
    Transcript,
    TurnEvent,
)
from echo_prompts import SHIPPED, PromptBook, PromptName
from echo_protocol import FunctionCallPart, content_json, function_response_part
from echo_utils import dumps

#: What a card shows whose tool broke in a way that nobody foresaw.
UNKNOWN_RESULT: Final = '{"error": "The result of this call is not known."}'

#: What follows a round: the model is asked again, with or without tools, or the caller goes on.
RoundEnd = Literal["again", "conclude", "handed_over"]
RoundNotice = Literal["stuck", "last_round"]

#: What the user is told when no more tools are called. Source: our wording.
ROUND_NOTICES: Final[Mapping[RoundNotice, Bilingual]] = {
    "stuck": Bilingual(
        en="The same tool calls kept giving the same results; ECHO asks for an answer with what there is.",
        fr="Les mêmes appels d'outils donnaient toujours les mêmes résultats ; ECHO demande une réponse avec "
        "l'existant.",
    ),
    "last_round": Bilingual(
        en="The limit of tool rounds for one answer is reached; ECHO asks for an answer with what there is.",
        fr="Le nombre maximal de tours d'outils pour une réponse est atteint ; ECHO demande une réponse avec "
        "l'existant.",
    ),
}


class Answer(Protocol):
    """What of a `TurnRecord` is needed here."""

    hops: list[bytes]
    tool_io: list[dict[str, Any]]
    transcript: Transcript


class ToolRounds:
    """One instance a turn.

    Args:
        tools: runs the calls.
        journal: keeps the responses before the model gets them.
        record: the answer as it grows.
        call_prefix: makes card ids unique beyond the answer, for callers that send them back.
        prompts: what the model is told beside results.
    """

    def __init__(
        self,
        tools: ToolRunner,
        journal: TurnJournal,
        record: Answer,
        call_prefix: str,
        prompts: PromptBook = SHIPPED,
    ) -> None:
        self._tools = tools
        self._journal = journal
        self._record = record
        self._call_prefix = call_prefix
        self._prompts = prompts
        self._loops = LoopWatch()
        self.end: RoundEnd = "again"

    async def run(
        self,
        calls: Sequence[FunctionCallPart],
        *,
        names: Mapping[str, str],
        handed_over: frozenset[str],
        last: Callable[[], bool],
        locale: Locale,
    ) -> AsyncGenerator[TurnEvent, None]:
        """The events of one round; `end` then says what follows.

        Args:
            calls: of one step, in order.
            names: Open WebUI's name by declared name.
            handed_over: names of tools that the caller runs itself; their calls end the turn.
            last: whether no round may follow, asked when this one is over.
            locale: the language in which ECHO speaks to user and model.
        """
        await self._journal.flush()
        requests = [self._request(names, index, call) for index, call in enumerate(calls)]
        ours = [request for request in requests if request.name not in handed_over]
        for request in ours:
            called = ToolCalled(call_id=request.card_id, name=request.name, arguments_json=_json(request))
            self._record.transcript.add(called)
            yield called
        outcomes: dict[str, ToolOutcome] = {}
        try:
            async for news in self._tools.run(ours):
                shown = _shown(news)
                if isinstance(news, ToolOutcome):  # what could not be shown has no result yet
                    outcomes[news.card_id] = news
                for event in shown:
                    yield event
        except Exception:
            for request in ours:
                if request.card_id not in outcomes:  # a card without a result would be run again by Open WebUI
                    yield ToolFinished(call_id=request.card_id, text=UNKNOWN_RESULT)
            raise
        theirs = [request for request in requests if request.card_id not in outcomes]
        note, notice = self._judge(ours, outcomes, last=last())
        words = None if theirs or note is None else self._prompts.text(note, locale)
        await self._keep(calls, requests, outcomes, words)
        if theirs:
            self.end = "handed_over"
            yield CallsHandedOver(tuple(HandedCall(r.card_id, r.name, _json(r)) for r in theirs))
        elif notice is not None:
            self.end = "conclude"
            yield NoticeShown(ROUND_NOTICES[notice].render(locale), "warning")

    def _judge(
        self, requests: Sequence[ToolRequest], outcomes: Mapping[str, ToolOutcome], *, last: bool
    ) -> tuple[PromptName | None, RoundNotice | None]:
        verdict = self._loops.add(requests, outcomes)
        if verdict is Verdict.STUCK:
            return "note_stuck", "stuck"
        if last:
            return "note_last_round", "last_round"
        return ("note_repeats", None) if verdict is Verdict.REPEATS else (None, None)

    def _request(self, names: Mapping[str, str], index: int, call: FunctionCallPart) -> ToolRequest:
        card_id = f"{self._call_prefix}_{len(self._record.hops)}_{index}"
        return ToolRequest(card_id=card_id, name=names.get(call.name, call.name), args=call.args)

    async def _keep(
        self,
        calls: Sequence[FunctionCallPart],
        requests: Sequence[ToolRequest],
        outcomes: Mapping[str, ToolOutcome],
        note: str | None,
    ) -> None:
        """Add the responses that there are; those of the caller's own tools come with its next request."""
        parts = []
        answered = [(c, r, outcomes[r.card_id]) for c, r in zip(calls, requests, strict=True) if r.card_id in outcomes]
        for place, (call, request, outcome) in enumerate(answered, start=1):
            response = with_note(outcome.response, note if place == len(answered) else None)
            parts.append(function_response_part(call, response, outcome.media))
            self._record.tool_io.append({"name": request.name, "args": dict(request.args), "response": response})
        if not parts:
            return
        content = content_json("user", parts)
        self._record.hops.append(content)
        await self._journal.content(content)
        await self._journal.flush()


def _shown(news: ToolOutcome | ToolProgress) -> list[TurnEvent]:
    if isinstance(news, ToolProgress):
        return [ToolProgressed(call_id=news.card_id, doing=news.doing, steps=news.steps)]
    finished = ToolFinished(call_id=news.card_id, text=news.text, files=news.files, embeds=news.embeds)
    return [finished, SourcesFound(news.sources)] if news.sources else [finished]


def _json(request: ToolRequest) -> str:
    return dumps(dict(request.args)).decode()
