"""Tells the page what a turn waits for, at a moment when the turn itself has nothing to yield."""

import logging
import math

from echo_constants import Bilingual, EchoError
from echo_core.ports import Clock
from echo_events import NoticeShown, Renderer
from echo_runtime.call import PipeCall

log = logging.getLogger(__name__)

WAITING = Bilingual(en="{what} Trying again in {seconds} s.", fr="{what} Nouvel essai dans {seconds} s.")
WAITED = Bilingual(en="Waited {seconds} s for Gemini.", fr="Attente de Gemini : {seconds} s.")


class WaitNotices:
    """The status line of one turn's waits; other callers than the page see none.

    Args:
        call: where the page is, and its language.
        clock: measures the waits.
    """

    def __init__(self, call: PipeCall, clock: Clock) -> None:
        self._call = call
        self._clock = clock
        self._since_s: float | None = None

    async def waiting(self, wait_s: float, error: EchoError) -> None:
        """As `echo_core.ports.OnWait`."""
        log.info("waiting %.1f s before the next attempt: %s", wait_s, error)
        if self._since_s is None:
            self._since_s = self._clock.monotonic_s()
            self._call.shared.waits = True
            self._call.shared.waits_begun += 1
        what = error.message.render(self._call.locale, **error.fields)
        text = WAITING.render(self._call.locale, what=what, seconds=math.ceil(wait_s))
        await show_now(self._call, NoticeShown(text, "warning", done=False))

    async def over(self) -> None:
        """The answer comes, or the turn has ended; the line is left in its final form."""
        since_s, self._since_s = self._since_s, None
        if since_s is not None:
            self._call.shared.waits = False
            waited_s = math.ceil(self._clock.monotonic_s() - since_s)
            await show_now(self._call, NoticeShown(WAITED.render(self._call.locale, seconds=waited_s)))


async def show_now(call: PipeCall, notice: NoticeShown) -> None:
    """Show a status line at a moment when the turn has nothing to yield; other callers than the page see none."""
    emit = call.event_emitter
    if emit is None or not call.speaks_responses:
        return
    try:
        for event in Renderer.emitted(notice):
            await emit(event)
    except Exception:  # a status line that cannot be shown must not end the turn
        log.exception("the page could not be told what the turn waits for")
