"""A user's memory: told in one chat, asked for in another, and changed on its page, in a real browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from echo_cli._model_record import ECHO_MODEL_ID, EVERYBODY_READS
from live.client import Client
from live.page import ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep

CAT = "My cat is called Minou."
TOLD = f'Please remember: my cat is called Minou. call remember {{"fact": "{CAT}", "topic": "name of the cat"}}'
ASKED = 'What did I tell you about my cat? call recall {"query": "What is my cat called?"}'
REMEMBERING = "live-memory"


@pytest.fixture(scope="module")
def model(live: Live) -> Iterator[str]:
    """A model that remembers, as an administrator makes it in the workspace."""
    form = {"id": REMEMBERING, "base_model_id": ECHO_MODEL_ID, "name": "With memory", "params": {}, "is_active": True}
    form |= {"meta": {"toolIds": ["echo_memory"]}, "access_grants": [EVERYBODY_READS]}
    live.admin.post("/api/v1/models/create", form)
    live.admin.get("/api/models", refresh="true")
    yield REMEMBERING
    live.admin.post("/api/v1/models/model/delete", {"id": REMEMBERING})


@pytest.fixture
def tab(live: Live, browser: Browser) -> Iterator[ChatPage]:
    """The tab of somebody of whom nothing is remembered yet."""
    person = live.new_user()
    opened = ChatPage(browser, live.url, language="en-US")
    opened.enter(person)
    yield opened
    opened.assert_clean_console()
    opened.context.close()


def shot(page: Page, folder: Path, name: str) -> None:
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def ask_in_a_new_chat(tab: ChatPage, question: str) -> None:
    tab.new_chat(REMEMBERING)
    tab.send(question)
    tab.wait_done()


def recalled(live: Live) -> Any:
    """What the model was given by the last recall; other requests, such as those that read for memory, may follow."""
    requests = [json.loads(request["body"]) for request in live.sim.requests("streamGenerateContent")]
    parts = [part for body in requests for content in body["contents"] for part in content["parts"]]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    return [result["response"] for result in results if result["name"] == "recall"][-1]


def test_what_was_told_comes_back_in_a_new_chat_with_its_source_and_can_be_changed(
    live: Live, tab: ChatPage, model: str, tmp_path: Path
) -> None:
    page = tab.page
    ask_in_a_new_chat(tab, TOLD)
    chat = tab.chat_id
    ask_in_a_new_chat(tab, ASKED)
    assert CAT in str(recalled(live))
    shot(page, tmp_path, "asked")
    page.get_by_role("button", name="Quick actions").click()
    page.get_by_role("link", name="Your memory").click()
    expect(page.get_by_role("link", name="The chat it comes from")).to_have_attribute("href", f"{live.url}/c/{chat}")
    shot(page, tmp_path, "page-en")
    page.get_by_role("button", name=f"Edit: {CAT}").press("Enter")
    shot(page, tmp_path, "editing")
    page.get_by_label("What is remembered").fill("My cat is called Félix.")
    page.get_by_label("Importance").select_option("4 – proven")
    page.get_by_role("button", name="Save the change").click()
    expect(page.get_by_role("button", name="Edit: My cat is called Félix.")).to_be_focused()
    page.get_by_role("button", name="History: My cat is called Félix.").click()
    expect(page.locator(".history")).to_contain_text(CAT)


def test_memories_are_taken_along_and_searched(live: Live, tab: ChatPage, tmp_path: Path) -> None:
    page = tab.page
    page.goto(f"{live.url}/echo/hud/memory")
    expect(page.get_by_text("ECHO remembers nothing of you yet.")).to_be_visible()
    entries = [{"text": f"I read chapter {number} of the book.", "topic": f"chapter {number}"} for number in range(60)]
    entries.append({"text": "My password is hunter2-Xk81."})
    file = tmp_path / "memories.json"
    file.write_text(json.dumps({"format": "echo-memories", "version": 1, "memories": entries}))
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Not imported:")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Imported: 60 new")).to_be_visible()
    expect(page.get_by_text("50 of 60")).to_be_visible()
    expect(page.get_by_text("null", exact=True)).to_have_count(0)
    shot(page, tmp_path, "imported")
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_text("60 of 60")).to_be_visible()
    page.get_by_label("Search").fill("chapter 17")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export").click()
    assert "I read chapter 59" in Path(saved.value.path()).read_text()
    page.get_by_label("Search").fill("")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    faults = axe.run(page).response["violations"]
    assert [
        (fault["id"], fault["nodes"][0]["target"]) for fault in faults if fault["impact"] in ("serious", "critical")
    ] == []
    page.get_by_role("button", name="Delete everything").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("60 memories are forgotten")).to_be_visible()


def test_an_administrator_sees_only_his_own(live: Live, browser: Browser, ada: Client) -> None:
    ada.post("/echo/api/memories/import", {"memories": [{"text": "I live in Lyon."}]})
    assert live.admin.get("/echo/api/memories", user_id=ada.id)["memories"] == []
    opened = ChatPage(browser, live.url, language="en-US")
    opened.enter(live.admin)
    opened.page.goto(f"{live.url}/echo/hud/memory")
    expect(opened.page.get_by_text("ECHO remembers nothing of you yet.")).to_be_visible()
    expect(opened.page.get_by_text("Lyon")).to_have_count(0)
    opened.context.close()
