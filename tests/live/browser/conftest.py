"""One tab a person for all tests; a tab costs seconds, so tests share it.

Each test begins with `next_chat` or `new_chat` and leaves no dialog open.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from live.client import Client
from live.page import ChatPage
from live.stack import Live


def tab_of(browser: Browser, live: Live, client: Client) -> Iterator[ChatPage]:
    page = ChatPage(browser, live.url, language=client.language)
    page.enter(client)
    yield page
    page.context.close()


@pytest.fixture(scope="session")
def ada_page(live: Live, browser: Browser, ada: Client) -> Iterator[ChatPage]:
    """Ada's tab, in English."""
    yield from tab_of(browser, live, ada)


@pytest.fixture(scope="session")
def lea_page(live: Live, browser: Browser, lea: Client) -> Iterator[ChatPage]:
    """Léa's tab, in French."""
    yield from tab_of(browser, live, lea)


@pytest.fixture(autouse=True)
def _fresh(live: Live) -> None:
    """The simulator starts each test empty."""
    live.sim.reset()
