"""Fixtures for tests on a real Open WebUI.

`live` is one stack for the whole run: make users and chats of your own, and leave settings as you found them.
`chat_page` is a tab of a new user; `open_page` makes more tabs.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from echo_cli._functions import FUNCTIONS_ROOT
from echo_cli._model_record import ECHO_MODEL_ID, EVERYBODY_READS
from live.client import Client
from live.page import ChatPage, chromium
from live.stack import Live

MINIMAL = Path(__file__).parent / "minimal"


#: Open WebUI boots in 9 s on two idle cores and in more than a minute on busy ones (measured).
LIMIT_S = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes its time and boots something large, so that nobody forgets, and let the browser come last."""
    items.sort(key=_place)
    for item in items:
        if _place(item) == 0:
            continue
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT_S))
        item.add_marker("owui")
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def _place(item: pytest.Item) -> int:
    """0 for what is not live, 2 for what shares the browser, 1 for the rest.

    Playwright's loop runs from the first test with that browser on: neither an async test nor `asyncio.run` may follow
    in that process. The folder `keys` has a browser of its own, which ends with its file.
    """
    here = Path(__file__).parent
    if not item.path.is_relative_to(here):
        return 0
    shares = "browser" in getattr(item, "fixturenames", ()) and item.path.parent != here / "keys"
    return 2 if shares else 1


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Open WebUI with ECHO on the simulator, pinned to FLASH: one request a question, and always the same model.

    What users say is neither read for memory, which would be a request of its own after a silence, nor indexed, which
    takes a tenth of a second of a processor a message; tests of these switch them on.
    """
    stack = Live(tmp_path_factory.mktemp("live"), functions_root=FUNCTIONS_ROOT)
    stack.start()
    quiet = stack.valves("conversation_rag_filter", MEMORY_READING="off", INDEX_CHATS=False)
    with stack.valves(MODEL_SELECTION="FLASH"), quiet:
        yield stack
    stack.stop()


@pytest.fixture
def sim_reset(live: Live) -> None:
    """The simulator starts this test empty."""
    live.sim.reset()


@pytest.fixture(scope="session")
def ada(live: Live) -> Client:
    """A plain user who speaks English. Shared, because an account costs seconds: make chats of your own."""
    return live.new_user("Ada")


@pytest.fixture(scope="session")
def lea(live: Live) -> Client:
    """A plain user who speaks French; shared like `ada`."""
    return live.new_user("Léa", language="fr-FR")


@pytest.fixture(scope="session")
def toolkit(live: Live) -> str:
    """The id of a toolkit that everybody may use; `toolkit.py` has its tools."""
    source = (Path(__file__).parent / "toolkit.py").read_text(encoding="utf-8")
    form = {"id": "live_test_tools", "name": "Live test tools", "content": source, "meta": {"description": ""}}
    live.admin.post("/api/v1/tools/create", {**form, "access_grants": [EVERYBODY_READS]})
    return "live_test_tools"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium for all live tests, none of which may be async: Playwright's loop runs."""
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(live: Live, browser: Browser) -> Iterator[Callable[[Client], ChatPage]]:
    """Makes a tab in which a client is signed in, in the client's language."""
    opened: list[ChatPage] = []

    def open_as(client: Client) -> ChatPage:
        page = ChatPage(browser, live.url, language=client.language)
        opened.append(page)
        page.enter(client)
        return page

    yield open_as
    for page in opened:
        page.context.close()


@pytest.fixture
def chat_page(live: Live, browser: Browser) -> Iterator[ChatPage]:
    """A tab of a new English-speaking user, on an empty chat with ECHO."""
    page = ChatPage(browser, live.url)
    page.enter(live.new_user(), f"/?models={ECHO_MODEL_ID}")
    yield page
    page.context.close()
