"""The button that condenses, on Open WebUI's own page: everything it offers, without ECHO's script in the page."""

import pytest
from playwright.sync_api import Browser, Locator, expect

from echo_runtime.compaction_entry import ASK, CHOICES, EDIT, EDITED, UNDONE
from live.client import HELIOTROPE
from live.page import ChatPage
from live.stack import Live


def sent(live: Live) -> str:
    """What the last question sent."""
    return str(live.sim.requests("streamGenerateContent")[-1]["body"])


def form(page: ChatPage, title: str) -> Locator:
    """Open WebUI's form with a text."""
    return page.page.get_by_role("dialog").filter(has_text=title)


def press(page: ChatPage, name: str) -> None:
    """The button below the last answer, and one of its choices."""
    page.page.get_by_role("button", name="ECHO: condense").last.click()
    dialog = form(page, ASK.en)
    dialog.get_by_role("combobox").select_option(label=CHOICES[name].en)
    dialog.get_by_role("button", name="Submit").click()
    expect(dialog).to_have_count(0)


@pytest.mark.deep
def test_the_button_condenses_shows_edits_pins_and_undoes(live: Live, browser: Browser) -> None:
    user = live.new_user("Cleo")
    turn = user.turns(*HELIOTROPE)
    page = ChatPage(browser, live.url, language=user.language)
    page.enter(user)
    page.open_chat(turn.chat_id)
    press(page, "compact")
    expect(page.page.get_by_text("Conversation condensed").last).to_be_visible()
    page.ask_further("And now?", "You wrote: “And now?”")
    assert "AEC_context_checkpoint" in sent(live)

    press(page, "show")
    opened = form(page, EDIT.en)
    lines = opened.get_by_role("textbox").all()
    page.shot("condensing-checkpoint")
    expect(opened.get_by_label("Goal")).to_have_value("The project is called Heliotrope and must ship on Friday.")
    lines[0].fill("Heliotrope ships on Monday.")
    for line in lines[1:]:
        line.fill("")
    opened.get_by_role("button", name="Submit").click()
    expect(page.page.get_by_text(EDITED.en).last).to_be_visible()
    page.ask_further("And then?", "You wrote: “And then?”")
    assert "<note>Goal: Heliotrope ships on Monday.</note>" in sent(live)

    press(page, "undo")
    expect(page.page.get_by_text(UNDONE.en).last).to_be_visible()
    page.ask_further("And at last?", "You wrote: “And at last?”")
    assert "AEC_context_checkpoint" not in sent(live)
    assert "must ship on Friday" in sent(live)
    page.assert_clean_console()
    page.context.close()
