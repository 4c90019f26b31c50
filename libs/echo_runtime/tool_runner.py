"""Runs Open WebUI's tools: in parallel, each with a time limit, a failure being an answer that the model can read."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from echo_core.ports import ToolOutcome, ToolRequest
from echo_protocol import wrap_tool_output
from echo_runtime import _owui
from echo_runtime.call import PipeCall
from echo_utils import dumps, well_formed

log = logging.getLogger(__name__)

#: About 60,000 tokens: one result may not fill the window. Source: our choice; the window has 1,048,576 tokens.
MAX_RESULT_CHARS: Final = 240_000


class OwuiToolRunner:
    """The ToolRunner over `__tools__` of one call.

    Args:
        call: where the tools and the user's rights come from.
        timeout_s: after this many seconds a call counts as failed.
    """

    def __init__(self, call: PipeCall, timeout_s: float) -> None:
        self._call = call
        self._timeout_s = timeout_s

    async def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome]:
        """Outcomes as they come; leaving early cancels what still runs."""
        tasks = [asyncio.create_task(self._one(request)) for request in requests]
        try:
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, request: ToolRequest) -> ToolOutcome:
        tool = self._call.tools.get(request.name)
        if tool is None:
            return _failed(request, f"There is no tool named {request.name}.")
        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await self._invoke(tool, request.args)
                text, files, embeds = await _owui.readable_result(
                    self._call.request, request.name, raw, tool, self._call.metadata, self._call.user
                )
        except TimeoutError:
            return _failed(request, f"The tool did not answer within {self._timeout_s:g} seconds.")
        except BaseException as error:  # whatever a tool throws goes to the model; sys.exit() must not end the server
            if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and _we_are_cancelled()):
                raise
            log.warning("tool %s failed: %s", request.name, type(error).__name__, exc_info=error)
            return _failed(request, f"{type(error).__name__}: {_words_of(error)}")
        text = _fitting(well_formed(text))
        return ToolOutcome(
            card_id=request.card_id,
            response=wrap_tool_output(text),
            text=text,
            files=tuple(files),
            embeds=tuple(embeds),
        )

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


def _accepted(tool: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Only the arguments that the tool declares; MCP servers judge theirs themselves."""
    if tool.get("type") == "mcp":
        return dict(args)
    declared = tool["spec"].get("parameters", {}).get("properties", {})
    return {name: value for name, value in args.items() if name in declared}


def _we_are_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(it could not even say why)"


def _fitting(text: str) -> str:
    """A result that leaves room for the conversation; what is cut off is said."""
    left_out = len(text) - MAX_RESULT_CHARS
    if left_out <= 0:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n\n[The tool returned {left_out} more characters, which are left out here.]"


def _failed(request: ToolRequest, reason: str) -> ToolOutcome:
    reason = well_formed(reason)
    text = dumps({"error": reason}).decode()
    return ToolOutcome(card_id=request.card_id, response={"error": reason}, text=text)
