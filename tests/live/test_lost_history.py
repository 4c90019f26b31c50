"""What users of other plugins complain of, each as a kind: history lost, changed or refused by Gemini.

The numbers are those of docs/complaints.md.
"""

from collections.abc import Callable, Iterator
from typing import Any

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

    async def lookup(self, key: str) -> str:
        """Look a value up.

        :param key: what to look up
        """
        return f"value of {key}"

    async def scribble(self, kind: str, __event_emitter__=None) -> str:
        """Write into the answer from outside.

        :param kind: of the event
        """
        data = {"content": "SCRIBBLED"}
        if kind == "chat:completion":
            data = {"choices": [{"delta": {"content": "SCRIBBLED"}}], "content": "SCRIBBLED"}
        if kind == "files":
            data = {"files": [{"type": "image", "url": "SCRIBBLED"}]}
        await __event_emitter__({"type": kind, "data": data})
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


OUTLET = """
class Filter:
    async def outlet(self, body):
        if "OUTLET" in body["messages"][-2]["content"]:
            raise RuntimeError("another plugin's fault")
        return body
"""


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


def with_details(message: dict[str, Any], text: str) -> dict[str, Any]:
    """As other plugins and older releases write thoughts."""
    block = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> A SECRET THOUGHT\n</details>\n'
    return message | {"content": block + text, "output": None}


def with_a_think_tag(message: dict[str, Any], text: str) -> dict[str, Any]:
    return message | {"content": f"<think>A SECRET THOUGHT</think>\n{text}", "output": None}


def edited_with_details(message: dict[str, Any], text: str) -> dict[str, Any]:
    """An edit, so that the record does not count and the page's text does."""
    return with_details(message, "Something else was said.")


def with_reasoning_items(message: dict[str, Any], text: str) -> dict[str, Any]:
    thought = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "A SECRET THOUGHT"}]}
    said = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Something else was said."}]}
    return message | {"content": "Something else was said.", "output": [thought, said]}


@pytest.mark.parametrize("rewritten", [None, with_details, with_a_think_tag, edited_with_details, with_reasoning_items])
def test_c04_thoughts_never_go_back_as_text(
    talk: Conversation, rewritten: Callable[[dict[str, Any], str], dict[str, Any]] | None
) -> None:
    first = talk.ask("Think about it.")
    assert any(item["type"] == "reasoning" for item in first.output)
    if rewritten is not None:
        talk.restore(first.assistant_id, rewritten(talk.messages()[first.assistant_id], first.text))
    sent = talk.body(talk.ask("And now?"))
    assert_valid(sent)
    assert "Reading the request" not in sent.text and "SECRET THOUGHT" not in sent.text
    kept = rewritten not in (edited_with_details, with_reasoning_items)
    assert sent.signatures == kept
    assert ("Something else was said." in sent.text) != kept


def test_c08_records_do_not_depend_on_the_outlet(live: Live, talk: Conversation) -> None:
    toggle = "/api/v1/functions/id/echo_version_lock/toggle"
    live.admin.post(toggle)
    try:
        first = talk.ask("First.")
        sent = talk.body(talk.ask("Second."))
    finally:
        live.admin.post(toggle)
    assert_continues(sent, talk.body(first))
    assert sent.signatures == 1


def test_c08_records_do_not_depend_on_other_plugins_outlets(live: Live, talk: Conversation) -> None:
    form = {"id": "outlet_raises", "name": "Raises", "content": OUTLET, "meta": {"description": "", "manifest": {}}}
    live.admin.post("/api/v1/functions/create", form)
    live.admin.post("/api/v1/functions/id/outlet_raises/toggle")
    live.admin.post("/api/v1/functions/id/outlet_raises/toggle/global")
    try:
        first = talk.ask("OUTLET")
        sent = talk.body(talk.ask("Second."))
    finally:
        live.admin.delete("/api/v1/functions/id/outlet_raises/delete")
    assert_continues(sent, talk.body(first))
    assert sent.signatures == 1


A, B, C = 'call lookup {"key": "a"}', 'call lookup {"key": "b"}', 'call lookup {"key": "c"}'


