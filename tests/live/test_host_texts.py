"""What stands in Open WebUI's system message reaches the model: no prompt is dropped, and none breaks the prefix."""

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest

from echo_aec import parse_artifact
from echo_cli._model_record import ECHO_MODEL_ID, EVERYBODY_READS
from live.bodies import Body, assert_continues, assert_valid
from live.client import Client
from live.moves import Conversation
from live.stack import Live
from live.tool_servers import mcp_app, serving

CONNECTIONS = "/api/v1/configs/tool_servers"
FILTER = '''"""
title: Politeness
"""


class Filter:
    def inlet(self, body):
        messages = body["messages"]
        if messages[0]["role"] != "system":
            messages.insert(0, {"role": "system", "content": ""})
        messages[0]["content"] += "\\nA plugin asks you to be polite."
        return body
'''


@pytest.fixture(scope="module")
def lab(live: Live) -> Iterator[None]:
    """An MCP server with instructions."""
    with serving(mcp_app()) as url:
        connection = {"url": f"{url}/mcp", "path": "", "type": "mcp", "auth_type": "none", "key": ""}
        named = connection | {
            "config": {"enable": True, "access_grants": [EVERYBODY_READS]},
            "info": {"id": "lab", "name": "lab"},
        }
        live.admin.post(CONNECTIONS, {"TOOL_SERVER_CONNECTIONS": [named]})
        yield
        live.admin.post(CONNECTIONS, {"TOOL_SERVER_CONNECTIONS": []})


@pytest.fixture(scope="module")
def skill(live: Live) -> Iterator[str]:
    form = {"id": "host-tea", "name": "Tea", "description": "Brews tea.", "content": "Boil water first."}
    live.admin.post("/api/v1/skills/create", form | {"access_grants": [EVERYBODY_READS]})
    yield "host-tea"
    live.admin.delete("/api/v1/skills/id/host-tea/delete")


@pytest.fixture
def polite(live: Live) -> Iterator[None]:
    """Somebody else's filter that writes into the system message."""
    live.admin.post("/api/v1/functions/create", {"id": "polite", "name": "P", "content": FILTER, "meta": {}})
    for switch in ("toggle", "toggle/global"):
        live.admin.post(f"/api/v1/functions/id/polite/{switch}")
    yield
    live.admin.delete("/api/v1/functions/id/polite/delete")


def hosted(body: Body) -> list[dict[str, tuple[str, str]]]:
    """What was added, by the question it was told beside: name → (change, text)."""
    found = []
    for said in body.said:
        texts = [part.get("text", "") for part in json.loads(said.asked)["parts"]]
        notes = [parse_artifact(text) for text in texts if text.startswith("<artifact ")]
        items = [item for note in notes for item in note.items if item.tag == "host"]
        found.append({i.attributes["name"]: (i.attributes["change"], i.text) for i in items})
    return found


def test_no_text_of_the_system_message_is_dropped_and_none_changes_an_earlier_byte(
    live: Live, ada: Client, lab: None, skill: str, polite: None
) -> None:
    prompt = {"messages": [{"role": "system", "content": "Speak to {{USER_NAME}} in rhymes."}]}
    talk = Conversation(ada, live.sim, **prompt)
    bodies = [talk.body(talk.ask("Plain."))]
    bodies.append(talk.body(talk.ask("Use <$host-tea|Tea>.")))
    bodies.append(talk.body(talk.ask("With a server.", tool_ids=["server:mcp:lab"])))
    bodies.append(talk.body(talk.ask("The same.", tool_ids=["server:mcp:lab"])))
    for earlier, later in pairwise(bodies):
        assert_valid(later)
        assert later.contents[: len(earlier.contents)] == earlier.contents
        assert later.json["systemInstruction"] == earlier.json["systemInstruction"]
    assert_continues(bodies[3], bodies[2])
    [system] = bodies[-1].json["systemInstruction"]["parts"]
    assert "Speak to Ada in rhymes." in system["text"]
    plain, with_skill, with_server, same = hosted(bodies[-1])
    assert plain == {"text": ("added", "A plugin asks you to be polite.")}
    [(name, (change, text))] = with_skill.items()
    assert (name, change) == ("skill:host-tea", "added")
    assert "Boil water first." in text
    assert with_server["mcp:lab"][0] == "added"
    assert "Shout only when asked to." in with_server["mcp:lab"][1]
    assert same == {}


def test_an_api_callers_system_message_arrives_whole(live: Live, ada: Client, polite: None) -> None:
    live.sim.reset()
    messages = [{"role": "system", "content": "Count in Roman numerals."}, {"role": "user", "content": "One?"}]
    ada.post("/api/chat/completions", {"model": ECHO_MODEL_ID, "messages": messages, "stream": False})
    [request] = [r for r in live.sim.requests("GenerateContent") if "One?" in r["body"]]
    [system] = json.loads(request["body"])["systemInstruction"]["parts"]
    assert "Count in Roman numerals.\nA plugin asks you to be polite." in system["text"]
