"""What ECHO tells of its own: for each user in their language, off where somebody switched it off, never elsewhere."""

import json
from collections.abc import Iterator

import pytest

from echo_aec import parse_artifact
from echo_cli._model_record import EVERYBODY_READS
from echo_runtime.model_record import ECHO_MODEL_ID
from live.bodies import Body, assert_continues, assert_valid
from live.client import Client
from live.moves import Conversation
from live.stack import Live

FILTER = "/api/v1/functions/id/new_context_filter"
OTHER = '''"""
title: Other
"""


class Pipe:
    async def pipe(self, body: dict, __metadata__: dict) -> str:
        ours = sorted(key for key in __metadata__ if key.startswith("_echo"))
        return f"{ours} {[m['role'] for m in body['messages']]} {body['messages'][-1]['content']}"
'''


def system(body: Body) -> str:
    parts = (body.json.get("systemInstruction") or {"parts": []})["parts"]
    return "\n".join(part["text"] for part in parts)


def kinds(body: Body) -> set[str]:
    """The artifacts of the last question."""
    texts = [part.get("text", "") for part in json.loads(body.said[-1].asked)["parts"]]
    return {parse_artifact(text).id for text in texts if text.startswith("<artifact ")}


@pytest.mark.parametrize(
    ("name", "language", "words"), [("Grace", "en-US", "You are ECHO"), ("Blaise", "fr-FR", "Vous êtes ECHO")]
)
def test_each_user_is_served_in_their_language_and_switches_it_off_for_themself(
    live: Live, ada: Client, name: str, language: str, words: str
) -> None:
    user = live.new_user(name, language=language)
    talk = Conversation(user, live.sim)
    first = talk.body(talk.ask("Who are you?"))
    assert words in system(first)
    assert kinds(first) >= {"AEC_modele", "AEC_identite"}
    user.post(f"{FILTER}/valves/user/update", {"ENABLED": False})
    second = talk.body(talk.ask("And now?"))
    third = talk.body(talk.ask("And then?"))
    assert_continues(second, first)
    assert_continues(third, second)
    assert kinds(second) - {"AEC_temps"} == {"AEC_upgrade"}, "told once that ECHO's prompt counts no more"
    assert kinds(third) <= {"AEC_temps"}
    anew = Conversation(user, live.sim)
    bare = anew.body(anew.ask("Who are you?"))
    assert system(bare) == ""
    assert "AEC_modele" not in kinds(bare)
    assert name in json.dumps(bare.json, ensure_ascii=False), "the other filters are on"
    others = Conversation(ada, live.sim)
    assert "AEC_modele" in kinds(others.body(others.ask("Who are you?")))


def test_an_administrator_switches_it_off_for_all(live: Live, ada: Client) -> None:
    live.admin.post(f"{FILTER}/toggle")
    try:
        talk = Conversation(ada, live.sim)
        off = talk.body(talk.ask("Who are you?"))
    finally:
        live.admin.post(f"{FILTER}/toggle")
    assert system(off) == ""
    assert "AEC_modele" not in kinds(off)
    assert {"AEC_modele", "AEC_upgrade"} <= kinds(talk.body(talk.ask("And now?")))


def test_a_workspace_model_over_echo_has_the_stage_too(live: Live, ada: Client) -> None:
    record = {"id": "own_tutor", "base_model_id": ECHO_MODEL_ID, "name": "Tutor", "meta": {}, "params": {}}
    live.admin.post("/api/v1/models/create", record | {"access_grants": [EVERYBODY_READS], "is_active": True})
    live.admin.get("/api/models")
    talk = Conversation(ada, live.sim, model="own_tutor")
    body = talk.body(talk.ask("Who are you?"))
    assert_valid(body)
    assert "AEC_modele" in kinds(body)


@pytest.fixture
def other_model(live: Live) -> Iterator[str]:
    form = {"id": "own_other", "name": "Other", "content": OTHER, "meta": {"description": "", "manifest": {}}}
    live.admin.post("/api/v1/functions/create", form)
    record = {"id": "own_other", "base_model_id": None, "name": "Other", "meta": {}, "params": {}}
    live.admin.post("/api/v1/functions/id/own_other/toggle")
    live.admin.post("/api/v1/models/create", record | {"access_grants": [EVERYBODY_READS], "is_active": True})
    live.admin.get("/api/models", refresh="true")
    yield "own_other"
    live.admin.post("/api/v1/models/model/delete", {"id": "own_other"})
    live.admin.delete("/api/v1/functions/id/own_other/delete")


def test_a_model_that_is_not_echo_is_untouched(live: Live, ada: Client, other_model: str) -> None:
    answer = ada.turn("Hello, other.", model=other_model)
    assert answer.text == "[] ['user'] Hello, other."
