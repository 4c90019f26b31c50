"""The sub-agents of a turn: how many there may be, what they share, and how a tool finds them."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from echo_constants import Bilingual, ModelFeedbackError
from echo_runtime.subagent_run import Agent, Limits, Order, Surroundings
from echo_runtime.tool_runner import OwuiToolRunner
from echo_runtime.tools_cache import Seat, TurnTools, shared_tools

#: Sub-agents of one turn, and how many of them work at the same time on one depth. Source: our choice.
MAX_IN_A_TURN: Final = 16
MAX_AT_ONCE: Final = 4

_WAITING: Final = Bilingual(en="waiting for its turn", fr="attend son tour")


class TooManySubagents(ModelFeedbackError):
    """The turn has had as many sub-agents as it may."""

    code = "subagents_too_many"
    message = Bilingual(
        en="This answer has used all of its {most} sub-agents.",
        fr="Cette réponse a employé ses {most} sous-agents.",
    )
    remedy = Bilingual(en="Do the rest yourself.", fr="Faites le reste vous-même.")


class SubagentsTooDeep(ModelFeedbackError):
    """A sub-agent may not have sub-agents of its own, or none may be had at all."""

    code = "subagents_too_deep"
    message = Bilingual(en="No sub-agent can be started here.", fr="Aucun sous-agent ne peut être lancé ici.")
    remedy = Bilingual(en="Do the task yourself.", fr="Faites la tâche vous-même.")


class SubAgents:
    """The sub-agents of one turn.

    Args:
        around: the turn.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._started = 0
        self._places: defaultdict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(MAX_AT_ONCE))

    async def run(self, order: Order, limits: Limits, seat: Seat) -> str | dict[str, Any]:
        """Let one sub-agent work; its answer, or what went wrong and what it had until then.

        Raises:
            SubagentsTooDeep: no sub-agent may be started from this seat.
            TooManySubagents: the turn has had its share.
        """
        if seat.depth >= limits.depth:
            raise SubagentsTooDeep(f"depth {seat.depth} of {limits.depth}")
        if self._started >= MAX_IN_A_TURN:
            raise TooManySubagents(most=MAX_IN_A_TURN)
        self._started += 1
        agent = Agent(self._around, order, limits, seat, self._started)
        if self._places[seat.depth].locked():
            seat.tell(_WAITING.render(self._around.call.locale), ())
        async with self._places[seat.depth]:
            return await agent.work()


def google_tools(tools_json: bytes | None) -> list[dict[str, Any]]:
    """Those of a request's serialised `tools` that run at Google."""
    return [tool for tool in json.loads(tools_json or b"[]") if "functionDeclarations" not in tool]


def turn_runner(around: Surroundings, answer_id: str) -> OwuiToolRunner:
    """Runs the tools of the turn itself."""
    return OwuiToolRunner(
        around.call,
        around.runnable,
        around.results,
        around.tool_timeout_s,
        answer_id=answer_id,
        approval=around.approval,
    )


@asynccontextmanager
async def bridged(around: Surroundings, answer_id: str) -> AsyncIterator[None]:
    """Let the turn's tools find each other, and sub-agents with them, until the turn ends."""
    call = around.call
    turn = TurnTools(
        user_id=call.user_id,
        chat_id=call.chat_id,
        answer_id=answer_id,
        tools=call.tools if isinstance(call.tools, Mapping) else {},
        specs=[{"type": "function", "function": dict(spec)} for spec in around.specs],
        policy=around.policy,
        agents=SubAgents(around),
    )
    with shared_tools(turn, call.metadata, around.runnable):
        yield
