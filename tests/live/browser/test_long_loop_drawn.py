"""Fifty rounds of eight parallel calls in a real page: the cards as they are drawn at the end and after a reload."""

import re

import pytest
from playwright.sync_api import Locator, expect

from echo_cli._model_record import ECHO_MODEL_ID
from live import answers
from live.client import Client
from live.page import ASSISTANT, ChatPage
from live.stack import Live
from live.test_long_loop import PARALLEL, ROUNDS, counting, round_of

__all__ = ["counting"]

CALLS = ROUNDS * PARALLEL
#: What the page says of a card that has its result. Source: the page of Open WebUI 0.12.4.
CARD = re.compile(r"^View Result from")
LIMIT_MS = 120_000


def opened_cards(page: ChatPage) -> Locator:
    """All cards of the answer; the page folds them into one line, which is opened."""
    answer = page.page.locator(ASSISTANT).last
    group = answer.get_by_role("button", name="Toggle details")
    expect(group).to_contain_text(f"{CALLS} count", timeout=LIMIT_MS)
    group.click()
    cards = answer.get_by_text(CARD)
    expect(cards).to_have_count(CALLS, timeout=LIMIT_MS)
    return cards


def drawn(page: ChatPage) -> tuple[str, str]:
    """The answer as it is read with its cards open, and what its last card says."""
    cards = opened_cards(page)
    text = page.page.locator(f"{ASSISTANT} .chat-assistant").last.inner_text()
    cards.last.click()
    result = page.page.locator(ASSISTANT).last.get_by_text(f'"next": {CALLS}')
    expect(result.last).to_be_visible()
    return text, result.last.inner_text()


@pytest.mark.deep
def test_a_long_loop_draws_the_same_cards_after_a_reload(
    live: Live, ada: Client, ada_page: ChatPage, counting: str
) -> None:
    live.sim.reset()
    end = answers.parts({"text": "Counted."}, match=answers.saying("LONG-LOOP"))
    live.sim.script(*map(round_of, range(ROUNDS)), end)
    ada_page.new_chat(f"{ECHO_MODEL_ID}&tools={counting}")
    ada_page.send("LONG-LOOP: count.")
    answer = ada_page.page.locator(ASSISTANT).last
    expect(answer).to_contain_text("Counted.", timeout=LIMIT_MS)
    ada_page.wait_done()
    chat_id = ada_page.chat_id
    before = drawn(ada_page)
    ada_page.shot("long-loop")
    ada_page.open_chat(chat_id)
    assert drawn(ada_page) == before
    assert before[0].endswith("Counted.")
    assert ada_page.page.get_by_text("Preparing count").count() == 0
    ada_page.assert_clean_console()
