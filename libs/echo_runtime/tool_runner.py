"""Runs Open WebUI's tools: in parallel, each with a time limit, a failure being an answer that the model can read."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from echo_core.ports import ToolOutcome, ToolRequest
from echo_protocol import wrap_tool_output
from echo_runtime import _owui
from echo_runtime.call import PipeCall
from echo_utils import dumps

log = logging.getLogger(__name__)


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
        except Exception as error:  # whatever a tool throws goes to the model, and to the log
            log.warning("tool %s failed: %s", request.name, type(error).__name__, exc_info=error)
            return _failed(request, f"{type(error).__name__}: {error}")
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


def _failed(request: ToolRequest, reason: str) -> ToolOutcome:
    text = dumps({"error": reason}).decode()
    return ToolOutcome(card_id=request.card_id, response={"error": reason}, text=text)
