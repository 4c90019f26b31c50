"""The sub-agents' toolkit as Open WebUI hands it to the pipe, over the whole pipe in process."""

import runpy
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from turn_kit import Json, entry

TOOLKIT = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "echo_subagent.py"))["Tools"]
TOOL = "delegate_to_subagent"

#: In `match` of a scripted answer: asked by a sub-agent, or by the turn itself.
AGENT = {"body_regex": "sub-agent of ECHO|sous-agent d'ECHO"}
PARENT = {"body_regex": "^(?!.*(sub-agent of ECHO|sous-agent d'ECHO))"}

_PROPERTIES = {"task": {"type": "string"}, "context": {"type": "string"}, "level": {"type": "string"}}


def delegating(
    metadata: Json | None = None, *, user: str = "ada", enabled: bool = True, **valves: Any
) -> dict[str, Any]:
    """`__tools__` with the sub-agents' toolkit.

    Args:
        metadata: what Open WebUI gives its tools as `__metadata__`.
        user: whom it calls them for.
        enabled: the user's valve.
        valves: the administrator's; also values that the admin panel would refuse.
    """
    toolkit = TOOLKIT()
    toolkit.valves = SimpleNamespace(**{**toolkit.valves.model_dump(), **valves})
    given: Json = metadata if metadata is not None else {}
    extra = {"__user__": {"id": user, "valves": SimpleNamespace(ENABLED=enabled)}, "__metadata__": given}
    return {TOOL: with_extra(toolkit.delegate_to_subagent, extra, **_PROPERTIES) | {"tool_id": "echo_subagent"}}


def with_extra(function: Callable[..., Any], extra: Mapping[str, Any], **properties: Json) -> Json:
    """An entry whose function gets what Open WebUI injects, bound as Open WebUI binds it."""
    bound = partial(function, **extra)

    async def tool(**args: Any) -> Any:
        return await bound(**args)

    tool.__name__, tool.__doc__ = function.__name__, function.__doc__
    tool.__extra_params__ = extra  # type: ignore[attr-defined]
    return entry(tool, **properties)
