"""One turn as a state table: what happened goes in, the next step comes out. Nothing here waits.

    READY ──Begin──▶ ASKING ──Answered(tool calls)──▶ RUNNING_TOOLS
                       ▲ │ ▲                               │
                       │ │ └──────────ToolsAnswered────────┘
       Answered(more)──┘ │
                         ├──Answered(complete, cut short)──▶ DONE
                         └──Answered(blocked, empty, …)────▶ FAILED

An input that the table does not list for a state is a fault of ours: the machine goes to FAILED and raises.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from echo_constants import EchoError
from echo_core.answer_errors import IllegalTransition, error_for
from echo_protocol import FunctionCallPart, StreamResult


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
class ToolsAnswered:
    """Every call of the last step has its response."""


TurnInput = Begin | Answered | ToolsAnswered


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send the request and stream the answer.

    Args:
        with_tools: False asks for a last answer in words.
        continuation_token: goes back to a model that had reached its limit for one request.
    """

    with_tools: bool = True
    continuation_token: str | None = None


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the calls of one step and collect their responses in call order."""

    calls: tuple[FunctionCallPart, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is over."""

    reason: Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Fail:
    """The turn cannot go on."""

    error: EchoError


Step = Ask | RunTools | Finish | Fail


class TurnMachine:
    """The table, and how many tool rounds are left.

    Args:
        max_rounds: tool rounds after which the model is asked for a last answer without tools.
    """

    def __init__(self, max_rounds: int) -> None:
        self.state = TurnState.READY
        self._rounds_left = max_rounds

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
        return step

    def _begin(self, _: TurnInput) -> tuple[TurnState, Step]:
        return TurnState.ASKING, Ask()

    def _answered(self, given: TurnInput) -> tuple[TurnState, Step]:
        assert isinstance(given, Answered)  # noqa: S101 (the table row guarantees it)
        result = given.result
        match result.outcome:
            case "tool_calls":
                self._rounds_left -= 1
                calls = tuple(part for part in result.parts if isinstance(part, FunctionCallPart))
                return TurnState.RUNNING_TOOLS, RunTools(calls)
            case "continuation":
                return TurnState.ASKING, Ask(continuation_token=result.continuation_token)
            case "complete":
                return TurnState.DONE, Finish("stop")
            case "max_tokens":
                return TurnState.DONE, Finish("length")
            case _:
                return TurnState.FAILED, Fail(error_for(result))

    def _tools_answered(self, _: TurnInput) -> tuple[TurnState, Step]:
        return TurnState.ASKING, Ask(with_tools=self._rounds_left > 0)


_Handler = Callable[[TurnMachine, TurnInput], tuple[TurnState, Step]]
_TABLE: dict[tuple[TurnState, type[TurnInput]], _Handler] = {
    (TurnState.READY, Begin): TurnMachine._begin,
    (TurnState.ASKING, Answered): TurnMachine._answered,
    (TurnState.RUNNING_TOOLS, ToolsAnswered): TurnMachine._tools_answered,
}
