"""The bridge by which a tool reaches the other tools of its turn.

Open WebUI gives a tool its arguments and the request, but neither the other tools nor the pipe. A turn leaves both in
`_TOOLS_CACHE` while it runs; a tool finds them by the seat from which it was called, and only as the same user.
Source: docs/design.md section 6.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from echo_runtime.subagents import SubAgents

#: Keys of ours in the `__metadata__` of tools, for as long as the turn runs.
TOOLS_KEY: Final = "_echo_tools_dict"
SPECS_KEY: Final = "_echo_body_tools"
#: Likewise, and in `echo_settings`: the user's model policy.
POLICY_KEY: Final = "MODEL_SELECTION"


def _tell_nobody(doing: str, steps: Sequence[str]) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where a running call sits.

    Args:
        answer_id: the answer that the call belongs to.
        card_id: its card, or what stands for one inside a sub-agent.
        depth: how many sub-agents are around it.
        tell: shows what the call does, and the steps done so far.
        sources: what the call adds to the answer's citations.
        files: what it adds to its card.
    """

    answer_id: str = ""
    card_id: str = ""
    depth: int = 0
    tell: Callable[[str, Sequence[str]], None] = _tell_nobody
    sources: list[Mapping[str, Any]] = field(default_factory=list)
    files: list[Mapping[str, Any]] = field(default_factory=list)


#: The seat of whatever runs in this task.
SEAT: Final[ContextVar[Seat | None]] = ContextVar("echo_tool_seat", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTools:
    """What one running turn offers to its own tools.

    Args:
        tools: `__tools__` by name as it came, {} in its other forms.
        specs: all tools that are offered, in OpenAI's form.
        policy: the user's MODEL_SELECTION.
        agents: runs sub-agents of this turn.
    """

    user_id: str
    chat_id: str
    answer_id: str
    tools: Mapping[str, Any]
    specs: Sequence[Mapping[str, Any]]
    policy: str
    agents: "SubAgents"


#: Running turns by answer id. Two users can write answers of one id at the same time: copies of a chat keep its ids.
_TOOLS_CACHE: Final[dict[str, list[TurnTools]]] = {}


@contextmanager
def shared_tools(
    turn: TurnTools, metadata: MutableMapping[str, Any], callables: Mapping[str, Mapping[str, Any]]
) -> Iterator[None]:
    """Offer a turn's tools to each other for as long as the context lasts.

    Args:
        turn: goes into `_TOOLS_CACHE`.
        metadata: the pipe's; it gets our keys.
        callables: what can be run; what Open WebUI gives these as `__metadata__` gets our keys, too.
    """
    _TOOLS_CACHE.setdefault(turn.answer_id, []).append(turn)
    reached = [metadata, *_metadata_of(callables)]
    for given in reached:
        given.update({TOOLS_KEY: dict(turn.tools), SPECS_KEY: list(turn.specs), POLICY_KEY: turn.policy})
    try:
        yield
    finally:
        left = [other for other in _TOOLS_CACHE.pop(turn.answer_id, ()) if other is not turn]
        if left:
            _TOOLS_CACHE[turn.answer_id] = left
        for given in reached:
            for key in (TOOLS_KEY, SPECS_KEY, POLICY_KEY):
                given.pop(key, None)


def turn_tools(user_id: str, metadata: Mapping[str, Any] | None) -> tuple[TurnTools | None, Seat]:
    """The turn that a tool was called from, and its seat there; None outside a turn of this user.

    Args:
        user_id: the user that Open WebUI calls the tool for.
        metadata: what the tool got as `__metadata__`.
    """
    given = metadata or {}
    seat = SEAT.get() or Seat(answer_id=str(given.get("message_id") or ""))
    chat_id = str(given.get("chat_id") or "")
    turns = _TOOLS_CACHE.get(seat.answer_id, ())
    found = (turn for turn in turns if user_id and turn.user_id == user_id and turn.chat_id == chat_id)
    return next(found, None), seat


def _metadata_of(callables: Mapping[str, Mapping[str, Any]]) -> Iterator[MutableMapping[str, Any]]:
    """The dicts that the toolkits' functions get as `__metadata__`, each once."""
    seen: set[int] = set()
    for entry in callables.values():
        extra = getattr(entry.get("callable"), "__extra_params__", None)
        metadata = extra.get("__metadata__") if isinstance(extra, Mapping) else None
        if isinstance(metadata, MutableMapping) and id(metadata) not in seen:
            seen.add(id(metadata))
            yield metadata
