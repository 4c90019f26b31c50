"""A real Chromium on Open WebUI's page. All waits are for something in the page, never for time."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

from echo_cli._model_record import ECHO_MODEL_ID
from live.client import Client

SCREENSHOTS = Path(__file__).resolve().parents[2] / ".cache" / "screenshots"
WAIT_MS = 30_000

#: root needs --no-sandbox; /dev/shm is small in containers; WebGPU needs its flag in headless Debian builds.
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--enable-unsafe-webgpu")


def chromium_path() -> str:
    """The Chromium to drive: CHROMIUM_PATH, or what is on PATH; fails the test when there is none."""
    names = (os.environ.get("CHROMIUM_PATH"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("no Chromium: set CHROMIUM_PATH or run scripts/chromium.sh")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium; Playwright's driver ends with it, because its loop would block async tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


#: One answer in the page; `.regenerate-response-button` is there in the last one once it is complete. None of these
#: depends on the language. Source: the page of Open WebUI 0.12.4.
ASSISTANT = "[id^='message-']:has(.chat-assistant)"
USER = "[id^='message-']:has(.chat-user)"
COMPLETE = ".regenerate-response-button"
STOP = "button[aria-label='Stop']"

#: Keeps the texts of the last element that fits, whenever anything in the page changes.
_WATCH = """selector => {
    const texts = window.__watched = [];
    const look = () => {
        const text = [...document.querySelectorAll(selector)].at(-1)?.innerText ?? "";
        if (text !== texts.at(-1)) texts.push(text);
    };
    new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true});
}"""

#: Console lines of Open WebUI's own page that say nothing about us.
_KNOWN_NOISE = re.compile(r"No token found in localStorage|ResizeObserver loop")


class ChatPage:
    """One tab of one person.

    Args:
        language: of the browser, e.g. `fr-FR`.

    Attributes:
        page: Playwright's page, for what this class does not offer.
        console: console errors and uncaught exceptions so far.
    """

    def __init__(
        self, browser: Browser, url: str, *, language: str = "en-US", width: int = 1280, height: int = 900
    ) -> None:
        self.url = url
        self.language = language
        self.context: BrowserContext = browser.new_context(
            locale=language, viewport={"width": width, "height": height}, base_url=url
        )
        self.context.set_default_timeout(WAIT_MS)
        self.console: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.console.append(f"uncaught: {error}"))
        self._expected_answers = 0

    def login(self, email: str, password: str) -> None:
        """Sign in by the form."""
        self._remember(locale=self.language)
        self.page.goto("/auth")
        self.page.fill("input[type=email]", email)
        self.page.fill("input[type=password]", password)
        self.page.click("button[type=submit]")
        self._ready()

    def enter(self, client: Client, path: str = "/") -> None:
        """Be signed in as the client is, without the form."""
        self._remember(locale=self.language, token=client.token or "")
        self.page.goto(path)
        self._ready()

    def new_chat(self, model: str = ECHO_MODEL_ID, *, temporary: bool = False) -> None:
        """An empty chat with one model."""
        self.page.goto(f"/?models={model}" + ("&temporary-chat=true" if temporary else ""))
        self._ready()
        self._expected_answers = 0

    def next_chat(self) -> None:
        """An empty chat with the model that is chosen, without loading the page again."""
        self.page.keyboard.press("Control+Shift+O")
        expect(self.page.locator(ASSISTANT)).to_have_count(0, timeout=WAIT_MS)
        self._ready()
        self._expected_answers = 0

    def open_chat(self, chat_id: str) -> None:
        """A chat that exists, with all its messages drawn."""
        self.page.goto(f"/c/{chat_id}")
        self._ready()
        expect(self.page.locator(ASSISTANT).last).to_be_visible(timeout=WAIT_MS)
        self._expected_answers = self.page.locator(ASSISTANT).count()

    def reload(self) -> None:
        """Load the page again."""
        self.page.reload()
        self._ready()

    def send(self, text: str) -> None:
        """Type a message and send it."""
        box = self.page.locator("#chat-input")
        box.click()
        self.page.keyboard.insert_text(text)
        expect(box).to_contain_text(text.splitlines()[0][:40])
        self.page.locator("#send-message-button").click()
        self._expected_answers += 1

    def ask(self, text: str) -> str:
        """`send`, `wait_done`, and the answer."""
        self.send(text)
        self.wait_done()
        return self.messages()[-1][1]

    def wait_done(self) -> None:
        """Until the answer to the last `send` is complete and nothing runs any more."""
        expect(self.page.locator(ASSISTANT)).to_have_count(self._expected_answers, timeout=WAIT_MS)
        self._wait_complete()

    def ask_further(self, text: str, answer: str) -> None:
        """`send`, and wait for an answer that holds a text: in long chats the page draws the last messages only."""
        self.send(text)
        expect(self.page.locator(ASSISTANT).last).to_contain_text(answer, timeout=WAIT_MS)
        self._wait_complete()

    def _wait_complete(self) -> None:
        expect(self.page.locator(ASSISTANT).last.locator(COMPLETE)).to_be_attached(timeout=WAIT_MS)
        expect(self.page.locator(STOP)).to_have_count(0, timeout=WAIT_MS)

    def watch(self) -> None:
        """From now on keep each text that the last answer ever shows, for `watched`."""
        self.page.evaluate(_WATCH, f"{ASSISTANT} .chat-assistant")

    def watched(self) -> list[str]:
        """The different texts that the last answer has shown since `watch`, in order."""
        texts: list[str] = self.page.evaluate("window.__watched")
        return texts

    def stop(self) -> None:
        """Press the stop button."""
        self.page.locator(STOP).click()
        expect(self.page.locator(STOP)).to_have_count(0, timeout=WAIT_MS)

    def messages(self) -> list[tuple[str, str]]:
        """What is shown, in order: ("user" | "assistant", visible text)."""
        shown = self.page.locator(f"{USER}, {ASSISTANT}")
        return [self._read(shown.nth(index)) for index in range(shown.count())]

    @property
    def chat_id(self) -> str:
        """The id of the chat that is open."""
        self.page.wait_for_url("**/c/*", timeout=WAIT_MS)
        return self.page.url.rsplit("/c/", 1)[1].split("?")[0]

    def shot(self, name: str) -> Path:
        """Save a picture of the page as `.cache/screenshots/<name>.png`."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path

    def assert_clean_console(self) -> None:
        """No error and no uncaught exception in the browser's console."""
        assert self.console == [], self.console

    def _read(self, message: Locator) -> tuple[str, str]:
        role = "assistant" if message.locator(".chat-assistant").count() else "user"
        # Below a user's text stands the time, shown or hidden by where the mouse is.
        text = ".chat-user .markdown-prose" if role == "user" else ".chat-assistant"
        return role, message.locator(text).first.inner_text().strip()

    def _remember(self, **items: str) -> None:
        self.page.goto("/static/favicon.png")  # same origin, and no page that would act on what is remembered
        self.page.evaluate("items => Object.assign(localStorage, items)", items)

    def _ready(self) -> None:
        expect(self.page.locator("#chat-input")).to_be_visible(timeout=WAIT_MS)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _KNOWN_NOISE.search(message.text):
            self.console.append(message.text)
