"""One turn as a state table: what happened goes in, the next step comes out. Nothing here waits.

    READY ──Begin──▶ ASKING ──Answered(tool calls)──▶ RUNNING_TOOLS
                     ▲ │ ▲ ▲                               │
       Answered(more)│ │ │ └──────────ToolsAnswered────────┤
       Broken(retry, ┘ │ └─Answered(empty, bad call: nudge)│
       resume, lower)  │                                   └─ToolsAnswered(handed over)──▶ DONE
                       ├──Answered(complete, cut short)──▶ DONE
                       └──Answered(blocked), Broken(for good), repairs used up──▶ FAILED

What is done about a broken stream, first match:

    | something of it stands, and the error passes | asked to go on, on the same model      |
    | it broke without a word                      | the same request again                 |
    | the model is short of capacity or quota      | the same request to a lower model      |
    | anything else, or the repairs are used up    | FAILED, after a lower model was tried where that helps |

An input that the table does not list for a state is a fault of ours: the machine goes to FAILED and raises.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from echo_constants import EchoError
from echo_core.answer_errors import IllegalTransition, error_for
from echo_core.mending import standing
from echo_core.routing import Ladder
from echo_core.tool_rounds import RoundEnd
from echo_prompts import NudgeKind
from echo_protocol import FunctionCallPart, StreamResult

#: Answers that are mended one after the other without any progress, and in one turn. Source: our choice; gemini-cli
#: tries such an answer four times.
REPAIRS_IN_A_ROW: Final = 3
REPAIRS_IN_A_TURN: Final = 8

#: All waits of one turn together, seconds; one call alone waits 60 s at most. Source: our choice.
MAX_WAIT_S: Final = 180.0

#: Before the second, third… attempt on an answer that broke off for want of capacity. Source: as the client's.
_BACKOFF_S: Final = 1.0

_NUDGES: Final[dict[str, NudgeKind]] = {
    "empty": "empty",
    "thoughts_only": "empty",
    "other": "empty",
    "malformed_call": "malformed_call",
    "unexpected_tool_call": "unknown_tool",
    "no_finish_reason": "go_on",
}


class TurnState(Enum):
    """Where a turn stands."""

    READY = "ready"
    ASKING = "asking"
    RUNNING_TOOLS = "running_tools"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Begin:
    """The request is prepared."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's stream ended by itself."""

    result: StreamResult


@dataclass(frozen=True, slots=True)
class Broken:
    """The stream failed.

    Args:
        result: what had come until then.
        hop: how many Contents the answer has.
    """

    error: EchoError
    result: StreamResult
    hop: int = 0


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """Every call of the last step has its response, or is the caller's to answer.

    Args:
        end: `conclude` asks for a last answer in words, `handed_over` ends the turn.
    """

    end: RoundEnd = "again"


