"""Runs the tools of one answer: in parallel, each with a time limit, a failure being an answer the model can read."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from echo_core.ports import ToolOutcome, ToolProgress, ToolRequest
from echo_protocol import wrap_tool_output
from echo_runtime.call import PipeCall
from echo_runtime.own_tools import is_own
from echo_runtime.tool_approval import ToolApproval
from echo_runtime.tool_results import ResultReader, limit_of
from echo_runtime.tools_cache import SEAT, Seat
from echo_utils import dumps, well_formed

log = logging.getLogger(__name__)

#: How long a tool that was cancelled may take to clean up. Source: our choice.
GRACE_S: Final = 2.0
#: Open WebUI's question to the user, which is a permission to go on rather than something that needs one.
ASK_USER: Final = "builtin:ask_user"
#: Tools that keep a time limit of their own. Source: open_webui/tools/builtin.py, `ask_user`, 0.12.4: 240 s at most.
_SELF_BOUNDED: Final = ("echo_subagent", ASK_USER)
#: An error text is a hint, not a result. Source: our choice.
_MAX_REASON_CHARS: Final = 8_000


@dataclass(frozen=True, slots=True)
class _Thrown:
    """What a tool raised; kept as a value, because SystemExit out of a task would end the server."""

    error: BaseException


class OwuiToolRunner:
    """The ToolRunner over the tools of one call.

    Args:
        call: the browser that direct tools run in.
        tools: what may be run, by Open WebUI's name: entries of `__tools__` and ECHO's own.
        results: reads what they return.
        timeout_s: after this many seconds a call counts as failed; waiting for the user's permission does not count,
            and sub-agents and questions to the user have limits of their own.
        answer_id: the answer whose tools these are.
        depth: how many sub-agents are around the calls.
        approval: asks the user; None makes one for this runner alone.
    """

    def __init__(
        self,
        call: PipeCall,
        tools: Mapping[str, Mapping[str, Any]],
        results: ResultReader,
        timeout_s: float,
        *,
        answer_id: str = "",
        depth: int = 0,
        approval: ToolApproval | None = None,
    ) -> None:
        self._call = call
        self._tools = tools
        self._results = results
        self._approval = approval or ToolApproval(call)
        self._timeout_s = timeout_s
        self._answer_id = answer_id
        self._depth = depth

    async def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome | ToolProgress]:
        """Outcomes and progress as they come; leaving early cancels what still runs."""
        limit_chars = limit_of(len(requests))
        told: asyncio.Queue[ToolProgress | asyncio.Task[ToolOutcome]] = asyncio.Queue()
        tasks = [asyncio.create_task(self._seated(request, limit_chars, told.put_nowait)) for request in requests]
        for task in tasks:
            task.add_done_callback(told.put_nowait)
        left = len(tasks)
        try:
            while left:
                news = await told.get()
                left -= isinstance(news, asyncio.Task)
                yield news.result() if isinstance(news, asyncio.Task) else news
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _seated(
        self, request: ToolRequest, limit_chars: int, told: Callable[[ToolProgress], None]
    ) -> ToolOutcome:
        """Run one call from a seat of its own, by which a tool of ECHO's finds the turn around it."""

        def tell(doing: str, steps: Sequence[str]) -> None:
            told(ToolProgress(card_id=request.card_id, doing=doing, steps=tuple(steps)))

        seat = Seat(answer_id=self._answer_id, card_id=request.card_id, depth=self._depth, tell=tell)
        SEAT.set(seat)
        outcome = await self._one(request, limit_chars)
        if not seat.sources and not seat.files:
            return outcome
        return replace(outcome, sources=(*outcome.sources, *seat.sources), files=(*outcome.files, *seat.files))

    async def _one(self, request: ToolRequest, limit_chars: int) -> ToolOutcome:
        tool = self._tools.get(request.name)
        if tool is None:
            return _failed(request, f"There is no tool named {request.name}.")
        try:
            free = is_own(tool) or tool.get("tool_id") == ASK_USER
            objection = None if free else await self._approval.objection(request)
            if objection is not None:
                return _failed(request, objection)
            if missing := _missing(tool, request.args):
                return _failed(request, f"The call lacks {', '.join(missing)}. Call it again with all that it needs.")
            limit_s = None if tool.get("tool_id") in _SELF_BOUNDED else self._timeout_s
            raw = await _within(limit_s, _caught(self._invoke(tool, request.args)))
            if isinstance(raw, _Thrown):
                return _thrown(request, raw.error)
            if is_own(tool):
                return ToolOutcome(card_id=request.card_id, response=wrap_tool_output(raw), text=raw)
            return await self._results.read(request, tool, raw, limit_chars)
        except TimeoutError:
            return _failed(request, f"The tool did not answer within {self._timeout_s:g} seconds.")
        except Exception as error:  # a result that cannot be read, a permission that cannot be asked for
            return _thrown(request, error)

    async def _invoke(self, tool: Mapping[str, Any], args: Mapping[str, Any]) -> Any:
        if tool.get("direct"):
            return await self._invoke_in_browser(tool, args)
        result = tool["callable"](**_accepted(tool, args))
        return await result if inspect.isawaitable(result) else result

    async def _invoke_in_browser(self, tool: Mapping[str, Any], args: Mapping[str, Any]) -> Any:
        if self._call.event_call is None or not self._call.speaks_responses:
            raise RuntimeError("this tool runs in the browser, and no browser is connected")
        spec = tool["spec"]
        data = {
            "id": spec.get("name", ""),
            "name": spec.get("name", ""),
            "params": dict(args),
            "server": tool.get("server", {}),
            "session_id": self._call.metadata.get("session_id"),
        }
        return await self._call.event_call({"type": "execute:tool", "data": data})


async def _caught(running: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await running
    except BaseException as error:  # whatever a tool throws goes to the model; sys.exit() must not end the server
        if isinstance(error, GeneratorExit):
            raise
        return _Thrown(error)


async def _within(limit_s: float | None, running: Coroutine[Any, Any, Any]) -> Any:
    """The result of a tool that may swallow its cancellation: after a grace it is left to itself.

    Raises:
        TimeoutError: the limit is over.
    """
    task = asyncio.create_task(running)
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_S)
    if not done:
        raise TimeoutError
    return task.result()


def _accepted(tool: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Only the arguments that the tool declares; MCP servers judge theirs themselves."""
    if tool.get("type") == "mcp":
        return dict(args)
    declared = (tool["spec"].get("parameters") or {}).get("properties") or {}
    return {name: value for name, value in args.items() if name in declared}


def _missing(tool: Mapping[str, Any], args: Mapping[str, Any]) -> list[str]:
    """Arguments that a tool needs and was not given; MCP servers judge theirs themselves."""
    required = () if tool.get("type") == "mcp" else (tool["spec"].get("parameters") or {}).get("required") or ()
    return [str(name) for name in required if name not in args]


def _thrown(request: ToolRequest, error: BaseException) -> ToolOutcome:
    log.warning("tool %s failed: %s", request.name, type(error).__name__, exc_info=error)
    return _failed(request, f"{type(error).__name__}: {_words_of(error)}")


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(it could not even say why)"


def _failed(request: ToolRequest, reason: str) -> ToolOutcome:
    reason = well_formed(reason)[:_MAX_REASON_CHARS]
    text = dumps({"error": reason}).decode()
    return ToolOutcome(card_id=request.card_id, response={"error": reason}, text=text)
