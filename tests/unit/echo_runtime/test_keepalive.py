import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from echo_events.render_responses import BEAT
from echo_runtime import PipeCall
from echo_runtime.keepalive import COMMENT, kept_alive
from echo_runtime.turn_context import Heartbeat, TurnContext
from scripted import FakeClock

PAGE = {"chat_id": "c", "message_id": "m", "session_id": "s"}
INTERVAL_S = 0.01


class SteppedClock(FakeClock):
    """A clock on which everybody sleeps until the test lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self._ticks: asyncio.Queue[float] = asyncio.Queue()

    async def sleep(self, delay_s: float) -> None:
        self.at_s += await self._ticks.get()

    async def passes(self, delay_s: float) -> None:
        """Let one sleeper sleep that long, and everybody react."""
        self._ticks.put_nowait(delay_s)
        for _ in range(5):
            await asyncio.sleep(0)


class Source:
    """Events that come when the test says so; remembers how it was left."""

    def __init__(self) -> None:
        self.next: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.left: type[BaseException] | None = None

    async def events(self) -> AsyncGenerator[bytes, None]:
        try:
            while (item := await self.next.get()) is not None:
                yield item
        except BaseException as error:
            self.left = type(error)
            raise


def call_with(heartbeat: Heartbeat | None, told: list[dict[str, Any]] | None = None, **metadata: Any) -> PipeCall:
    async def emit(event: dict[str, Any]) -> None:
        assert told is not None
        told.append(event)

    metadata = {**metadata, "_echo": TurnContext(heartbeat=heartbeat)}
    return PipeCall(body={}, user={}, metadata=metadata, valves=None, tools={}, event_emitter=emit)


async def test_without_a_heartbeat_the_events_are_left_alone() -> None:
    source = Source().events()
    assert kept_alive(source, call_with(None), FakeClock()) is source


async def test_an_api_caller_gets_comments_while_nothing_comes_and_every_event_in_order() -> None:
    source = Source()
    stream = kept_alive(source.events(), call_with(Heartbeat(INTERVAL_S)), FakeClock())
    assert [await anext(stream) for _ in range(3)] == [COMMENT] * 3
    for item in (b"1", b"2", b"3", None):
        source.next.put_nowait(item)
    assert [item async for item in stream if item != COMMENT] == [b"1", b"2", b"3"]


async def test_an_api_caller_that_leaves_ends_the_turn() -> None:
    source = Source()
    stream = kept_alive(source.events(), call_with(Heartbeat(INTERVAL_S)), FakeClock())
    assert await anext(stream) == COMMENT
    await stream.aclose()
    assert source.left is asyncio.CancelledError


async def test_what_breaks_the_turn_reaches_the_api_caller() -> None:
    async def broken() -> AsyncGenerator[bytes, None]:
        yield b"1"
        raise RuntimeError("broken")

    stream = kept_alive(broken(), call_with(Heartbeat(INTERVAL_S)), FakeClock())
    assert await anext(stream) == b"1"
    with pytest.raises(RuntimeError, match="broken"):
        async for item in stream:
            assert item == COMMENT


async def test_the_page_is_told_at_growing_distances_and_the_line_goes_when_something_comes() -> None:
    told: list[dict[str, Any]] = []
    clock, source = SteppedClock(), Source()
    stream = kept_alive(source.events(), call_with(Heartbeat(5), told, **PAGE), clock)
    first = asyncio.create_task(anext(stream))
    for _ in range(8):
        await clock.passes(5)
    assert told.count(BEAT) == 8
    lines = [event["data"] for event in told if event["type"] == "status"]
    assert [line["description"] for line in lines] == [f"Still working ({s} s)" for s in (5, 10, 20, 40)]
    source.next.put_nowait(b"1")
    assert await first == b"1"
    assert told[-1]["data"] == {"description": "Still working (40 s)", "done": True, "hidden": True}
    source.next.put_nowait(None)
    assert [item async for item in stream] == []


async def test_a_line_that_says_what_is_waited_for_is_not_written_over() -> None:
    told: list[dict[str, Any]] = []
    clock, source = SteppedClock(), Source()
    call = call_with(Heartbeat(5), told, **PAGE)
    call.shared.waits = True
    stream = kept_alive(source.events(), call, clock)
    first = asyncio.create_task(anext(stream))
    await clock.passes(5)
    assert told == [BEAT]
    source.next.put_nowait(b"1")
    await first
    await stream.aclose()


async def test_a_line_whose_place_was_taken_is_not_ended() -> None:
    told: list[dict[str, Any]] = []
    clock, source = SteppedClock(), Source()
    call = call_with(Heartbeat(5), told, **PAGE)
    stream = kept_alive(source.events(), call, clock)
    first = asyncio.create_task(anext(stream))
    await clock.passes(5)
    call.shared.waits_begun += 1
    source.next.put_nowait(b"1")
    await first
    assert [event["data"]["done"] for event in told if event["type"] == "status"] == [False]
    await stream.aclose()


async def test_a_page_that_cannot_be_told_gets_its_answer_all_the_same() -> None:
    clock, source = SteppedClock(), Source()
    metadata = {**PAGE, "_echo": TurnContext(heartbeat=Heartbeat(5))}

    async def emit(event: dict[str, Any]) -> None:
        raise ConnectionError

    call = PipeCall(body={}, user={}, metadata=metadata, valves=None, tools={}, event_emitter=emit)
    stream = kept_alive(source.events(), call, clock)
    first = asyncio.create_task(anext(stream))
    await clock.passes(5)
    source.next.put_nowait(b"1")
    assert await first == b"1"
    await stream.aclose()
