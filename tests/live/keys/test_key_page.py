"""ECHO's key page in a real browser on a real Open WebUI."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from echo_workers.gemini_sim.core import faults
from live.keys.owui import ADMIN, OpenWebUI
from sim_fixture import RunningSim

pytestmark = [pytest.mark.deep, pytest.mark.timeout(400)]

GOOD_KEY = "good-key-for-the-tests-8Kd2"
#: The simulator refuses what begins so.
WRONG_KEY = "bad-key-for-the-tests-6Tr7"
PHONE = {"width": 360, "height": 740}
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(owui: OpenWebUI, browser: Browser) -> Iterator[OpenPage]:
    """Open the key page as somebody; at the end no script error and no refused resource may have been told."""
    complaints: list[str] = []
    contexts = []

    def open_it(token: str = "", language: str = "", theme: str = "light", **options: object) -> Page:
        context = browser.new_context(**{"locale": "en-US", **options})
        contexts.append(context)
        entries = {"token": token, "locale": language, "theme": theme}
        for name, value in entries.items():
            if value:
                context.add_init_script(f"localStorage.getItem({name!r}) ?? localStorage.setItem({name!r}, {value!r})")
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda entry: complaints.append(entry.text) if entry.type == "error" else None)
        page.goto(owui.base + "/echo/hud/keys")
        return page

    yield open_it
    for context in contexts:
        context.close()
    # The browser itself reports every answer with an error status; those are part of the tests.
    assert [text for text in complaints if not text.startswith("Failed to load resource: the server responded")] == []


def shot(page: Page, folder: Path, name: str) -> None:
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def test_a_key_is_saved_tested_and_deleted_in_english(owui: OpenWebUI, open_page: OpenPage, tmp_path: Path) -> None:
    _, token = owui.add_user("eve")
    page = open_page(token, "en-US")
    expect(page.get_by_text("No key stored. ECHO cannot answer you")).to_be_visible()
    shot(page, tmp_path, "en-none")
    page.get_by_label("API key", exact=True).fill(GOOD_KEY)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved. Gemini accepts the key.")
    expect(page.get_by_text("Key ending in …8Kd2, stored since")).to_be_visible()
    assert page.get_by_label("Another key").input_value() == ""
    assert GOOD_KEY not in page.content()
    shot(page, tmp_path, "en-stored")
    page.get_by_role("button", name="Delete the key").click()
    shot(page, tmp_path, "en-confirm")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("Key ending in")).to_be_visible()
    page.get_by_role("button", name="Delete the key").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_have_text("The key is deleted.")
    expect(page.get_by_label("API key", exact=True)).to_be_focused()
    assert owui.call("GET", "/echo/api/keys", token=token).json()["keys"] == []


def test_a_wrong_key_is_told_in_french_with_what_to_do(
    owui: OpenWebUI, open_page: OpenPage, sim: RunningSim, tmp_path: Path
) -> None:
    _, token = owui.add_user("fanny")
    page = open_page(token, "fr-CA", theme="dark")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    page.get_by_label("Clé API", exact=True).fill("trop court !")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Ceci ne ressemble pas à une clé API.")
    expect(page.get_by_label("Clé API", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Clé API", exact=True).fill(WRONG_KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Gemini refuse cette clé ; elle n'a donc pas été enregistrée.")
    expect(page.get_by_role("alert").get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_text("Aucune clé enregistrée.")).to_be_visible()
    shot(page, tmp_path, "fr-wrong-dark")
    page.get_by_label("Clé API", exact=True).fill("exhausted-key-for-the-tests-3Lm5")
    sim.script(faults.quota_exhausted())
    page.get_by_role("button", name="Enregistrer").click()
    expect(page.get_by_role("alert")).to_contain_text("son quota est épuisé")
    expect(page.get_by_text(re.compile(r"Clé se terminant par …3Lm5, enregistrée depuis le \d"))).to_be_visible()


def test_a_stored_key_that_gemini_no_longer_accepts_is_told(owui: OpenWebUI, open_page: OpenPage) -> None:
    _, token = owui.add_user("gil")
    owui.call("PUT", "/echo/api/keys", {"key": WRONG_KEY}, token=token).raise_for_status()
    page = open_page(token)
    page.get_by_role("button", name="Test the key").click()
    expect(page.get_by_role("alert")).to_contain_text("Gemini refuses this key.")
    expect(page.get_by_text("Key ending in …6Tr7")).to_be_visible()


def test_the_page_fits_a_phone_and_works_by_keyboard(owui: OpenWebUI, open_page: OpenPage, tmp_path: Path) -> None:
    for language, theme in (("fr-FR", "dark"), ("en-GB", "light")):
        page = open_page(owui.token, language, theme=theme, viewport=PHONE)
        expect(page.locator("section")).to_have_count(2)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        shot(page, tmp_path, f"{language}-phone")
    reached = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")
        )
    assert reached[:5] == [
        "← Back to the chat",
        "Get a key from Google AI Studio (opens in a new tab)",
        "",
        "Show the typed key",
        "Save",
    ]


def test_the_admin_gives_a_key_for_everyone(owui: OpenWebUI, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(owui.token, "en-US")
    everyone = page.get_by_role("region", name="Key for everyone")
    everyone.get_by_label("API key", exact=True).fill(GOOD_KEY)
    everyone.get_by_role("button", name="Save").click()
    expect(everyone.get_by_role("status")).to_have_text("Saved. Gemini accepts the key.")
    expect(page.get_by_role("region", name="Your key")).to_contain_text(
        "Your chats use the key that your administrator"
    )
    shot(page, tmp_path, "en-admin")
    assert owui.valves("echo_orchestrator")["GEMINI_API_KEY"] == "stored"
    everyone.get_by_role("button", name="Delete the key").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(everyone.get_by_role("status")).to_have_text("The key is deleted.")
    assert owui.valves("echo_orchestrator")["GEMINI_API_KEY"] == ""


def test_a_signed_out_user_is_led_to_sign_in_and_back(owui: OpenWebUI, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(language="fr-FR")
    expect(page.get_by_role("alert")).to_contain_text("Vous êtes déconnecté.")
    shot(page, tmp_path, "fr-signed-out")
    page.get_by_role("link", name="Se connecter").click()
    page.locator("input[type=email]").fill(ADMIN[0])
    page.locator("input[type=password]").fill(ADMIN[1])
    page.locator("button[type=submit]").click()
    expect(page.get_by_role("heading", name="Clé API Gemini")).to_be_visible(timeout=20_000)
    expect(page.get_by_role("region", name="Votre clé")).to_be_visible()


def test_an_expired_token_is_treated_as_signed_out(open_page: OpenPage) -> None:
    page = open_page("expired-token")
    expect(page.get_by_role("alert")).to_contain_text("You are signed out.")


def test_without_a_chosen_language_the_browsers_counts(open_page: OpenPage) -> None:
    page = open_page(locale="fr-BE")
    expect(page.get_by_role("heading", level=1)).to_have_text("Clé API Gemini")
