"""The HUD in a real page: where it is, what it says, and that it covers nothing."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from live import answers
from live.client import Client
from live.page import ChatPage
from live.stack import Live

WINDOW = 1_000_000
BAR = "#echo-hud"
PHONE = {"width": 360, "height": 740}

OpenAs = Callable[..., ChatPage]


@pytest.fixture(autouse=True)
def _window(live: Live) -> Iterator[None]:
    with live.valves(ECHO_MAX_CONTEXT_SIZE=WINDOW, MODEL_SELECTION="FLASH"):
        yield


@pytest.fixture
def page_of(live: Live, browser: Browser) -> Iterator[OpenAs]:
    """Opens a tab of somebody, in a size and theme."""
    opened: list[ChatPage] = []

    def open_as(client: Client, *, theme: str = "light", **size: int) -> ChatPage:
        page = ChatPage(browser, live.url, language=client.language, **size)
        opened.append(page)
        page.context.add_init_script(f"localStorage.setItem('theme', '{theme}')")
        page.enter(client)
        return page

    yield open_as
    for page in opened:
        page.assert_clean_console()
        page.context.close()


def filled(share: float) -> answers.Entry:
    """An answer after which the context is that full."""
    prompt = int(share * WINDOW) - 1_000
    return answers.counted("The context grows.", prompt=prompt, cached=prompt // 2, answered=1_000)


def chat_at(live: Live, client: Client, share: float) -> str:
    live.sim.script(filled(share))
    return client.turn("How full are we?").chat_id


def gauge(page: ChatPage) -> Locator:
    return page.page.locator(f"{BAR} button.gauge")


def test_nothing_at_the_sign_in_page_and_for_other_models(live: Live, browser: Browser) -> None:
    page = ChatPage(browser, live.url)
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.goto("/auth")
    expect(page.page.locator("input[type=email]")).to_be_visible()
    assert any("/static/loader.js" in url for url in asked)
    assert [url for url in asked if "/echo/" in url] == []
    expect(page.page.locator(BAR)).to_have_count(0)
    page.context.close()


def test_nobody_reads_somebody_elses_figures(live: Live, ada: Client, lea: Client) -> None:
    chat_id = chat_at(live, ada, 0.2)
    own = ada.get("/echo/api/hud", model="ECHO", chat_id=chat_id)
    assert own["gauge"]["fill_tokens"] == 200_000
    for reader in (lea, live.admin):
        foreign = reader.get("/echo/api/hud", model="ECHO", chat_id=chat_id)
        assert foreign == reader.get("/echo/api/hud", model="ECHO", chat_id="nobody")
        assert foreign["gauge"] is None
    for chat in ("../../identity", "temporary:someone", "\0", chat_id + "/.."):
        assert lea.get("/echo/api/hud", chat_id=chat)["gauge"] is None
    assert lea.get("/echo/api/hud", model="Somebody else")["is_echo"] is False


def test_the_gauge_follows_a_chat_from_its_first_answer_on(live: Live, ada: Client, page_of: OpenAs) -> None:
    page = page_of(ada)
    page.new_chat()
    expect(gauge(page)).to_have_text("Context empty")
    live.sim.script(filled(0.1))
    page.ask("How full are we?")
    expect(gauge(page)).to_contain_text("10%")
    expect(gauge(page)).to_have_accessible_name("Context 10% full: 100,000 of 1,000,000 tokens. FLASH. Show details")
    page.shot("hud-10")
    live.sim.script(filled(0.45))
    page.ask("And now?")
    expect(gauge(page)).to_contain_text("45%")
    page.shot("hud-45")
    live.sim.script(filled(0.9))
    page.ask("And now at last?")
    expect(gauge(page)).to_contain_text("Context almost full")
    page.shot("hud-90")
    page.reload()
    expect(gauge(page)).to_contain_text("90%")
    gauge(page).click()
    expect(page.page.get_by_role("dialog", name="Context")).to_contain_text("FLASH is chosen in the settings.")
    page.shot("hud-panel")