@pytest.mark.parametrize(
    ("question", "steps"),
    [(A, 1), (f"{A} and {B}", 1), (f"{A}, then {B}", 2), (f"{A} and {B}, then {C}, then {A}", 3)],
    ids=["one step", "parallel", "two steps", "three steps"],
)
def test_c12_signatures_hold_between_the_steps_of_a_turn_and_across_turns(
    talk: Conversation, toolkit: str, question: str, steps: int
) -> None:
    talk.extra = {"tool_ids": [toolkit]}
    bodies = talk.bodies(talk.ask(question))
    assert [body.signatures for body in bodies] == [*range(steps + 1)]
    after = talk.body(talk.ask("And now?"))
    for earlier, later in zip(bodies, [*bodies[1:], after], strict=True):
        assert_valid(later)
        assert_continues(later, earlier)
    assert after.signatures == steps + 1


@pytest.mark.parametrize(
    "saved", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["as it is", "saved by the page"]
)
@pytest.mark.parametrize(
    "kind", ["message", "replace", "chat:message", "chat:message:delta", "chat:completion", "files"]
)
def test_c15_c16_what_events_write_into_messages_changes_nothing_above(
    talk: Conversation, toolkit: str, kind: str, saved: bool
) -> None:
    talk.extra = {"tool_ids": [toolkit]}
    first = talk.ask("First.")
    copy = talk.chat()
    second = talk.ask(f'call scribble {{"kind": "{kind}"}}')
    if saved:
        talk.save(talk.chat() if kind != "message" else copy)
    sent = talk.body(talk.ask("And now?", after=second.assistant_id))
    assert_valid(sent)
    assert_continues(sent, talk.body(first))
    assert sent.said[0].signatures == 1
    assert "SCRIBBLED" not in "".join(sent.said[0].answer)


@pytest.mark.parametrize(
    ("question", "signatures"),
    [
        ("call stay_away", 1),
        (f"{A} and call stay_away", 1),
        (f"{A}, then call stay_away", 2),
        (f"{A}, then call stay_away and {B}", 2),
    ],
    ids=["alone", "beside one that came back", "in the second step", "first of two in the second step"],
)
def test_c19_a_stop_while_a_tool_runs_leaves_closed_calls(
    live: Live, talk: Conversation, toolkit: str, question: str, signatures: int
) -> None:
    talk.extra = {"tool_ids": [toolkit]}
    talk.ask("First.")
    chat_id, user_id, answer_id = talk.start(question)
    poll(lambda: len(talk.bodies_of_question(user_id)) == signatures or None, "the model to call the tool")
    live.sim.wait_ended_last(talk.number(user_id), "complete")
    talk.client.stop(chat_id)
    stopped = talk.client.wait_turn(chat_id, user_id, answer_id)
    last = talk.bodies_of_question(user_id)[-1]
    sent = talk.body(talk.ask("And now?"))
    assert_valid(sent)
    assert sent.status == 200
    assert_continues(sent, last)
    assert [said.signatures for said in sent.said] == [1, signatures, 0]
    again = talk.regenerate(stopped, guided="Without the tool.")
    assert_valid(talk.body(again))
    assert talk.body(again).status == 200


def test_c30_memory_switched_on_in_a_chat_loses_nothing(talk: Conversation) -> None:
    first = talk.ask("First.")
    second = talk.ask("You remember what I asked?", features={"memory": True})
    sent = talk.body(talk.ask("And that?", features={"memory": True}))
    assert_continues(talk.body(second), talk.body(first))
    assert_continues(sent, talk.body(second))
    assert [said.signatures for said in sent.said] == [1, 1, 0]


def test_c39_another_models_answers_are_read_as_text_and_ours_stay_signed(
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


def test_c39_another_key_gets_no_signature_of_the_first_and_both_return_with_it(live: Live, toolkit: str) -> None:
    client = live.new_user("Keyholder")
    talk = Conversation(client, live.sim, tool_ids=[toolkit])
    first = talk.ask(A)
    before = talk.bodies(first)[-1]
    client.request("PUT", "/echo/api/keys", {"key": "a-key-of-ones-own"})
    asking, answering = talk.bodies(talk.ask(B))
    assert asking.key != before.key
    assert [body.status for body in (asking, answering)] == [200, 200]
    assert [said.signatures for said in answering.said] == [0, 1]
    assert_continues(answering, asking)
    client.delete("/echo/api/keys")
    back = talk.body(talk.ask("And now?"))
    assert_continues(back, before)
    assert [said.signatures for said in back.said] == [2, 0, 0]
