"""The administrators' page of prompts, in a real browser on a real Open WebUI."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from echo_prompts import PROMPT_NAMES
from live.client import Client
from live.moves import Conversation
from live.page import ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep


def shot(page: Page, folder: Path, name: str) -> None:
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def system_of_a_new_chat(live: Live, person: Client) -> str:
    talk = Conversation(person, live.sim)
    [part] = talk.body(talk.ask("Hello.")).json["systemInstruction"]["parts"]
    return str(part["text"])


def test_an_administrator_tries_keeps_and_takes_back_a_prompt(
    live: Live, browser: Browser, ada: Client, tmp_path: Path
) -> None:
    chat = ChatPage(browser, live.url, language="en-US")
    chat.enter(live.admin)
    page = chat.page
    page.goto(f"{live.url}/echo/hud/keys")
    page.get_by_role("link", name="The prompts in which ECHO speaks").click()
    expect(page.get_by_role("listitem")).to_have_count(len(PROMPT_NAMES))
    shot(page, tmp_path, "list-en")
    page.get_by_role("link", name="pis, English").click()
    text = page.get_by_label("Text", exact=True)
    expect(text).not_to_have_value("")
    shipped = text.input_value()
    text.fill("You are ##MODEL_ID##.")
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.get_by_role("alert")).to_contain_text("This prompt would not work, so nothing was changed.")
    expect(text).to_have_attribute("aria-invalid", "true")
    text.fill("You are ECHO ##ECHO_VERSION##, a pirate.")
    page.get_by_role("button", name="Preview", exact=True).click()
    preview = page.get_by_role("region", name="Preview")
    expect(preview.locator(".added")).to_contain_text("+You are ECHO ##ECHO_VERSION##, a pirate.")
    shot(page, tmp_path, "preview-en")
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.get_by_role("status")).to_have_text("Saved. It holds from the next message on.")
    assert "a pirate." in system_of_a_new_chat(live, ada)
    shot(page, tmp_path, "kept-en")
    page.get_by_role("button", name="Roll back to this: shipped text").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(text).to_have_value(shipped)
    assert "a pirate." not in system_of_a_new_chat(live, ada)
    page.evaluate("localStorage.setItem('locale', 'fr-FR'); localStorage.setItem('theme', 'dark')")
    page.reload()
    expect(page.get_by_role("region", name="Historique des versions").get_by_role("listitem")).to_have_count(3)
    shot(page, tmp_path, "editor-fr-dark")
    chat.context.close()


def test_what_is_typed_survives_a_look_at_another_prompt_and_other_users_see_nothing(
    live: Live, browser: Browser, tmp_path: Path
) -> None:
    chat = ChatPage(browser, live.url, language="fr-FR")
    chat.enter(live.admin)
    page = chat.page
    page.goto(f"{live.url}/echo/hud/prompts#continue.fr")
    text = page.get_by_label("Texte", exact=True)
    text.fill("Continue donc.")
    page.get_by_role("link", name="Tous les prompts").click()
    shot(page, tmp_path, "list-fr")
    page.get_by_role("link", name="continue, Français").click()
    expect(text).to_have_value("Continue donc.")
    page.get_by_role("button", name="Abandonner les modifications").click()
    expect(text).not_to_have_value("Continue donc.")
    chat.context.close()
    other = ChatPage(browser, live.url, language="fr-FR")
    other.enter(live.new_user())
    other.page.goto(f"{live.url}/echo/hud/prompts")
    expect(other.page.get_by_role("alert")).to_contain_text("Votre compte ne peut pas utiliser cette page.")
    other.context.close()
