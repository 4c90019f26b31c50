"""The figures of an answer, and why its model was the one: written in the same transaction as the answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from echo_core.engine import TurnPlan
from echo_core.figures import FIGURES_KEY, LATEST_FIGURES_KEY, Cause, TurnFigures, measured
from echo_core.ports import ShadowStore
from echo_core.routing import Mode, Route, level_of
from echo_core.turn_record import TurnRecord
from echo_core.usage import RoundUsage
from echo_runtime.call import PipeCall
from echo_runtime.levels import LEVEL_KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An answer that is being sealed.

    Args:
        message_id: of the answer.
        at_s: now, epoch seconds.
        plan: what was asked for.
        record: what came of it.
        policy: who chooses the model.
    """

    message_id: str
    at_s: int
    plan: TurnPlan
    record: TurnRecord
    policy: Mode


async def figure_settings(
    call: PipeCall, store: ShadowStore, settled: Settled, rounds: Sequence[RoundUsage]
) -> dict[str, str]:
    """What goes into `echo_settings`; nothing for an answer of which the server counted nothing.

    Args:
        call: what was asked.
        store: the chat's records, before this answer is in them.
        settled: the answer.
        rounds: its requests, with prices.
    """
    counted = measured(rounds)
    if not counted:
        return {}
    route = _route(settled)
    cause, detail = await _cause(call, store, settled)
    figures = TurnFigures(
        message_id=settled.message_id,
        at_s=settled.at_s,
        model_id=route.model_id,
        level=route.level,
        cause=cause,
        detail=detail,
        window_tokens=route.window_tokens,
        **counted,
    ).to_json()
    return {FIGURES_KEY.format(message_id=settled.message_id): figures, LATEST_FIGURES_KEY: figures}


def _route(settled: Settled) -> Route:
    """Where the turn stood at its end."""
    ladder, plan = settled.record.ladder, settled.plan
    if ladder.changes:
        return ladder.current
    return Route(level=plan.level, model_id=plan.model_id, window_tokens=plan.window_tokens)


async def _cause(call: PipeCall, store: ShadowStore, settled: Settled) -> tuple[Cause, str]:
    changes = settled.record.ladder.changes
    if changes:
        last = changes[-1]
        return ("cascade", last.why) if last.cause == "cascade" else ("model", "")
    if call.draws and not settled.plan.others and settled.plan.tools is None:
        return "drawing", ""
    if level_of(settled.policy) is not None:
        return "pinned", ""
    if settled.policy == "AUTO_PRO":
        return "auto_pro", ""
    used_to = level_of(await store.get_setting(LEVEL_KEY))
    return ("chat", "") if used_to in (None, settled.plan.level) else ("fill", "")
