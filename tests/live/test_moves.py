"""Whatever way a conversation moves, Gemini gets exactly what was said; judged by the requests that arrived."""

import itertools
from collections.abc import Iterator

import pytest

from echo_cli._model_record import ECHO_MODEL_ID
from echo_workers.gemini_sim.core import faults
from live import answers
from live.bodies import Body, assert_continues, assert_valid
from live.client import Client, Turn
from live.moves import Conversation, TemporaryChat, bodies_of, number_of
from live.stack import Live

TOOL = '''
class Tools:
    def lookup(self, key: str) -> str:
        """Look a value up.

        :param key: what to look up
        """
        return f"value of {key}"
'''


@pytest.fixture(scope="module")
def lookup(live: Live) -> Iterator[str]:
    """A toolkit that everybody may use."""
    form = {
        "id": "moves_lookup",
        "name": "Lookup",
        "content": TOOL,
        "meta": {"description": "Looks things up."},
        "access_grants": [{"principal_type": "user", "principal_id": "*", "permission": "read"}],
    }
    live.admin.post("/api/v1/tools/create", form)
    yield "moves_lookup"
    live.admin.delete("/api/v1/tools/id/moves_lookup/delete")


@pytest.fixture
def talk(live: Live, ada: Client) -> Conversation:
    """A new chat of Ada's."""
    return Conversation(ada, live.sim)


def three(talk: Conversation) -> list[Turn]:
    """Three ordinary turns."""
    return [talk.ask(f"Question {index}.") for index in range(3)]


def restored(body: Body) -> list[int]:
    """Signatures that came back, answer by answer, without the question asked now."""
    return [said.signatures for said in body.said[:-1]]


def test_each_new_turn_begins_with_what_the_last_one_sent_and_got(talk: Conversation, lookup: str) -> None:
    talk.extra = {"tool_ids": [lookup]}
    turns = [talk.ask("Say something."), talk.ask('call lookup {"key": "a"}'), talk.ask("Thanks."), talk.ask("Bye.")]
    bodies = [body for turn in turns for body in talk.bodies(turn)]
    assert len(bodies) == 5, "the tool turn makes two requests"
    for body in bodies:
        assert_valid(body)
    for earlier, later in itertools.pairwise(bodies):
        assert_continues(later, earlier)
    assert restored(bodies[-1])[0] == 1
    assert restored(bodies[-1])[1] >= 2, "the call and the answer after it"


def test_regenerating_sends_the_very_same_question(talk: Conversation) -> None:
    first, second = talk.ask(), talk.ask()
    before = talk.body(second)
    again = talk.regenerate(second)
    assert again.assistant_id != second.assistant_id
    assert talk.body(again).contents == before.contents
    after = talk.ask()
    assert_continues(talk.body(after), before)
    assert restored(talk.body(after)) == [1, 1]
    back = talk.ask(after=first.assistant_id)
    assert restored(talk.body(back)) == [1]


def test_a_hint_for_regenerating_follows_the_former_answer(talk: Conversation) -> None:
    talk.ask()
    second = talk.ask()
    before = talk.body(second)
    again = talk.regenerate(second, guided="Make it shorter.")
    sent = talk.body(again)
    assert_valid(sent)
    assert_continues(sent, before)
    assert "Make it shorter." in sent.contents[-1]
    assert sent.said[-1].signatures == 1
    after = talk.body(talk.ask())
    assert_valid(after)
    assert len(after.said) == 3


def test_a_continued_answer_is_one_message_with_both_signatures(talk: Conversation) -> None:
    first = talk.ask("write 60 words")
    before = talk.body(first)
    longer = talk.resume(first)
    assert len(longer.text) > len(first.text)
    sent = talk.body(longer)
    assert_continues(sent, before)
    following = talk.body(talk.ask())
    assert_continues(following, sent)
    assert restored(following) == [2]


def test_an_edited_question_leaves_the_turns_above_alone(talk: Conversation) -> None:
    turns = three(talk)
    before = talk.body(turns[2])
    sent = talk.body(talk.edit_and_send(turns[2], "Otherwise."))
    assert sent.contents[:-1] == before.contents[:-1]
    assert restored(sent) == [1, 1]


