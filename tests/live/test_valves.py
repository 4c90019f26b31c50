"""Valves take effect with the next message, for whom they are meant."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from echo_paths import EchoPaths
from echo_protocol import Catalogue
from live.bodies import Body
from live.client import Client
from live.moves import Conversation
from live.stack import Live

USER_VALVES = "/api/v1/functions/id/echo_orchestrator/valves/user/update"


def model_id(level: str) -> str:
    return Catalogue.load().resolve(f"MODEL_{level}", "ai_studio").backend_id("ai_studio")


def asked(live: Live, client: Client) -> tuple[str, dict[str, Any]]:
    """The model and the body of one question."""
    live.sim.reset()
    assert client.turn("Say hello.").text
    [request] = live.sim.requests("streamGenerateContent")
    return request["path"].split("/models/")[1].split(":")[0], json.loads(request["body"])


def test_the_admins_model_counts_until_a_user_chooses_one(live: Live, ada: Client, lea: Client) -> None:
    assert asked(live, ada)[0] == model_id("FLASH")
    with live.valves(MODEL_SELECTION="PRO"):
        assert asked(live, ada)[0] == model_id("PRO")
        lea.post(USER_VALVES, {"MODEL_SELECTION": "LITE"})
        assert asked(live, lea)[0] == model_id("LITE")
        assert asked(live, ada)[0] == model_id("PRO")
    lea.post(USER_VALVES, {})
    assert asked(live, lea)[0] == model_id("FLASH")


def test_thoughts_and_effort_are_the_users_choice(live: Live, ada: Client, lea: Client) -> None:
    lea.post(USER_VALVES, {"SHOW_THOUGHTS": False, "REASONING_EFFORT": "low"})
    _, body = asked(live, lea)
    assert body["generationConfig"]["thinkingConfig"] == {"includeThoughts": False, "thinkingLevel": "LOW"}
    assert asked(live, ada)[1]["generationConfig"]["thinkingConfig"]["includeThoughts"] is True
    lea.post(USER_VALVES, {})


def test_the_safety_threshold_is_sent(live: Live, ada: Client) -> None:
    assert "safetySettings" not in asked(live, ada)[1]
    with live.valves(SAFETY_THRESHOLD="BLOCK_NONE"):
        settings = asked(live, ada)[1]["safetySettings"]
    assert {setting["threshold"] for setting in settings} == {"BLOCK_NONE"}


def test_records_are_encrypted_from_the_switch_on_and_stay_readable(live: Live, ada: Client) -> None:
    talk = Conversation(ada, live.sim)
    talk.ask("Kumquat.")
    with live.valves(ENCRYPT_RECORDS=True):
        talk.ask("Quetzalcoatl.")
        assert restored(talk.body(talk.ask("Xanadu."))) == [1, 1]
    last = talk.ask("Zanzibar.")
    assert restored(talk.body(last)) == [1, 1, 1]
    content = written(EchoPaths(live.data / "echo").session_db(ada.id, last.chat_id))
    assert [word for word in (b"Kumquat", b"Quetzalcoatl", b"Xanadu", b"Zanzibar") if word in content] == [
        b"Kumquat",
        b"Zanzibar",
    ]


def restored(body: Body) -> list[int]:
    """Signatures that came back, answer by answer."""
    return [said.signatures for said in body.said[:-1]]


def written(path: Path) -> bytes:
    """A database with what lies in its log only."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes() + path.with_name(f"{path.name}-wal").read_bytes()
