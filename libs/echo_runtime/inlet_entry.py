"""What the filters before the pipe import: light, because Open WebUI loads them on its event loop."""

from typing import Any

from echo_runtime.outlet_entry import is_echo
from echo_runtime.stages import StageInput, run_stage

__all__ = ["enter"]


async def enter(
    name: str,
    valves: Any,
    user: dict[str, Any] | None,
    metadata: dict[str, Any] | None,
    model: dict[str, Any] | None,
    request: Any = None,
    body: dict[str, Any] | None = None,
    event_emitter: Any = None,
) -> None:
    """Run a filter's stage when ECHO, or a workspace model on it, is called; never raises.

    Args:
        name: the filter's id.
        valves: its Valves.
        user: `__user__`; its `valves` are the filter's UserValves, which may have an `ENABLED` switch.
        metadata: `__metadata__`, the same object as the body's.
        model: `__model__`.
        request: `__request__`.
        body: the request.
        event_emitter: `__event_emitter__`.
    """
    if metadata is None or not is_echo(model):
        return
    user = user or {}
    own = user.get("valves")
    enabled = bool(getattr(own, "ENABLED", True))
    options = valves.model_dump() | ({} if own is None else own.model_dump())
    given = StageInput(
        metadata=metadata,
        user=user,
        body=body or {},
        event_emitter=event_emitter,
        request=request,
        options=options,
        enabled=enabled,
    )
    await run_stage(name, given)