def test_a_question_edited_in_place_changes_alone(talk: Conversation) -> None:
    turns = three(talk)
    before = talk.body(turns[2])
    words = talk.edit_question(turns[1].user_id, "What I really meant.")
    sent = talk.body(talk.ask())
    assert_valid(sent)
    assert words in sent.contents[2]
    assert [c for i, c in enumerate(sent.contents[: len(before.contents)]) if i != 2] == [
        c for i, c in enumerate(before.contents) if i != 2
    ]
    assert restored(sent) == [1, 1, 1]


def test_an_edited_answer_is_plain_text_and_returns_with_its_signature_when_restored(talk: Conversation) -> None:
    turns = three(talk)
    before = talk.body(turns[2])
    was = talk.messages()[turns[1].assistant_id]
    talk.edit_answer(turns[1].assistant_id, "What the user would rather have read.")
    edited = talk.body(talk.ask())
    assert_valid(edited)
    assert restored(edited) == [1, 0, 1]
    assert "rather have read" in edited.contents[3]
    assert edited.contents[:3] == before.contents[:3]
    assert_continues(talk.body(talk.ask()), edited)
    talk.restore(turns[1].assistant_id, was)
    healed = talk.body(talk.ask())
    assert healed.contents[: len(before.contents)] == before.contents
    assert restored(healed) == [1] * 5


def test_a_turn_deleted_in_the_middle_is_gone_and_the_rest_stays(talk: Conversation) -> None:
    turns = three(talk)
    before = talk.body(turns[2])
    talk.delete(turns[1].user_id)
    sent = talk.body(talk.ask())
    assert_valid(sent)
    assert [said.question for said in sent.said[:-1]] == [before.said[0].question, before.said[2].question]
    assert sent.contents[:2] == before.contents[:2]
    assert restored(sent) == [1, 1]


def test_a_deleted_answer_takes_the_next_question_with_it_and_roles_go_on_alternating(talk: Conversation) -> None:
    turns = three(talk)
    talk.delete(turns[1].assistant_id)  # Open WebUI deletes its children too
    sent = talk.body(talk.ask())
    assert_valid(sent)
    assert talk.sim.requests("streamGenerateContent")[-1]["status"] == 200


def test_two_tabs_each_get_their_own_branch(talk: Conversation) -> None:
    first, main = talk.ask(), talk.ask()
    side = talk.ask(after=first.assistant_id)
    talk.look_at(side.assistant_id)
    sent = talk.body(talk.ask(after=main.assistant_id))
    assert_continues(sent, talk.body(main))
    assert restored(sent) == [1, 1]
    talk.look_at(main.assistant_id)
    other = talk.body(talk.ask(after=side.assistant_id))
    assert_continues(other, talk.body(side))
    assert restored(other) == [1, 1]


def test_models_side_by_side_share_the_question_and_keep_their_own_answers(talk: Conversation) -> None:
    talk.ask()
    left, right = talk.side_by_side("Both of you.", [ECHO_MODEL_ID, ECHO_MODEL_ID])
    one, other = talk.bodies(left)
    assert one.contents == other.contents
    after_left = talk.body(talk.ask(after=left.assistant_id))
    after_right = talk.body(talk.ask(after=right.assistant_id))
    assert_continues(after_left, one)
    assert_continues(after_right, one)
    assert after_left.contents[3] != after_right.contents[3], "each answer has its own signature"
    assert restored(after_left) == restored(after_right) == [1, 1]


def test_the_pages_own_copy_of_the_chat_changes_nothing(talk: Conversation) -> None:
    turns = three(talk)
    chat = talk.chat()
    for message in chat["history"]["messages"].values():
        for private in ("usage", "sources", "info", "meta", "originalContent"):
            message.pop(private, None)
    talk.save(chat)
    sent = talk.body(talk.ask())
    assert_continues(sent, talk.body(turns[2]))
    assert restored(sent) == [1, 1, 1]


@pytest.mark.parametrize("kind", ["clone", "fork", "import"])
def test_the_owners_copy_of_a_chat_has_everything(talk: Conversation, kind: str) -> None:
    turns = three(talk)
    match kind:
        case "clone":
            copied = talk.clone()
        case "fork":
            copied = talk.fork(turns[1].assistant_id)
        case _:
            copied = talk.imported_by(talk.client)
    sent = copied.body(copied.ask())
    kept = 2 if kind == "fork" else 3
    assert_continues(sent, talk.body(turns[kept - 1]))
    assert restored(sent) == [1] * kept


