"""Keeps a silent turn alive through proxies that cut idle connections, and tells the page that it goes on.

An API caller's stream gets comment lines, which SSE readers pass over. The page reads events from its own socket,
so there the beat is an event: one that Open WebUI's page does not know and therefore only the socket notices, and,
ever more rarely, a line of status. Upstream, towards Gemini, `echo_http` pings on its own.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Final

from echo_constants import Bilingual
from echo_core.ports import Clock
from echo_events import NoticeShown, Renderer, SignGiven, TurnEvent
from echo_runtime.call import PipeCall
from echo_runtime.turn_context import Heartbeat

log = logging.getLogger(__name__)

#: A comment, which every SSE reader skips. Source: WHATWG HTML, server-sent events.
COMMENT: Final = b": alive\n\n"

STILL_WORKING = Bilingual(en="Still working ({seconds} s)", fr="Toujours en cours ({seconds} s)")


def kept_alive(source: AsyncGenerator[bytes, None], call: PipeCall, clock: Clock) -> AsyncGenerator[bytes, None]:
    """The same SSE events, with signs of life where `source` is silent for longer than the turn's heartbeat allows.

    Args:
        source: whole SSE events; it is run in one task from its start to its end.
        call: who listens, and the heartbeat in its shared context.
        clock: measures the silence.
    """
    beat = call.shared.heartbeat
    if beat is None:
        return source
    return _for_page(source, call, beat, clock) if call.speaks_responses else _for_api(source, beat.interval_s)


async def _for_api(source: AsyncGenerator[bytes, None], interval_s: float) -> AsyncGenerator[bytes, None]:
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1)
    pump = asyncio.create_task(_pump(source, queue))
    try:
        while True:
            try:
                async with asyncio.timeout(interval_s):
                    item = await queue.get()
            except TimeoutError:
                if pump.done() and queue.empty():
                    break
                yield COMMENT
                continue
            if item is None:
                break
            yield item
    finally:
        await _end(pump)


async def _pump(source: AsyncGenerator[bytes, None], queue: asyncio.Queue[bytes | None]) -> None:
    async with aclosing(source):
        async for item in source:
            await queue.put(item)
    await queue.put(None)


async def _for_page(
    source: AsyncGenerator[bytes, None], call: PipeCall, beat: Heartbeat, clock: Clock
) -> AsyncGenerator[bytes, None]:
    watch = _Watch(call, beat, clock)
    beating = asyncio.create_task(watch.run())
    try:
        async with aclosing(source):
            async for item in source:
                await watch.heard()
                yield item
    finally:
        await _end(beating)


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


class _Watch:
    """Beats while nothing is heard.

    A line of status appears after one interval, and again each time the silence has doubled, because Open WebUI keeps
    every line with the message.
    """

    def __init__(self, call: PipeCall, beat: Heartbeat, clock: Clock) -> None:
        self._call = call
        self._beat = beat
        self._clock = clock
        self._heard_s = clock.monotonic_s()
        self._told_s = 0.0
        self._waits_before = 0

    async def run(self) -> None:
        while True:
            await self._clock.sleep(self._beat.interval_s)
            silent_s = self._clock.monotonic_s() - self._heard_s
            if silent_s < self._beat.interval_s:
                continue
            await self._emit(SignGiven())
            if self._beat.shows_status and not self._call.shared.waits and silent_s >= 2 * self._told_s:
                self._told_s = silent_s
                self._waits_before = self._call.shared.waits_begun
                await self._emit(self._status(done=False))

    async def heard(self) -> None:
        """Something came; a line that says the turn still works has had its time.

        Where a wait was told after it, that line has taken its place.
        """
        self._heard_s = self._clock.monotonic_s()
        if self._told_s:
            told = self._status(done=True)
            self._told_s = 0.0
            if self._waits_before == self._call.shared.waits_begun:
                await self._emit(told)

    def _status(self, *, done: bool) -> NoticeShown:
        text = STILL_WORKING.render(self._call.locale, seconds=round(self._told_s))
        return NoticeShown(text, done=done, hidden=done)

    async def _emit(self, event: TurnEvent) -> None:
        if self._call.event_emitter is None:
            return
        try:
            for wire in Renderer.emitted(event):
                await self._call.event_emitter(wire)
        except Exception:  # a sign of life that cannot be given must not end the turn
            log.exception("the page could not be told that the turn goes on")
