"""Tools as people write them; only Open WebUI's own reading of a result is played."""

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from echo_core.ports import ToolOutcome, ToolRequest
from echo_runtime import PipeCall, _owui
from echo_runtime.tool_runner import MAX_RESULT_CHARS, OwuiToolRunner


@pytest.fixture(autouse=True)
def read_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    async def readable(
        request: Any, name: str, result: Any, tool: Mapping[str, Any], metadata: Any, user: Any
    ) -> tuple[str, list[Any], list[Any]]:
        return str(result), [], []

    monkeypatch.setattr(_owui, "readable_result", readable)


async def run(function: Callable[..., Any], timeout_s: float = 5, **args: Any) -> ToolOutcome:
    spec = {"name": "tool", "parameters": {"properties": {"x": {}}}}
    tools = {"tool": {"callable": function, "spec": spec}}
    call = PipeCall(body={}, user={"id": "u"}, metadata={}, valves=SimpleNamespace(), tools=tools)
    runner = OwuiToolRunner(call, timeout_s)
    [outcome] = [o async for o in runner.run([ToolRequest(card_id="c", name="tool", args=args)])]
    return outcome


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def raising(error: BaseException) -> Callable[..., Any]:
    async def tool() -> str:
        raise error

    return tool


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        SystemExit(1),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        Speechless(),
        ValueError("a\ud800b"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_is_an_answer_that_names_it(error: BaseException) -> None:
    outcome = await run(raising(error))
    assert type(error).__name__ in outcome.response["error"]
    outcome.text.encode("utf-8")


async def test_a_tool_that_hangs_is_told_as_such() -> None:
    outcome = await run(lambda: asyncio.Event().wait(), timeout_s=0.01)
    assert "did not answer within" in outcome.response["error"]


async def test_only_declared_arguments_reach_the_tool() -> None:
    async def tool(x: int) -> int:
        return x

    assert (await run(tool, x=3, __user__="forged")).text == "3"


async def test_a_result_with_a_lone_surrogate_becomes_storable_text() -> None:
    async def tool() -> str:
        return "a\ud800b"

    assert (await run(tool)).text == "a\ufffdb"


async def test_a_huge_result_is_cut_and_says_so() -> None:
    async def tool() -> str:
        return "x" * (MAX_RESULT_CHARS + 1000)

    outcome = await run(tool)
    assert len(outcome.text) < MAX_RESULT_CHARS + 200
    assert "1000 more characters" in outcome.text


async def test_stopping_the_turn_stops_its_tools() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def tool() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    turn = asyncio.create_task(run(tool))
    await asyncio.wait_for(started.wait(), 5)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert ended.is_set()
