"""Open WebUI's own sub-agents, automations and note chats on ECHO: answered, sealed, their tools run once."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from echo_cli._model_record import ECHO_MODEL_ID
from live.client import Client, Turn, poll
from live.moves import Conversation
from live.native_tools import native_model
from live.records import verified
from live.stack import Live


@pytest.fixture(scope="module")
def native(live: Live) -> Iterator[str]:
    with native_model(live, "user_input", "subagents") as model:
        yield model


@pytest.fixture(autouse=True)
def _fresh(live: Live) -> None:
    live.sim.reset()


def results_of(turn: Turn) -> list[str]:
    return [item["output"][0]["text"] for item in turn.output if item["type"] == "function_call_output"]


def bodies(live: Live) -> list[dict[str, Any]]:
    return [json.loads(request["body"]) for request in live.sim.requests("streamGenerateContent")]


def test_a_native_sub_agent_runs_on_echo_and_knows_that_it_is_one(live: Live, ada: Client, native: str) -> None:
    talk = Conversation(ada, live.sim)
    turn = talk.ask(f"Please call delegate_task {json.dumps({'task': 'Write about tea.'})}", model=native)
    first, agents, last = bodies(live)
    assert "delegate_task" in json.dumps(first["tools"])
    prompt = agents["systemInstruction"]["parts"][0]["text"]
    assert "You are a sub-agent working on a specific task assigned by the lead agent." in prompt
    assert "sub-agent working" not in first["systemInstruction"]["parts"][0]["text"]
    assert "Write about tea." in json.dumps(agents["contents"])
    (told,) = results_of(turn)
    assert not told.startswith("Error")
    assert last["contents"][-1]["parts"][0]["functionResponse"]["response"]["output"] == told
    assert len([item for item in turn.output if item["type"] == "function_call"]) == 1
    assert verified(live, ada.id, turn.chat_id).is_sound
    follow = talk.ask("And now?", model=native)
    assert not follow.error
    assert bodies(live)[-1]["contents"][: len(last["contents"])] == last["contents"]


def test_a_native_sub_agent_in_the_background_reports_back_and_the_chat_goes_on(
    live: Live, ada: Client, native: str
) -> None:
    settings = live.admin.get("/api/v1/configs/subagents")
    live.admin.post("/api/v1/configs/subagents", settings | {"SUBAGENTS_BACKGROUND_ENABLED": True})
    try:
        asked = json.dumps({"task": "Write about tea.", "background": True})
        turn = Conversation(ada, live.sim).ask(f"Please call delegate_task {asked}", model=native)
        assert json.loads(results_of(turn)[0])["status"] == "dispatched"

        def went_on() -> tuple[dict[str, Any], dict[str, Any]] | None:
            messages = ada.messages(turn.chat_id)
            report = next((m for m in messages.values() if "ASYNC SUBAGENT COMPLETE" in str(m["content"])), None)
            answer = messages.get((report or {}).get("childrenIds", [""])[0]) if report else None
            return (report, answer) if report and answer and answer.get("done") else None

        report, answer = poll(went_on, "the answer to the report")
    finally:
        live.admin.post("/api/v1/configs/subagents", settings)
    assert report["parentId"] == turn.assistant_id
    assert not answer.get("error")
    of_chat = [body["contents"] for body in bodies(live) if "Please call delegate_task" in json.dumps(body["contents"])]
    assert all(after[: len(before)] == before for before, after in pairwise(of_chat))
    assert "Status: completed" in json.dumps(of_chat[-1][-1])
    assert verified(live, ada.id, turn.chat_id).is_sound


def test_a_native_sub_agent_that_fails_is_told_as_an_error(live: Live, ada: Client, native: str) -> None:
    refused = {
        "status": 400,
        "chunks": [{"text": '{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}'}],
    }
    live.sim.script({**refused, "match": {"body_regex": "sub-agent working on a specific task"}})
    turn = Conversation(ada, live.sim).ask('Please call delegate_task {"task": "Fail."}', model=native)
    assert not turn.error
    (told,) = results_of(turn)
    assert told.startswith("Error")


def test_a_question_to_a_user_who_is_not_there_is_an_answer_for_the_model(live: Live, ada: Client, native: str) -> None:
    options = [{"label": "Green", "description": "Mild."}, {"label": "Black", "description": "Strong."}]
    asked = {"questions": [{"id": "tea", "header": "Tea", "question": "Which?", "options": options}]}
    turn = Conversation(ada, live.sim).ask(f"Please call ask_user {json.dumps(asked)}", model=native)
    (told,) = results_of(turn)
    assert json.loads(told)["status"] == "error"
    assert not turn.error


def test_an_automation_is_answered_in_a_chat_of_its_own(live: Live) -> None:
    data = {"prompt": "Please call codex_workspaces {}", "model_id": ECHO_MODEL_ID, "rrule": "FREQ=DAILY;INTERVAL=1"}
    made = live.admin.post("/api/v1/automations/create", {"name": "Daily", "data": data, "is_active": False})
    path = f"/api/v1/automations/{made['id']}"
    try:
        live.admin.post(f"{path}/run")
        chat_id = poll(lambda: next((run["chat_id"] for run in live.admin.get(f"{path}/runs")), None), "a run")

        def answered() -> dict[str, Any] | None:
            messages = live.admin.messages(chat_id).values()
            return next((m for m in messages if m["role"] == "assistant" and m.get("done")), None)

        message = poll(answered, "the answer of the automation")
        kinds = [item["type"] for item in message["output"]]
        assert kinds.count("function_call") == kinds.count("function_call_output") == 1
        assert not message.get("error")
        assert len(bodies(live)) == 2
        assert verified(live, live.admin.id, chat_id).is_sound
    finally:
        live.admin.delete(f"{path}/delete")


def test_the_chat_of_a_note_reads_and_changes_the_note(live: Live) -> None:
    form = {"title": "Tea", "data": {"content": {"json": None, "html": "", "md": "Boil the water."}}}
    note = live.admin.post("/api/v1/notes/create", {**form, "meta": None, "access_grants": []})
    chat = live.admin.get(f"/api/v1/notes/{note['id']}/chat")
    system = chat["chat"]["params"]["system"]
    question = f"Please call view_note {json.dumps({'note_id': note['id']})}"
    turn = live.admin.turn(question, chat_id=chat["id"], messages=[{"role": "system", "content": system}])
    assert "Boil the water." in results_of(turn)[0]
    first = bodies(live)[0]
    assert note["id"] in first["systemInstruction"]["parts"][0]["text"]
    assert {"view_note", "replace_note_content"} <= {
        tool["name"] for group in first["tools"] for tool in group.get("functionDeclarations", [])
    }
    change = {"note_id": note["id"], "content": "Heat the water."}
    turn = live.admin.turn(
        f"Please call replace_note_content {json.dumps(change)}",
        chat_id=chat["id"],
        parent=turn.assistant_id,
        messages=[{"role": "system", "content": system}],
    )
    assert live.admin.get(f"/api/v1/notes/{note['id']}")["data"]["content"]["md"] == "Heat the water."
    assert verified(live, live.admin.id, chat["id"]).is_sound
