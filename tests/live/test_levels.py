"""Model levels on the real Open WebUI: the judgement, the handing over, the cascade, and what stays of them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from echo_workers.gemini_sim.core import faults
from live import answers
from live.client import Client, Turn
from live.records import session_rows
from live.stack import Live

LEVEL = {model: level for level, model in answers.MODEL.items()}


@pytest.fixture(scope="module", autouse=True)
def _auto(live: Live) -> Iterator[None]:
    with live.valves(MODEL_SELECTION="AUTO"):
        yield


def asked(live: Live) -> list[tuple[str, dict[str, Any]]]:
    """Level and body of each question, oldest first."""
    rows = live.sim.requests("streamGenerateContent")
    assert all(row["status"] in (200, 429, 503) for row in rows), [row["status"] for row in rows]
    return [(LEVEL[row["path"].split("/models/")[1].split(":")[0]], json.loads(row["body"])) for row in rows]


def lines(turn: Turn) -> list[str]:
    return [status["description"] for status in turn.message.get("statusHistory") or []]


def test_a_task_is_handed_over_with_its_plan_and_the_chat_stays_there(live: Live, lea: Client) -> None:
    live.sim.reset()
    live.sim.script(answers.judged("LITE"), answers.handing_over("PRO", "Démontre"))
    turn = lea.turn("Démontre le théorème.")
    assert turn.text and not turn.error
    (first, _), (second, body) = asked(live)
    assert (first, second) == ("LITE", "PRO")
    assert "Niveau de modèle : LITE → PRO" in lines(turn)
    response = body["contents"][-1]["parts"][0]["functionResponse"]
    assert (response["name"], response["id"]) == ("new_cognitive_level", "h4nd0ver")
    [card] = [item for item in turn.output if item["type"] == "function_call"]
    assert json.loads(card["arguments"])["transfer_plan"] == answers.PLAN
    kept = "SELECT payload, anchor_message_id FROM echo_resources WHERE resource_type = 'plan'"
    [plan] = session_rows(live, turn.chat_id, kept)
    assert plan == (answers.PLAN, turn.assistant_id)
    sealed = "SELECT overlay_json FROM message_shadows WHERE role = 'model'"
    [(overlay,)] = session_rows(live, turn.chat_id, sealed)
    assert [(e["from"], e["to"]) for e in json.loads(overlay) if e.get("kind") == "route"] == [("LITE", "PRO")]
    live.sim.reset()
    following = lea.turn("Et ensuite ?", chat_id=turn.chat_id, parent=turn.assistant_id)
    [(level, next_body)] = asked(live)
    assert level == "PRO" and not following.error
    assert next_body["contents"][: len(body["contents"])] == body["contents"]


def test_a_busy_level_hands_down_for_one_answer(live: Live, ada: Client) -> None:
    live.sim.reset()
    day = faults.quota_exhausted(answers.MODEL["PRO"], quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier")
    live.sim.script(
        answers.judged("PRO"), {**day, "match": {"method": "streamGenerateContent", "model": answers.MODEL["PRO"]}}
    )
    turn = ada.turn("Prove the theorem.")
    assert [level for level, _ in asked(live)] == ["PRO", "FLASH"]
    assert turn.text and not turn.error
    [line] = [line for line in lines(turn) if "→" in line]
    assert re.match(r"Model level: PRO → FLASH for this answer\. The Gemini quota for this model", line)
    live.sim.reset()
    assert not ada.turn("And then?", chat_id=turn.chat_id, parent=turn.assistant_id).error
    assert [level for level, _ in asked(live)] == ["PRO"]


def test_a_judgement_that_does_not_come_costs_less_than_a_second(live: Live, ada: Client) -> None:
    live.sim.reset()
    live.sim.script({"match": answers.JUDGEMENT, "end": "hang"})
    turn = ada.turn("Hello.")
    assert [level for level, _ in asked(live)] == ["FLASH"]
    assert turn.text and not turn.error
