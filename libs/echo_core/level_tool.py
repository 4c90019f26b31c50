"""The tool `new_cognitive_level`: the model says that this task wants another level, and hands over a Transfer Plan.

The engine answers it itself; the call and its answer stay in the history like any other, so that the model that takes
over reads the plan there. Source: docs/design.md section 6.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from echo_core.ports import PlanStore, ToolOutcome, ToolProgress, ToolRequest, ToolRunner
from echo_core.routing import LEVELS, level_of
from echo_core.turn_record import TurnRecord
from echo_prompts import SHIPPED, PromptBook
from echo_protocol import unbox_tool_output, wrap_tool_output

NAME: Final = "new_cognitive_level"


def level_spec(prompts: PromptBook = SHIPPED) -> dict[str, Any]:
    """The tool as Open WebUI's tools are specified, so that it is declared like them."""
    return {
        "name": NAME,
        "description": prompts.text("level_tool", "en"),
        "parameters": {
            "type": "object",
            "properties": {
                "target": {"type": "string", "enum": list(LEVELS), "description": "The level that takes over."},
                "transfer_plan": {"type": "string", "description": prompts.text("level_plan", "en")},
            },
            "required": ["target", "transfer_plan"],
        },
    }


class LevelTools:
    """A ToolRunner that answers `new_cognitive_level` itself and leaves the rest to another.

    Args:
        inner: runs all other tools.
        record: knows the levels of the turn.
        plans: keeps Transfer Plans; None where nothing is kept.
    """

    def __init__(self, inner: ToolRunner, record: TurnRecord, plans: PlanStore | None) -> None:
        self._inner = inner
        self._record = record
        self._plans = plans

    async def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome | ToolProgress]:
        """See `ToolRunner`; several changes of level in one step are taken in call order."""
        others = [request for request in requests if request.name != NAME]
        for request in requests:
            if request.name == NAME:
                yield await self._move(request)
        if others:
            async for outcome in self._inner.run(others):
                yield outcome

    async def _move(self, request: ToolRequest) -> ToolOutcome:
        ladder = self._record.ladder
        target = level_of(request.args.get("target"))
        problem = ladder.refuses(target)
        if not problem and self._record.last_usage.prompt_tokens > ladder.route(target).window_tokens:
            problem = f"This conversation does not fit into {target}. Go on at the current level."
        if problem or target is None:
            response = wrap_tool_output(problem, error=True)
        else:
            plan = str(request.args.get("transfer_plan") or "").strip()
            plan_id = await self._plans.keep_plan(plan) if plan and self._plans is not None else ""
            ladder.move(target, len(self._record.hops), plan_id)
            response = wrap_tool_output(f"{target} continues from here, by the transfer plan above.")
        return ToolOutcome(card_id=request.card_id, response=response, text=unbox_tool_output(response))
