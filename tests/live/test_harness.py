"""The harness itself, on the real thing: what other live tests rely on."""

import pytest
from playwright.sync_api import Browser

from live.page import ChatPage
from live.stack import Live


def test_a_question_over_http_is_answered_by_the_simulator_and_stored(live: Live) -> None:
    ada = live.new_user()
    live.sim.reset()
    turn = ada.turn("Say hello.")
    assert turn.text and not turn.error
    assert turn.message["done"] is True
    assert "Say hello." in live.sim.wait_requests(1, "GenerateContent")[0]["body"]
    following = ada.turn("And again?", chat_id=turn.chat_id, parent=turn.assistant_id)
    assert following.chat_id == turn.chat_id
    assert len(ada.messages(turn.chat_id)) == 4


def test_a_browser_shows_the_answer_and_keeps_a_clean_console(chat_page: ChatPage) -> None:
    answer = chat_page.ask("Say hello.")
    assert "Say hello." in answer
    assert [role for role, _ in chat_page.messages()] == ["user", "assistant"]
    assert chat_page.shot("harness").stat().st_size > 0
    chat_page.assert_clean_console()


@pytest.mark.deep
def test_a_french_user_signs_in_by_the_form_and_finds_the_chat_again(live: Live, browser: Browser) -> None:
    zoe = live.new_user("Zoé", "fr-FR")
    page = ChatPage(browser, live.url, language=zoe.language)
    page.login(zoe.email, zoe.password)
    page.new_chat()
    assert page.page.get_by_text("un historique exact").is_visible()
    answer = page.ask("Bonjour !")
    page.open_chat(page.chat_id)
    assert page.messages() == [("user", "Bonjour !"), ("assistant", answer)]
    page.assert_clean_console()
    page.context.close()


def test_plain_api_callers_get_chunks_and_an_answer(live: Live) -> None:
    ada = live.new_user()
    question = [{"role": "user", "content": "Say hello."}]
    chunks = [chunk for chunk in ada.stream(question) if chunk.get("choices")]
    assert "Say hello." in "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert "Say hello." in ada.complete(question)["choices"][0]["message"]["content"]


@pytest.mark.deep
def test_chats_and_tokens_survive_a_crash_and_a_restart(live: Live) -> None:
    ada = live.new_user()
    turn = ada.turn("Say hello.")
    live.restart(kill=True)
    assert ada.messages(turn.chat_id)[turn.assistant_id]["done"] is True
    assert not ada.turn("And again?", chat_id=turn.chat_id, parent=turn.assistant_id).error
