from typing import Any

import pytest

from echo_constants import EchoError, UpstreamError
from echo_runtime import PipeCall
from echo_runtime.waiting import WaitNotices
from scripted import FakeClock

PAGE = {"chat_id": "c", "message_id": "m", "session_id": "s"}


class Page:
    """What the page is told."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.told: list[tuple[str, bool]] = []
        self._failure = failure

    async def emit(self, event: dict[str, Any]) -> None:
        if self._failure:
            raise self._failure
        assert event["type"] == "status"
        self.told.append((event["data"]["description"], event["data"]["done"]))


def call_from(page: Page, language: str = "en-US", **metadata: Any) -> PipeCall:
    return PipeCall(
        body={},
        user={"id": "u"},
        metadata={"variables": {"{{USER_LANGUAGE}}": language}, **(metadata or PAGE)},
        valves=None,
        tools={},
        event_emitter=page.emit,
    )


async def test_a_wait_is_told_and_its_end_too() -> None:
    page, clock = Page(), FakeClock()
    notices = WaitNotices(call_from(page), clock)
    await notices.waiting(1.2, UpstreamError())
    clock.at_s += 1.2
    await notices.waiting(7.5, EchoError())
    clock.at_s += 7.5
    await notices.over()
    await notices.over()
    assert page.told == [
        ("Gemini is not answering right now. Trying again in 2 s.", False),
        ("Something broke in ECHO. Trying again in 8 s.", False),
        ("Waited 9 s for Gemini.", True),
    ]


async def test_a_french_reader_is_told_in_french() -> None:
    page = Page()
    notices = WaitNotices(call_from(page, "fr-CA"), FakeClock())
    await notices.waiting(8.0, UpstreamError())
    assert page.told == [("Gemini ne répond pas pour le moment. Nouvel essai dans 8 s.", False)]


async def test_nobody_is_told_without_a_wait_or_without_a_page() -> None:
    page = Page()
    await WaitNotices(call_from(page), FakeClock()).over()
    api = WaitNotices(call_from(page, chat_id=""), FakeClock())
    await api.waiting(3.0, UpstreamError())
    await api.over()
    assert page.told == []


async def test_a_page_that_cannot_be_told_does_not_end_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    notices = WaitNotices(call_from(Page(ConnectionError("gone"))), FakeClock())
    await notices.waiting(3.0, UpstreamError())
    await notices.over()
    assert "could not be told" in caplog.text
