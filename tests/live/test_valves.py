"""Valves take effect with the next message, for whom they are meant."""

import json
from typing import Any

from echo_protocol import Catalogue
from live.client import Client
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
