"""Another account gets nothing of what a chat's owner has beyond the page; judged by the requests that arrived."""

import json
import uuid
from collections.abc import Iterator

import pytest

from echo_cli._owui_api import OwuiAnswerError
from live.bodies import Body, assert_continues, assert_valid
from live.client import Client, Turn
from live.moves import Conversation, TemporaryChat, bodies_of, numbered
from live.stack import Live

TOOL = '''
class Tools:
    def secret_lookup(self, key: str) -> str:
        """Look a value up.

        :param key: what to look up
        """
        return f"value of {key}"

    def secret_report(self) -> str:
        """Write a report that is longer than a model is shown."""
        return "line of a report\\n" * 20_000 + "the herons nest at pier nine"
'''
OWN_PROMPT = "Ada likes to be called Countess."
LATER_PROMPT = "Ada likes to be called Duchess."
FOLDER_PROMPT = "All of this is about the secret heron."


@pytest.fixture(scope="module")
def bob(live: Live) -> Client:
    """The other account."""
    return live.new_user("Bob\nthe Builder")


@pytest.fixture(scope="module", autouse=True)
def may_share(live: Live) -> Iterator[None]:
    """Plain users may share chats and copy shared ones, as in most installations with teams."""
    permissions = live.admin.get("/api/v1/users/default/permissions")
    wider = json.loads(json.dumps(permissions))
    wider["chat"] |= {"share": True, "import": True}
    wider.setdefault("access_grants", {})["allow_users"] = True
    live.admin.post("/api/v1/users/default/permissions", wider)
    yield
    live.admin.post("/api/v1/users/default/permissions", permissions)


@pytest.fixture(scope="module")
def toolkit(live: Live) -> Iterator[str]:
    form = {
        "id": "writers_lookup",
        "name": "Lookup",
        "content": TOOL,
        "meta": {"description": "Looks things up."},
        "access_grants": [{"principal_type": "user", "principal_id": "*", "permission": "read"}],
    }
    live.admin.post("/api/v1/tools/create", form)
    yield "writers_lookup"
    live.admin.delete("/api/v1/tools/id/writers_lookup/delete")


@pytest.fixture
def talk(live: Live, ada: Client, toolkit: str) -> Conversation:
    """A chat of Ada's with an own system prompt, a tool turn and two signed answers."""
    talk = Conversation(ada, live.sim, tool_ids=[toolkit], messages=system(OWN_PROMPT))
    talk.ask("Hello.")
    talk.ask('call secret_lookup {"key": "a"}')
    return talk


def system(prompt: str) -> list[dict[str, str]]:
    """A user's own prompt, as the page sends it."""
    return [{"role": "system", "content": prompt}]


def secrets_of(talk: Conversation) -> set[str]:
    """All signatures that the owner's chat has got so far; the last question was told of another prompt."""
    own = talk.extra
    talk.extra = own | {"messages": system(LATER_PROMPT)}
    body = talk.body(talk.ask("What next?"))
    talk.extra = own
    assert OWN_PROMPT in body.head
    assert LATER_PROMPT in body.said[-1].asked
    parts = [part for content in body.json["contents"] for part in content["parts"]]
    signatures = {part["thoughtSignature"] for part in parts if "thoughtSignature" in part}
    assert len(signatures) >= 3
    return signatures


def assert_nothing_of(body: Body, signatures: set[str]) -> None:
    assert_valid(body)
    assert body.status == 200
    assert not [signature for signature in signatures if signature in body.text]
    for secret in (OWN_PROMPT, LATER_PROMPT, FOLDER_PROMPT):
        assert secret not in body.text


@pytest.mark.parametrize(
    "move", ["ask", "edit and send", "regenerate", "regenerate with a hint", "continue the answer"]
)
def test_whatever_another_account_does_in_a_chat_it_gets_nothing_of_the_owners(
    live: Live, ada: Client, toolkit: str, bob: Client, move: str
) -> None:
    folder = ada.post("/api/v1/folders/", {"name": f"Herons {move}", "data": {"system_prompt": FOLDER_PROMPT}})
    talk = Conversation(ada, live.sim, tool_ids=[toolkit], messages=system(OWN_PROMPT), folder_id=folder["id"])
    assert FOLDER_PROMPT in talk.body(talk.ask("Hello.")).head
    talk.ask('call secret_lookup {"key": "a"}')
    signatures = secrets_of(talk)
    talk.shared_with(bob, mode="continue")
    joined = talk.joined_by(bob)
    joined.extra = {}
    answer = talk.messages()[str(talk.last)]
    last = Turn(chat_id=str(talk.chat_id), user_id=answer["parentId"], assistant_id=answer["id"], message=answer)
    live.sim.reset()
    match move:
        case "ask":
            turn = joined.ask("Bob here.")
        case "edit and send":
            turn = joined.edit_and_send(last)
        case "continue":
            turn = joined.resume(last)
        case _:
            turn = joined.regenerate(last, guided="Shorter." if "hint" in move else "")
    assert_nothing_of(joined.body(turn), signatures)
    assert_nothing_of(joined.body(joined.ask("Bob again.")), signatures)


