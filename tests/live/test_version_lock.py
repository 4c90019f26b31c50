"""Other plugins may rewrite what the page shows; that is no edit, and the signed record goes on counting."""

from collections.abc import Iterator

import pytest

from live.bodies import assert_continues
from live.client import Client
from live.moves import Conversation
from live.stack import Live

OTHER_PLUGIN = """
class Filter:
    async def outlet(self, body):
        for message in body["messages"][-2:]:
            if "REWRITE" not in body["messages"][-2]["content"]:
                continue
            message["content"] = "Checked: " + message["content"]
            for item in message.get("output") or []:
                if item.get("type") == "message":
                    for part in item["content"]:
                        part["text"] = "Checked: " + part["text"]
        return body
"""


@pytest.fixture(scope="module")
def other_plugin(live: Live) -> Iterator[None]:
    """A global filter that rewrites question and answer of turns that ask for it."""
    form = {"id": "rewriter", "name": "Rewriter", "content": OTHER_PLUGIN, "meta": {"description": "", "manifest": {}}}
    live.admin.post("/api/v1/functions/create", form)
    live.admin.post("/api/v1/functions/id/rewriter/toggle")
    live.admin.post("/api/v1/functions/id/rewriter/toggle/global")
    yield
    live.admin.delete("/api/v1/functions/id/rewriter/delete")


@pytest.mark.usefixtures("other_plugin")
def test_what_another_plugin_rewrote_is_replayed_as_it_was_said(live: Live, ada: Client) -> None:
    talk = Conversation(ada, live.sim)
    turn = talk.ask("REWRITE this.")
    stored = talk.messages()
    assert stored[turn.assistant_id]["content"].startswith("Checked: ")
    assert turn.text.startswith("Checked: ")
    assert stored[turn.user_id]["content"].startswith("Checked: ")
    sent = talk.body(talk.ask("And now?"))
    assert_continues(sent, talk.body(turn))
    assert sent.said[0].signatures == 1
    assert "Checked: " not in sent.text


@pytest.mark.usefixtures("other_plugin")
def test_an_edit_after_the_other_plugin_counts(live: Live, ada: Client) -> None:
    talk = Conversation(ada, live.sim)
    turn = talk.ask("REWRITE this.")
    talk.edit_answer(turn.assistant_id, "What the user wrote instead.")
    sent = talk.body(talk.ask("And now?"))
    assert sent.said[0].signatures == 0
    assert "What the user wrote instead." in sent.said[0].answer[0]


def test_the_filter_is_installed_active_and_global(live: Live) -> None:
    [lock] = [f for f in live.admin.get("/api/v1/functions/") if f["id"] == "echo_version_lock"]
    assert (lock["type"], lock["is_active"], lock["is_global"]) == ("filter", True, True)
