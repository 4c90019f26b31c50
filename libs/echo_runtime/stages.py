"""What ECHO does before its pipe is called: one stage a filter, in the order of the filters' priorities.

A filter is a shell that calls `run_stage`. The pipe calls `run_missing_stages`, so that a stage whose filter is not
installed still does its work, while one that somebody switched off does not.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

from echo_runtime import _owui
from echo_runtime.anchors import anchors
from echo_runtime.call import Emitter, PipeCall, request_locale
from echo_runtime.display import display_of
from echo_runtime.environment import machine
from echo_runtime.loading import orchestrator
from echo_runtime.turn_context import DRAFT_KEY, OWN_CONTEXT, Heartbeat, MemoryUse, TurnContext, shared_context

log = logging.getLogger(__name__)

#: Silence after which a sign of life is sent; proxies commonly cut at 10 s and more. Source: our choice.
DEFAULT_HEARTBEAT_S: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StageInput:
    """What a filter's inlet got.

    Args:
        user: Open WebUI's user as a dict.
        metadata: Open WebUI's request metadata; the shared context is put there.
        body: the request, after the filters that ran before.
        event_emitter: reaches the page.
        options: the filter's Valves and UserValves by name.
        enabled: False when the user has switched the stage off.
    """

    metadata: MutableMapping[str, Any]
    user: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    event_emitter: Emitter | None = None
    request: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True


Stage = Callable[[StageInput, TurnContext], Awaitable[None]]


async def _open_environment(given: StageInput, shared: TurnContext) -> None:
    shared.locale = request_locale(given.metadata, given.request)
    found = (await machine()).health.finding()
    if found is not None and given.user.get("role") == "admin":
        shared.notices.append(found.user_message(shared.locale))


async def _keep_alive(given: StageInput, shared: TurnContext) -> None:
    shared.heartbeat = Heartbeat(
        interval_s=float(given.options.get("HEARTBEAT_S", DEFAULT_HEARTBEAT_S)),
        shows_status=bool(given.options.get("SHOW_STATUS", True)),
    )


async def _anchor_user(given: StageInput, shared: TurnContext) -> None:
    shared.anchors = await anchors(given.user, given.metadata, given.options, (await machine()).clock.now_s())


async def _left_to_pipe(given: StageInput, shared: TurnContext) -> None:
    """The pipe does the work, since it alone knows what is sent and sealed; it looks whether this was switched off."""


async def _use_memory(given: StageInput, shared: TurnContext) -> None:
    """The pipe recalls and indexes; here is said what it may do with the user's memory."""
    reading = str(given.options.get("MEMORY_READING", "model"))
    shared.memory = MemoryUse(
        on=bool(given.options.get("MEMORY_ALLOWED", True) and given.options.get("MEMORY", True)),
        reading="local" if reading == "local" else "off" if reading == "off" else "model",
        indexes=bool(given.options.get("INDEX_CHATS", True)),
    )


async def _prepare_question(given: StageInput, shared: TurnContext) -> None:
    call = PipeCall(
        body=given.body,
        user=given.user,
        metadata=given.metadata,
        valves=None,
        tools={},
        event_emitter=given.event_emitter,
        request=given.request,
    )
    if not call.asks_anew:
        return
    draft = await (await orchestrator()).drafter.prepare(call)
    if draft is not None:
        given.metadata[DRAFT_KEY] = draft


async def _place_gauge(given: StageInput, shared: TurnContext) -> None:
    shared.display = display_of(given.options, given.options)


#: By the id of the filter, in the order in which they run.
STAGES: Final[Mapping[str, Stage]] = {
    "build_environment_domain": _open_environment,
    "tcp_keepalive_filter": _keep_alive,
    "user_native_context_filter": _anchor_user,
    "context_compaction_filter": _left_to_pipe,
    OWN_CONTEXT: _prepare_question,
    "conversation_rag_filter": _use_memory,
    "app_drawer_filter": _place_gauge,
}


async def run_stage(name: str, given: StageInput) -> None:
    """Do the work of one filter once a request; never raises, since a broken stage must not cost the answer."""
    shared = shared_context(given.metadata)
    if name in shared.stages:
        return
    if not given.enabled:
        shared.stages[name] = "off"
        return
    try:
        await STAGES[name](given, shared)
        shared.stages[name] = "done"
    except Exception:
        shared.stages[name] = "failed"
        log.exception("the stage %s failed; the turn goes on without it", name)


async def run_missing_stages(call: PipeCall) -> None:
    """Run what no filter has run, unless an administrator switched its filter off; never raises."""
    missing = [name for name in STAGES if name not in call.shared.stages]
    if not missing:
        return
    try:
        switches = await _owui.function_switches(missing)
    except Exception:
        log.exception("which filters are switched off could not be read; they count as on")
        switches = {}
    for name in missing:
        switch = switches.get(name)
        options = switch.valves if switch is not None else {}
        enabled = switch is None or switch.active
        given = StageInput(
            metadata=call.metadata,
            user=call.user,
            body=call.body,
            event_emitter=call.event_emitter,
            request=call.request,
            options=options,
            enabled=enabled,
        )
        await run_stage(name, given)