def test_a_question_asked_again_in_a_copy_is_told_what_it_was_told_before(talk: Conversation, live: Live) -> None:
    turns = three(talk)
    with live.valves("user_native_context_filter", TELL_PERSON=False):  # whatever would be told now is not told
        for index in (0, 1):
            copied = talk.clone()
            again = copied.body(copied.regenerate(turns[index]))
            first = talk.body(turns[index])
            assert (again.head, again.contents) == (first.head, first.contents)
            assert_continues(copied.body(copied.ask()), first)


def test_a_temporary_chat_is_restored_from_memory(live: Live, ada: Client) -> None:
    chat = TemporaryChat(ada, live.sim)
    numbers = [chat.ask(f"Question {index}.")[0] for index in range(4)]
    bodies = [bodies_of(live.sim, number)[-1] for number in numbers]
    for earlier, later in itertools.pairwise(bodies):
        assert_continues(later, earlier)
    assert restored(bodies[-1]) == [1, 1, 1]
    chat.socket.close()


def test_a_stopped_answer_stays_in_the_history_as_far_as_it_came(live: Live, talk: Conversation) -> None:
    talk.ask()
    live.sim.script({"match": answers.saying("STOPME"), **faults.stream("Half of ", "it", finish=None, end="hang")})
    chat_id, user_id, answer_id = talk.start("STOPME")
    live.sim.wait_sent("STOPME")
    talk.client.stop(chat_id)
    stopped = talk.client.wait_turn(chat_id, user_id, answer_id)
    assert "Half of it".startswith(stopped.text)
    sent = talk.body(talk.ask())
    assert_valid(sent)
    assert "Half of it" in sent.said[1].answer[0]
    assert_continues(sent, talk.body(stopped))


def test_an_answer_that_failed_before_it_began_leaves_a_valid_history(live: Live, talk: Conversation) -> None:
    first = talk.ask()
    live.sim.script({"match": answers.saying("NOTHING"), **answers.prompt_blocked()})
    failed = talk.ask("NOTHING")
    assert failed.error
    sent = talk.body(talk.ask())
    assert_valid(sent)
    assert sent.contents[:2] == (*talk.body(first).contents, sent.contents[1])
    assert restored(sent) == [1, 0]


def test_native_compaction_switched_on_does_not_shorten_what_is_sent(live: Live, talk: Conversation) -> None:
    turns = three(talk)
    config = live.admin.get("/api/v1/chats/config")
    on = {"ENABLE_CONTEXT_COMPACTION": True, "CONTEXT_COMPACTION_TOKEN_THRESHOLD": 60}
    live.admin.post("/api/v1/chats/config", config | on)
    try:
        sent = talk.body(talk.ask())
    finally:
        live.admin.post("/api/v1/chats/config", config)
    assert any(message.get("contextSummary") for message in talk.messages().values()), "Open WebUI did compact"
    assert_continues(sent, talk.body(turns[2]))
    assert restored(sent) == [1, 1, 1]
    assert number_of(talk.messages()[turns[0].user_id]["content"]) == sent.said[0].question


def test_a_hint_does_not_take_the_place_of_a_question_that_was_edited(talk: Conversation) -> None:
    talk.ask()
    second = talk.ask()
    words = talk.edit_question(second.user_id, "What I really meant.")
    talk.regenerate(second, guided="Make it shorter.")
    sent = talk.body(talk.ask())
    assert_valid(sent)
    assert words in sent.contents[2]


def test_an_answer_edited_before_a_copy_is_restored_in_the_copy(talk: Conversation) -> None:
    first = talk.ask()
    was = talk.messages()[first.assistant_id]
    talk.edit_answer(first.assistant_id, "Edited.")
    assert restored(talk.body(talk.ask())) == [0]
    copied = talk.clone()
    assert restored(copied.body(copied.ask())) == [0, 1]
    now = copied.messages()[first.assistant_id]
    copied.restore(first.assistant_id, {**was, "childrenIds": now["childrenIds"]})
    assert restored(copied.body(copied.ask())) == [1, 1, 1]
