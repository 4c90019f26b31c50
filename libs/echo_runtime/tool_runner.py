"""Runs the tools of one answer: in parallel, each with a time limit, a failure being an answer the model can read."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from echo_core.ports import ToolOutcome, ToolRequest
from echo_protocol import wrap_tool_output
from echo_runtime.call import PipeCall
from echo_runtime.own_tools import is_own
from echo_runtime.tool_approval import ToolApproval
from echo_runtime.tool_results import ResultReader, limit_of
from echo_utils import dumps, well_formed

log = logging.getLogger(__name__)

#: How long a tool that was cancelled may take to clean up. Source: our choice.
GRACE_S: Final = 2.0
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
        timeout_s: after this many seconds a call counts as failed; waiting for the user's permission does not count.
    """

    def __init__(
        self, call: PipeCall, tools: Mapping[str, Mapping[str, Any]], results: ResultReader, timeout_s: float
    ) -> None:
        self._call = call
        self._tools = tools
        self._results = results
        self._approval = ToolApproval(call)
        self._timeout_s = timeout_s

    async def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome]:
        """Outcomes as they come; leaving early cancels what still runs."""
        limit_chars = limit_of(len(requests))
        tasks = [asyncio.create_task(self._one(request, limit_chars)) for request in requests]
        try:
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, request: ToolRequest, limit_chars: int) -> ToolOutcome:
        tool = self._tools.get(request.name)
        if tool is None:
            return _failed(request, f"There is no tool named {request.name}.")
        try:
            objection = None if is_own(tool) else await self._approval.objection(request)
            if objection is not None:
                return _failed(request, objection)
            raw = await _within(self._timeout_s, _caught(self._invoke(tool, request.args)))
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


async def _within(limit_s: float, running: Coroutine[Any, Any, Any]) -> Any:
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