@pytest.mark.parametrize("where", ["the shared chat", "a chat of their own"])
def test_the_rest_of_a_long_result_is_read_by_nobody_else(
    live: Live, talk: Conversation, bob: Client, toolkit: str, where: str
) -> None:
    kept = "pier nine"
    told = talk.bodies(talk.ask("call secret_report {}"))[-1].text.rpartition('read_tool_output(id=\\"')[2]
    read_on = f'call read_tool_output {{"id": "{told.partition(chr(92))[0]}", "range": "-40"}}'
    if where == "the shared chat":
        talk.shared_with(bob, mode="continue")
        other = talk.joined_by(bob)
    else:
        other = Conversation(bob, live.sim)
    other.extra = {"tool_ids": [toolkit]}
    tried = other.bodies(other.ask(read_on))
    assert "No result is kept" in tried[-1].text
    assert not [body for body in tried if kept in body.text]
    assert kept in talk.bodies(talk.ask(read_on))[-1].text, "the owner reads on"


def test_what_open_webui_itself_shows_and_exports_holds_no_signature_and_no_prompt(
    talk: Conversation, bob: Client
) -> None:
    signatures = secrets_of(talk)
    shown = json.dumps(bob.get(f"/api/v1/chats/share/{talk.shared_with(bob)}"))
    for text in (shown, json.dumps(talk.exported())):
        assert "value of a" in text
        assert not [signature for signature in signatures if signature in text]
        assert OWN_PROMPT not in text and LATER_PROMPT not in text


@pytest.mark.parametrize("kind", ["clone of a shared chat", "import of an export"])
def test_a_copy_by_another_account_is_text_only(talk: Conversation, bob: Client, kind: str) -> None:
    signatures = secrets_of(talk)
    copied = talk.cloned_by(bob, talk.shared_with(bob)) if "clone" in kind else talk.imported_by(bob)
    copied.extra = {}
    first = copied.body(copied.ask("And for me?"))
    assert_nothing_of(first, signatures)
    assert [said.signatures for said in first.said] == [0, 0, 0, 0]
    assert "value of a" in first.text, "what the page shows is theirs to read"
    second = copied.body(copied.ask("More."))
    assert_continues(second, first)
    assert_nothing_of(second, signatures)
    assert [said.signatures for said in second.said] == [0, 0, 0, 1, 0]


def test_another_account_that_continues_a_chat_reads_the_page_only(talk: Conversation, bob: Client) -> None:
    signatures = secrets_of(talk)
    talk.shared_with(bob, mode="continue")
    joined = talk.joined_by(bob)
    joined.extra = {}
    first = joined.body(joined.ask("Bob here."))
    assert_nothing_of(first, signatures)
    assert [said.signatures for said in first.said] == [0, 0, 0, 0]
    texts = [[part["text"] for part in json.loads(said.asked)["parts"]] for said in first.said]
    assert [next(text for text in told if not text.startswith("<artifact ")) for told in texts] == [
        "[Message from Ada]",
        "[Message from Ada]",
        "[Message from Ada]",
        "[Message from Bob the Builder]",
    ]
    second = joined.body(joined.ask("Bob again."))
    assert_continues(second, first)
    assert [said.signatures for said in second.said] == [0, 0, 0, 1, 0]


def test_the_owners_page_claims_all_messages_and_the_other_writer_is_remembered(
    talk: Conversation, bob: Client
) -> None:
    signatures = secrets_of(talk)
    alone = talk.last
    talk.shared_with(bob, mode="continue")
    joined = talk.joined_by(bob)
    joined.extra = {}
    before = joined.body(joined.ask("Bob here."))
    talk.save(talk.chat())  # Open WebUI now names Ada as the writer of everything
    talk.last = joined.last
    talk.extra = {}
    after = talk.body(talk.ask("Ada again."))
    assert_continues(after, before)
    assert_nothing_of(after, signatures)
    talk.extra = {"messages": system(OWN_PROMPT)}
    back = talk.body(talk.ask("Before Bob came.", after=alone))
    assert {s for s in signatures if s in back.text} == signatures, "her own branch has lost nothing"


def test_an_answer_that_another_account_asked_for_again_is_text_only(talk: Conversation, bob: Client) -> None:
    signatures = secrets_of(talk)
    talk.shared_with(bob, mode="continue")
    joined = talk.joined_by(bob)
    joined.extra = {}
    last = talk.messages()[str(talk.last)]
    question = talk.messages()[last["parentId"]]
    bob_asks = bob.turn(
        question["content"], chat_id=talk.chat_id, parent=question["parentId"], user_id=last["parentId"]
    )
    assert_nothing_of(joined.body(bob_asks), signatures)


def test_a_chat_that_is_not_shared_is_shut(talk: Conversation, bob: Client) -> None:
    talk.sim.reset()
    with pytest.raises(OwuiAnswerError) as refused:
        talk.joined_by(bob).ask("Let me in.")
    assert refused.value.fields["status"] in (401, 403, 404)
    assert not talk.sim.requests("streamGenerateContent")


def test_the_name_of_anothers_temporary_chat_opens_nothing(live: Live, ada: Client, bob: Client) -> None:
    """Open WebUI asks nobody whose temporary chat it is; records are kept by user as well."""
    hers = TemporaryChat(ada, live.sim)
    hers.ask("Hello.")
    number, _ = hers.ask("And now?")
    assert bodies_of(live.sim, number)[-1].signatures == 1
    question, number = numbered("What did she hear?")
    asked = {"id": str(uuid.uuid4()), "role": "user", "content": question}
    bob.complete([*hers.kept, asked], chat_id=hers.chat_id, id=str(uuid.uuid4()))
    [sent] = bodies_of(live.sim, number)
    assert_valid(sent)
    assert sent.signatures == 0
    hers.socket.close()