TurnInput = Begin | Answered | Broken | ToolsAnswered


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send the request and stream the answer.

    Args:
        with_tools: False asks for a last answer in words.
        continuation_token: goes back to a model that had reached its limit for one request.
        mend: what is done about the stream before: `again` forgets it, the others keep what stands of it and tell the
            model in ECHO's words why it is asked again. None when it ended well.
        wait_s: before the request is sent.
        because: the error that is waited for.
    """

    with_tools: bool = True
    continuation_token: str | None = None
    mend: NudgeKind | Literal["again"] | None = None
    wait_s: float = 0.0
    because: EchoError | None = None


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the calls of one step and collect their responses in call order.

    Args:
        last: no round may follow.
    """

    calls: tuple[FunctionCallPart, ...]
    last: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is over."""

    reason: Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Fail:
    """The turn cannot go on."""

    error: EchoError


Step = Ask | RunTools | Finish | Fail


class TurnMachine:
    """The table, and how many tool rounds and repairs are left.

    Args:
        max_rounds: tool rounds after which the model is asked for a last answer without tools.
        ladder: the levels that may answer; moved down when one fails.
    """

    def __init__(self, max_rounds: int, ladder: Ladder) -> None:
        self.state = TurnState.READY
        self._rounds_left = max_rounds
        self._ladder = ladder
        self._repairs_left = REPAIRS_IN_A_TURN
        self._in_a_row = 0
        self._waited_s = 0.0
        self._asked = Ask()

    def feed(self, given: TurnInput) -> Step:
        """Take one input and say what to do next.

        Raises:
            IllegalTransition: the table has no row for this input in this state.
        """
        handler = _TABLE.get((self.state, type(given)))
        if handler is None:
            self.state = TurnState.FAILED
            raise IllegalTransition(f"{type(given).__name__} in an unexpected state")
        self.state, step = handler(self, given)
        if isinstance(step, Ask):
            self._asked = step
        return step

    def may_wait(self, wait_s: float, error: EchoError) -> bool:
        """Whether the backend may wait and try again, or the turn has something better to do.

        A wait that is allowed counts against the turn's budget.
        """
        if error.cascade == "at_once" and self._ladder.below() is not None:
            return False
        if self._waited_s + wait_s > MAX_WAIT_S:
            return False
        self._waited_s += wait_s
        return True

    def _begin(self, _: TurnInput) -> tuple[TurnState, Step]:
        return TurnState.ASKING, Ask()

    def _answered(self, given: TurnInput) -> tuple[TurnState, Step]:
        assert isinstance(given, Answered)  # noqa: S101 (the table row guarantees it)
        result = given.result
        match result.outcome:
            case "tool_calls":
                self._in_a_row = 0
                self._rounds_left -= 1
                calls = tuple(part for part in result.parts if isinstance(part, FunctionCallPart))
                return TurnState.RUNNING_TOOLS, RunTools(calls, last=self._rounds_left <= 0)
            case "continuation":
                self._in_a_row = 0
                return TurnState.ASKING, Ask(
                    with_tools=self._asked.with_tools, continuation_token=result.continuation_token
                )
            case "complete":
                return TurnState.DONE, Finish("stop")
            case "max_tokens":
                return TurnState.DONE, Finish("length")
            case "other" if result.text.strip():
                return TurnState.FAILED, Fail(error_for(result))
            case outcome if outcome in _NUDGES and self._may_mend():
                return TurnState.ASKING, Ask(with_tools=self._rounds_left > 0, mend=_NUDGES[outcome])
            case _:
                return TurnState.FAILED, Fail(error_for(result))

    def _broken(self, given: TurnInput) -> tuple[TurnState, Step]:
        assert isinstance(given, Broken)  # noqa: S101 (the table row guarantees it)
        error, kept = given.error, bool(standing(given.result.parts))
        again = Ask(with_tools=self._asked.with_tools, continuation_token=self._asked.continuation_token, mend="again")
        on = Ask(with_tools=self._asked.with_tools, mend="go_on") if kept else again
        if (error.retryable if kept else error.breaks_off) and self._may_mend():
            wait_s = self._backoff_s(error)
            if not wait_s or self.may_wait(wait_s, error):
                return TurnState.ASKING, Ask(
                    with_tools=on.with_tools,
                    continuation_token=on.continuation_token,
                    mend=on.mend,
                    wait_s=wait_s,
                    because=error,
                )
        if error.cascade != "never" and self._ladder.fall(error, given.hop):
            self._in_a_row = 0
            return TurnState.ASKING, on
        return TurnState.FAILED, Fail(error)

    def _tools_answered(self, given: TurnInput) -> tuple[TurnState, Step]:
        assert isinstance(given, ToolsAnswered)  # noqa: S101 (the table row guarantees it)
        if given.end == "handed_over":
            return TurnState.DONE, Finish("tool_calls")
        if given.end == "conclude":
            self._rounds_left = 0
        return TurnState.ASKING, Ask(with_tools=self._rounds_left > 0)

    def _may_mend(self) -> bool:
        if self._in_a_row >= REPAIRS_IN_A_ROW or not self._repairs_left:
            return False
        self._in_a_row += 1
        self._repairs_left -= 1
        return True

    def _backoff_s(self, error: EchoError) -> float:
        """A broken connection is taken up again at once, the first time; everything else after a while."""
        if error.retry_after_s is not None:
            return error.retry_after_s
        step = self._in_a_row - 1 if error.breaks_off else self._in_a_row
        return _BACKOFF_S * 2 ** (step - 1) if step else 0.0


_Handler = Callable[[TurnMachine, TurnInput], tuple[TurnState, Step]]
_TABLE: dict[tuple[TurnState, type[TurnInput]], _Handler] = {
    (TurnState.READY, Begin): TurnMachine._begin,
    (TurnState.ASKING, Answered): TurnMachine._answered,
    (TurnState.ASKING, Broken): TurnMachine._broken,
    (TurnState.RUNNING_TOOLS, ToolsAnswered): TurnMachine._tools_answered,
}
