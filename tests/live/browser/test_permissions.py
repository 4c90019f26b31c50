"""Tool permissions in the page: the native dialog asks, and a refusal reaches the model."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from echo_cli._model_record import ECHO_MODEL_ID
from live.client import Client
from live.page import ChatPage
from live.stack import Live

SETTINGS = "/api/v1/users/user/settings"


@pytest.fixture
def asking(live: Live, ada: Client) -> Iterator[None]:
    """Ada wants to be asked, as the administrator lets her choose."""
    config = live.admin.get("/api/v1/chats/config")
    live.admin.post("/api/v1/chats/config", config | {"ENABLE_TOOL_PERMISSIONS": True})
    before = ada.get(SETTINGS) or {}
    ui = before.get("ui") or {}
    ada.post(f"{SETTINGS}/update", before | {"ui": ui | {"params": {"tool_approval_mode": "ask"}}})
    yield
    ada.post(f"{SETTINGS}/update", before | {"ui": ui | {"params": {}}})
    live.admin.post("/api/v1/chats/config", config)


def test_a_denied_call_is_told_to_the_model_and_shown(
    live: Live, ada: Client, ada_page: ChatPage, toolkit: str, asking: None
) -> None:
    page = ada_page
    page.new_chat(f"{ECHO_MODEL_ID}&tools={toolkit}")
    page.send('Please call weigh {"what": "gold"}.')
    dialog = page.page.get_by_text("Tool Permissions")
    expect(dialog).to_be_visible()
    expect(page.page.locator("pre").filter(has_text='"what": "gold"')).to_be_visible()
    page.shot("permission-asked")
    page.page.get_by_role("button", name="Deny").click()
    page.wait_done()
    body = json.loads(live.sim.requests("streamGenerateContent")[-1]["body"])
    [part] = body["contents"][-1]["parts"]
    assert "did not allow this call" in part["functionResponse"]["response"]["error"]
    page.shot("permission-denied")
