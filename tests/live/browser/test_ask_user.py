"""Open WebUI's question to the user, asked by ECHO's model in the page."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from live.native_tools import native_model
from live.page import WAIT_MS, ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep

OPTIONS = [{"label": "Green", "description": "Mild."}, {"label": "Black", "description": "Strong."}]
ASKED = {"questions": [{"id": "tea", "header": "Tea", "question": "Which tea do you like?", "options": OPTIONS}]}


@pytest.fixture(scope="module")
def native(live: Live) -> Iterator[str]:
    with native_model(live, "user_input") as model:
        yield model


def test_the_users_choice_reaches_the_model_and_stays_on_the_card(live: Live, ada_page: ChatPage, native: str) -> None:
    page = ada_page
    page.new_chat(native)
    page.send(f"Please call ask_user {json.dumps(ASKED)}")
    choice = page.page.get_by_role("button", name="Black Strong.")
    expect(choice).to_be_visible(timeout=WAIT_MS)
    page.shot("ask-user")
    choice.click()
    page.wait_done()
    body = json.loads(live.sim.requests("streamGenerateContent")[-1]["body"])
    told = json.loads(body["contents"][-1]["parts"][0]["functionResponse"]["response"]["output"])
    assert told["status"] == "answered"
    assert "Black" in json.dumps(told["answers"]["tea"])
    page.shot("ask-user-answered")
    page.assert_clean_console()
