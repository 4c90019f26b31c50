"""A new administrator's first minutes: sign in by the form, find ECHO, ask, watch the answer come."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from live import answers
from live.page import ASSISTANT, ChatPage
from live.stack import Live

QUESTION = "Explain tides"
PIECES = ("Alpha is **first**. ", "Beta follows. ", "Gamma is third. ")


@pytest.fixture(scope="module")
def admin_page(live: Live, browser: Browser) -> Iterator[ChatPage]:
    page = ChatPage(browser, live.url)
    yield page
    page.context.close()


def test_a_new_admin_signs_in_and_finds_echo_chosen(live: Live, admin_page: ChatPage) -> None:
    grace = live.new_user("Grace", role="admin")
    admin_page.login(grace.email, grace.password)
    admin_page.page.get_by_text("Okay, Let's Go!").click()  # Open WebUI's own news for administrators
    expect(admin_page.page.locator("#model-selector-model-button")).to_have_text("ECHO")
    expect(admin_page.page.get_by_text("Google Gemini with an exact history")).to_be_visible()


def test_the_answer_comes_piece_by_piece_with_thoughts_between(live: Live, admin_page: ChatPage) -> None:
    first, second, third = ({"text": piece} for piece in PIECES)
    script = answers.parts(
        answers.thought("**Weighing it**\n\nThe moon pulls."),
        first,
        second,
        answers.thought("And the sun."),
        third,
        {"text": "Omega ends."},
        delay_ms=300,
    )
    live.sim.reset()
    live.sim.script({**script, "match": answers.saying(QUESTION)})
    admin_page.watch()
    admin_page.send(QUESTION)
    admin_page.wait_done()
    assert_growing(admin_page.watched())
    assert_all_shown(admin_page)
    admin_page.assert_clean_console()


def assert_growing(texts: list[str]) -> None:
    """Each piece was there before the next one came."""
    for earlier, later in [("Alpha", "Beta"), ("Beta", "Gamma"), ("Gamma", "Omega")]:
        assert any(earlier in text and later not in text for text in texts), (earlier, texts)


def assert_all_shown(page: ChatPage) -> None:
    """Thoughts folded, in their places; they open to show what was thought, and close again."""
    answer = page.page.locator(ASSISTANT).last
    shown = " ".join(page.messages()[-1][1].split())
    assert shown.endswith(
        "Thought for less than a second Alpha is first. Beta follows. "
        "Thought for less than a second Gamma is third. Omega ends."
    )
    assert "The moon pulls." not in shown
    for fold, text in enumerate(["The moon pulls.", "And the sun."]):
        button = answer.get_by_role("button", name="Thought for").nth(fold)
        button.click()
        expect(answer.get_by_text(text)).to_be_visible()
        button.click()
        expect(answer.get_by_text(text)).to_have_count(0)


def test_a_reload_shows_the_same(admin_page: ChatPage) -> None:
    before = admin_page.messages()
    admin_page.open_chat(admin_page.chat_id)
    assert admin_page.messages() == before
    assert_all_shown(admin_page)
    admin_page.assert_clean_console()
    assert admin_page.shot("first-run").stat().st_size > 0


def test_the_admin_finds_the_valves_described_in_both_languages(live: Live, admin_page: ChatPage) -> None:
    admin_page.page.goto("/admin/functions")
    admin_page.page.get_by_placeholder("Search Functions").fill("echo_orchestrator")
    expect(admin_page.page.get_by_role("button", name="Valves")).to_have_count(1)
    admin_page.page.get_by_role("button", name="Valves").click()
    panel = admin_page.page.get_by_role("dialog")
    for described in ("Gemini API key", "Clé Google AI Studio", "Where the Gemini API is", "Niveau de modèle"):
        expect(panel.get_by_text(described)).to_be_visible()
    assert admin_page.shot("admin-valves").stat().st_size > 0
