"""The key page where the simulator answers: nobody may take a key for checked."""

import pytest
from playwright.sync_api import Browser, expect

from live.client import Client
from live.page import ChatPage
from live.stack import Live


@pytest.mark.deep
def test_the_key_page_of_a_demo_says_that_no_key_is_checked(live: Live, browser: Browser) -> None:
    person: Client = live.new_user()
    chat = ChatPage(browser, live.url, language="en-US")
    chat.enter(person)
    page = chat.page
    page.goto(f"{live.url}/echo/hud/keys")
    note = page.get_by_role("note", name="Demo: the simulator answers")
    expect(note).to_contain_text("no key is checked with Google")
    expect(note).to_contain_text("GEMINI_API_KEY=… make run")
    expect(page.get_by_text("No key stored. The simulator answers without one.")).to_be_visible()
    expect(page.get_by_text("this server was started with")).to_have_count(0)
    page.get_by_label("API key", exact=True).fill("some-key-for-the-tests")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved, but not checked with Google: the simulator answers here.")
    page.get_by_role("button", name="Test the key").click()
    expect(page.get_by_role("status")).to_have_text(
        "The simulator answers here, so the key was not checked with Google."
    )
    page.evaluate("localStorage.setItem('locale', 'fr-FR')")
    page.reload()
    expect(page.get_by_role("note", name="Démo : le simulateur répond")).to_contain_text("GEMINI_API_KEY=… make run")
    chat.context.close()
