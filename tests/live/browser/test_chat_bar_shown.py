"""The switches of the chat bar, pressed in a real page: what they say is what the model is offered."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from live.client import Client
from live.page import ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep

RETRIEVAL = "/api/v1/retrieval/config"
IMAGES = "/api/v1/images/config"
ARTIST = "models/gemini-3.1-flash-image:"


@pytest.fixture(scope="module")
def switches(live: Live) -> Iterator[None]:
    """All three switches, as an administrator lets people have them."""
    search = live.admin.get(RETRIEVAL)["web"]["ENABLE_WEB_SEARCH"]
    images = live.admin.get(IMAGES)
    live.admin.post(f"{RETRIEVAL}/update", {"web": {"ENABLE_WEB_SEARCH": True}})
    live.admin.post(f"{IMAGES}/update", images | {"ENABLE_IMAGE_GENERATION": True})
    yield
    live.admin.post(f"{RETRIEVAL}/update", {"web": {"ENABLE_WEB_SEARCH": search}})
    live.admin.post(f"{IMAGES}/update", images)


@pytest.fixture
def page(live: Live, ada_page: ChatPage, ada: Client, switches: None) -> ChatPage:
    """Ada's tab, loaded after the switches were there."""
    ada_page.new_chat()
    live.sim.reset()
    return ada_page


def press(page: ChatPage, *names: str) -> None:
    page.page.locator("#integration-menu-button").click()
    for name in names:
        entry = page.page.get_by_role("menuitemcheckbox", name=name)
        entry.click()
        expect(entry).to_have_attribute("aria-checked", "true")
    page.shot(f"chat-bar-{names[0].split()[0].lower()}")
    page.page.keyboard.press("Escape")


def kinds(live: Live) -> set[str]:
    body: dict[str, Any] = json.loads(live.sim.requests("streamGenerateContent")[-1]["body"])
    return {kind for tool in body.get("tools", []) for kind in tool}


def test_search_and_code_switches_reach_the_model(live: Live, page: ChatPage) -> None:
    press(page, "Web Search", "Code Interpreter")
    page.ask("What is new, and how much is it?")
    assert {"googleSearch", "urlContext", "codeExecution"} <= kinds(live)
    page.page.get_by_role("button", name="Web Search", exact=True).click()
    page.ask("And without looking?")
    assert "googleSearch" not in kinds(live)
    assert "codeExecution" in kinds(live)
    page.assert_clean_console()


def test_the_image_switch_draws(live: Live, page: ChatPage) -> None:
    press(page, "Image")
    page.ask("Draw a grey heron")
    assert ARTIST in live.sim.requests("streamGenerateContent")[-1]["path"]
    page.shot("chat-bar-drawn")
    page.assert_clean_console()
