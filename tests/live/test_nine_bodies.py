"""Three earlier signed answers in nine situations: all signatures that can come back do come back."""

from collections.abc import Callable

import pytest

from live import answers
from live.bodies import Body, assert_valid
from live.client import Client
from live.moves import Conversation, TemporaryChat, bodies_of
from live.stack import Live

TOOL = '''
class Tools:
    def nine_lookup(self, key: str) -> str:
        """Look a value up.

        :param key: what to look up
        """
        return f"value of {key}"
'''


def plain(live: Live, talk: Conversation) -> Body:
    for index in range(3):
        talk.ask(f"Question {index}.")
    return talk.body(talk.ask("And now?"))


def compacted(live: Live, talk: Conversation) -> Body:
    config = live.admin.get("/api/v1/chats/config")
    on = {"ENABLE_CONTEXT_COMPACTION": True, "CONTEXT_COMPACTION_TOKEN_THRESHOLD": 60}
    live.admin.post("/api/v1/chats/config", config | on)
    try:
        return plain(live, talk)
    finally:
        live.admin.post("/api/v1/chats/config", config)


def with_tools(live: Live, talk: Conversation) -> Body:
    form = {"id": "nine_lookup", "name": "Lookup", "content": TOOL, "meta": {"description": "Looks things up."}}
    grant = {"principal_type": "user", "principal_id": "*", "permission": "read"}
    live.admin.post("/api/v1/tools/create", form | {"access_grants": [grant]})
    try:
        talk.extra = {"tool_ids": ["nine_lookup"]}
        talk.ask("First.")
        talk.ask('call nine_lookup {"key": "a"}')
        talk.ask("Third.")
        sent = talk.body(talk.ask("And now?"))
    finally:
        live.admin.delete("/api/v1/tools/id/nine_lookup/delete")
    assert '"functionCall"' in sent.text and '"functionResponse"' in sent.text
    return sent


def one_edited(live: Live, talk: Conversation) -> Body:
    turns = [talk.ask(f"Question {index}.") for index in range(3)]
    talk.edit_answer(turns[0].assistant_id, "Edited by the user.")
    return talk.body(talk.ask("And now?"))


def another_branch_is_current(live: Live, talk: Conversation) -> Body:
    turns = [talk.ask(f"Question {index}.") for index in range(3)]
    side = talk.ask("Aside.", after=turns[0].assistant_id)
    talk.look_at(side.assistant_id)
    return talk.body(talk.ask("And now?", after=turns[2].assistant_id))


def saved_by_the_page(live: Live, talk: Conversation) -> Body:
    for index in range(3):
        talk.ask(f"Question {index}.")
    chat = talk.chat()
    for message in chat["history"]["messages"].values():
        for key in set(message) - {"id", "parentId", "childrenIds", "role", "content", "output", "done", "model"}:
            message.pop(key)
    talk.save(chat)
    return talk.body(talk.ask("And now?"))


def temporary(live: Live, talk: Conversation) -> Body:
    chat = TemporaryChat(talk.client, live.sim)
    numbers = [chat.ask(f"Question {index}.")[0] for index in range(4)]
    chat.socket.close()
    return bodies_of(live.sim, numbers[-1])[-1]


def with_a_reasoning_block(live: Live, talk: Conversation) -> Body:
    turns = [talk.ask(f"Question {index}.") for index in range(3)]
    message = talk.messages()[turns[0].assistant_id]
    message["content"] = f'<details type="reasoning" done="true">\n> SECRET THOUGHT\n</details>\n{turns[0].text}'
    message["output"] = None
    talk.restore(turns[0].assistant_id, message)
    sent = talk.body(talk.ask("And now?"))
    assert "SECRET THOUGHT" not in sent.text
    return sent


def with_an_empty_answer(live: Live, talk: Conversation) -> Body:
    talk.ask("First.")
    live.sim.script({"match": answers.saying("NOANSWER"), **answers.prompt_blocked()})
    talk.ask("NOANSWER")
    talk.ask("Third.")
    return talk.body(talk.ask("And now?"))


@pytest.mark.parametrize(
    ("situation", "expected"),
    [
        (plain, 3),
        (compacted, 3),
        (with_tools, 4),  # the call of the second answer is signed, and so is its text
        (one_edited, 2),
        (another_branch_is_current, 3),
        (saved_by_the_page, 3),
        (temporary, 3),
        (with_a_reasoning_block, 3),
        (with_an_empty_answer, 2),
    ],
)
def test_signatures_that_can_come_back_do(
    live: Live, ada: Client, situation: Callable[[Live, Conversation], Body], expected: int
) -> None:
    sent = situation(live, Conversation(ada, live.sim))
    assert_valid(sent)
    assert sent.status == 200
    assert sent.signatures == expected
