"""What users of other plugins complain of, each as a kind: history lost, changed or refused by Gemini."""

from collections.abc import Iterator

import pytest

from echo_cli._model_record import ECHO_MODEL_ID
from live.bodies import assert_continues, assert_valid
from live.client import Client, poll
from live.moves import Conversation
from live.stack import Live

TOOLS = '''
import asyncio


class Tools:
    async def stay_away(self) -> str:
        """Never come back."""
        await asyncio.Event().wait()
        return "back"

    async def scribble(self, __event_emitter__=None) -> str:
        """Write into the answer from outside."""
        await __event_emitter__({"type": "message", "data": {"content": "SCRIBBLED"}})
        await __event_emitter__({"type": "replace", "data": {"content": "REPLACED"}})
        return "done"
'''

OTHER_MODEL = """
class Pipe:
    async def pipe(self, body):
        return "I am another model."
"""


@pytest.fixture(scope="module")
def toolkit(live: Live) -> Iterator[str]:
    grant = {"principal_type": "user", "principal_id": "*", "permission": "read"}
    form = {"id": "lost_tools", "name": "Tools", "content": TOOLS, "meta": {"description": "For tests."}}
    live.admin.post("/api/v1/tools/create", form | {"access_grants": [grant]})
    yield "lost_tools"
    live.admin.delete("/api/v1/tools/id/lost_tools/delete")


@pytest.fixture(scope="module")
def other_model(live: Live) -> Iterator[str]:
    """A model of another plugin that everybody may use."""
    form = {"id": "other_model", "name": "Other", "content": OTHER_MODEL, "meta": {"description": "", "manifest": {}}}
    grant = {"principal_type": "user", "principal_id": "*", "permission": "read"}
    record = {"id": "other_model", "base_model_id": None, "name": "Other", "meta": {}, "params": {}}
    live.admin.post("/api/v1/functions/create", form)
    live.admin.post("/api/v1/functions/id/other_model/toggle")
    live.admin.post("/api/v1/models/create", record | {"access_grants": [grant], "is_active": True})
    live.admin.get("/api/models", refresh="true")
    yield "other_model"
    live.admin.post("/api/v1/models/model/delete", {"id": "other_model"})
    live.admin.delete("/api/v1/functions/id/other_model/delete")


@pytest.fixture
def talk(live: Live, ada: Client) -> Conversation:
    return Conversation(ada, live.sim)


def test_thoughts_never_go_back_as_text(talk: Conversation) -> None:
    first = talk.ask("Think about it.")
    assert any(item["type"] == "reasoning" for item in first.output)
    sent = talk.body(talk.ask("And now?"))
    assert_valid(sent)
    assert "Reading the request" not in sent.text
    assert sent.signatures == 1


def test_records_do_not_depend_on_the_outlet(live: Live, talk: Conversation) -> None:
    toggle = "/api/v1/functions/id/echo_version_lock/toggle"
    live.admin.post(toggle)
    try:
        first = talk.ask("First.")
        sent = talk.body(talk.ask("Second."))
    finally:
        live.admin.post(toggle)
    assert_continues(sent, talk.body(first))
    assert sent.signatures == 1


def test_signatures_hold_between_the_steps_of_a_turn_and_across_turns(talk: Conversation, toolkit: str) -> None:
    talk.extra = {"tool_ids": [toolkit]}
    turn = talk.ask("call scribble")
    asking, answering = talk.bodies(turn)
    assert_continues(answering, asking)
    assert answering.signatures == 1
    after = talk.body(talk.ask("And now?"))
    assert_continues(after, answering)
    assert after.signatures == 2


def test_what_events_write_into_messages_changes_nothing_above(talk: Conversation, toolkit: str) -> None:
    talk.extra = {"tool_ids": [toolkit]}
    first = talk.ask("First.")
    talk.ask("call scribble")
    talk.save(talk.chat())
    sent = talk.body(talk.ask("And now?"))
    assert_valid(sent)
    assert_continues(sent, talk.body(first))
    assert sent.said[0].signatures == 1
    assert "SCRIBBLED" not in sent.said[0].answer[0]


def test_a_stop_while_a_tool_runs_leaves_a_closed_call(live: Live, talk: Conversation, toolkit: str) -> None:
    talk.extra = {"tool_ids": [toolkit]}
    talk.ask("First.")
    chat_id, user_id, answer_id = talk.start("call stay_away")
    poll(lambda: any(b.status == 200 for b in talk.bodies_of_question(user_id)) or None, "the model to call the tool")
    live.sim.wait_ended(talk.number(user_id), "complete")
    talk.client.stop(chat_id)
    talk.client.wait_turn(chat_id, user_id, answer_id)
    sent = talk.body(talk.ask("And now?"))
    assert_valid(sent)
    assert sent.status == 200
    assert [said.signatures for said in sent.said] == [1, 1, 0]
    assert '"functionResponse"' in sent.said[1].answer[1]


def test_another_models_answers_are_read_as_text_and_ours_stay_signed(
    live: Live, talk: Conversation, other_model: str
) -> None:
    first = talk.ask("First.")
    talk.ask("You, the other one.", model=other_model)
    sent = talk.body(talk.ask("And now?", model=ECHO_MODEL_ID))
    assert_valid(sent)
    assert sent.status == 200
    assert sent.contents[:1] == talk.body(first).contents
    assert [said.signatures for said in sent.said] == [1, 0, 0]
    assert "I am another model." in sent.said[1].answer[0]
    after = talk.body(talk.ask("Again."))
    assert_continues(after, sent)
