"""Whom the model talks to, when and where: each user's own, told once, and told again when it has changed."""

import json

import httpx
import pytest

from echo_aec import parse_artifact
from echo_runtime.model_record import ECHO_MODEL_ID
from live.bodies import assert_continues, assert_valid
from live.client import Client
from live.moves import Conversation
from live.stack import Live

FILTER = "/api/v1/functions/id/user_native_context_filter"


def told(content: str) -> dict[str, str]:
    """The values that one question tells, by name."""
    texts = [part.get("text", "") for part in json.loads(content)["parts"]]
    artifacts = [parse_artifact(text) for text in texts if text.startswith("<artifact ")]
    return {item.attributes["name"]: item.text for artifact in artifacts for item in artifact.items}


def remember(user: Client, content: str) -> None:
    """Add a memory. Open WebUI stores it first and then fails to embed it, since no embedding model is here."""
    headers = {"Authorization": f"Bearer {user.token}"}
    httpx.post(f"{user.url}/api/v1/memories/add", json={"content": content}, headers=headers, trust_env=False)


@pytest.mark.parametrize(("name", "language"), [("Grace", "en-US"), ("Blaise", "fr-FR")])
def test_each_user_is_told_of_once_and_memories_again_when_they_change(live: Live, name: str, language: str) -> None:
    user = live.new_user(name, language=language)
    remember(user, f"{name} sails.")
    talk = Conversation(user, live.sim, features={"memory": True})
    first = talk.body(talk.ask("Who am I?"))
    second = talk.body(talk.ask("And now?"))
    remember(user, f"{name} has a cat.")
    third = talk.body(talk.ask("And then?"))
    for body in (first, second, third):
        assert_valid(body)
    assert_continues(second, first)
    assert_continues(third, second)
    values = [told(said.asked) for said in third.said]
    opening = {key: values[0][key] for key in ("USER_NAME", "USER_LANGUAGE", "MEMORIES")}
    assert opening == {"USER_NAME": name, "USER_LANGUAGE": language, "MEMORIES": f"- {name} sails."}
    assert values[0]["NOW"].endswith("+0000")
    assert values[1].keys() <= {"NOW"}
    # Two of one second have no order: Open WebUI keeps whole seconds.
    assert sorted(values[2]["MEMORIES"].split("\n")) == [f"- {name} has a cat.", f"- {name} sails."]


def test_a_user_who_switches_it_off_is_not_told_of(live: Live) -> None:
    user = live.new_user("Nemo")
    user.post(f"{FILTER}/valves/user/update", {"ENABLED": False})
    talk = Conversation(user, live.sim)
    assert "Nemo" not in talk.body(talk.ask("Who am I?")).text


def test_a_filter_that_an_administrator_switches_off_is_off(live: Live) -> None:
    user = live.new_user("Nobody")
    live.admin.post(f"{FILTER}/toggle")
    try:
        talk = Conversation(user, live.sim)
        assert "Nobody" not in talk.body(talk.ask("Who am I?")).text
    finally:
        live.admin.post(f"{FILTER}/toggle")
    assert "Nobody" in talk.body(talk.ask("And now?")).text


def test_a_workspace_model_over_echo_has_the_stage_too(live: Live, ada: Client) -> None:
    record = {"id": "context_tutor", "base_model_id": ECHO_MODEL_ID, "name": "Tutor", "meta": {}, "params": {}}
    grant = {"principal_type": "user", "principal_id": "*", "permission": "read"}
    live.admin.post("/api/v1/models/create", record | {"access_grants": [grant], "is_active": True})
    live.admin.get("/api/models")
    talk = Conversation(ada, live.sim, model="context_tutor")
    assert told(talk.body(talk.ask("Who am I?")).said[0].asked)["USER_NAME"] == "Ada"
