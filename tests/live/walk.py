"""One random walk over a chat and its copies: what was said so far, and the check of every request against it.

Expectations are learnt in the form "question → exact Content" and "answer → exact Contents" from the first request
that carried them: nothing may change afterwards unless a move changed it. Whose a signature is, the simulator's journal
tells.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from echo_runtime.lifecycle import PIPE_ID
from echo_workers.gemini_sim import SimSettings
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.signatures import Signer, carrier_of
from live.bodies import Body, Said, assert_valid
from live.client import Client, Turn
from live.moves import Conversation, number_of
from live.stack import Live

Json = dict[str, Any]

_SIGNER: Final = Signer(secret=SimSettings().signing_secret.encode())


@dataclass(slots=True)
class Known:
    """What is expected of one message, by its id.

    Attributes:
        asked: the question's exact Content, by the path of the model that answers: each is told beside it who it is.
        answers: an answer's exact Contents, by whether the key that signed it is the one in use.
        signed: whether the answer comes back with a signature under its own key; None = that depends on how far it got.
        key: stands for the key under which it was given, "" for what no request brought.
        former: the answer that a hint for regenerating this one followed; its record begins with that one's.
        path: of the model that gave this answer, "" for what no request brought.
    """

    asked: dict[str, str] = field(default_factory=dict)
    answers: dict[bool, tuple[str, ...]] = field(default_factory=dict)
    signed: bool | None = True
    key: str = ""
    former: str = ""
    path: str = ""


@dataclass(slots=True)
class Walk:
    """One random walk.

    Attributes:
        live: the stack.
        client: who walks; nobody else uses this account.
        other: another account, with the right to read what is shared with it.
        tools: id of the toolkit in `walk_moves.TOOLS`.
        talk: the chat in which the walk stands now.
        known: expectations by message id.
        edited: what an edited answer was before.
        issued: the answer that a signature belongs to, by its digest; several while two came side by side.
        models: the path of the requests, by level.
        level: the model level that the user has chosen.
        beside: what the moves outside the chat keep, by name.
        tabs: closes what the moves have opened.
    """

    live: Live
    client: Client
    other: Client
    tools: str
    random: random.Random
    talk: Conversation = field(init=False)
    known: dict[str, Known] = field(default_factory=dict)
    edited: dict[str, Json] = field(default_factory=dict)
    issued: dict[str, set[str]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    level: str = "FLASH"
    beside: dict[str, Any] = field(default_factory=dict)
    tabs: ExitStack = field(default_factory=ExitStack)
    counts: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    _head: str = ""

    def __post_init__(self) -> None:
        self.talk = Conversation(self.client, self.live.sim, tool_ids=[self.tools])
        self.choose(self.level)
        self.check(self.talk.ask())

    # Where the walk stands.

    def messages(self) -> dict[str, Json]:
        """All messages of the chat by id."""
        return self.talk.messages()

    def ends(self) -> list[Json]:
        """All answers that a question may follow."""
        return [m for m in self.messages().values() if m["role"] == "assistant" and not m.get("error")]

    def an_end(self) -> Json:
        """One of them, by chance."""
        return self.random.choice(self.ends())

    def last_end(self) -> str:
        """The id of the latest of them."""
        return str(max(self.ends(), key=lambda message: message["timestamp"])["id"])

    def turn_of(self, answer: Json) -> Turn:
        """The turn that an answer ended."""
        return Turn(
            chat_id=str(self.talk.chat_id), user_id=answer["parentId"], assistant_id=answer["id"], message=answer
        )

    def choose(self, level: str) -> None:
        """The user chooses a model level."""
        self.client.post(f"/api/v1/functions/id/{PIPE_ID}/valves/user/update", {"MODEL_SELECTION": level})
        self.level = level

    # What is expected.

    def forget(self, message_id: str, **known: Any) -> None:
        """A move has changed a message: the next request tells what it is from now on."""
        self.known[message_id] = Known(**known)

    def note(self, question_id: str, answer_id: str, *, signed: bool | None = True, former: str = "") -> Body:
        """Remember who has given an answer and what signatures it got; its last request."""
        bodies = self.talk.bodies_of_question(question_id)
        for digest in {digest for body in bodies for digest in body.issued}:
            self.issued.setdefault(digest, set()).add(answer_id)
        self.known[answer_id] = Known(signed=signed, key=bodies[-1].key, former=former, path=bodies[-1].path)
        self.requests += len(bodies)
        return bodies[-1]

    def check(self, turn: Turn, *, signed: bool | None = True) -> None:
        """The last request of a turn against everything known."""
        body = self.note(turn.user_id, turn.assistant_id, signed=signed)
        self.check_alone(body)
        assert self.models.setdefault(self.level, body.path) == body.path
        assert body.head == (self._head or body.head), "system instruction or tools changed by themselves"
        self._head = body.head
        chain = _chain(self.messages(), turn.user_id)
        assert [said.question for said in body.said if said.question] == [
            number_of(m["content"]) for m in chain if m["role"] == "user"
        ]
        said = {s.question: s for s in body.said}
        for question, answer in zip(chain, [*chain[1:], None], strict=True):
            if question["role"] == "user":
                follows = answer if answer and answer["role"] == "assistant" else None
                self._learn(said[number_of(question["content"])], question, follows, body)

    def check_alone(self, body: Body) -> None:
        """What holds for every request, whatever was said before."""
        assert body.status == 200
        assert_valid(body)
        scope = find_model(_model(body.path), "v1beta", "generateContent", with_retired=False).signature_scope
        for content in body.json["contents"]:
            for part in content["parts"]:
                if "thoughtSignature" in part:
                    place = carrier_of(part)
                    verdict = _SIGNER.judge(part["thoughtSignature"], place, scope=scope or "", backend="ai_studio")
                    assert verdict == "valid", f"a signature came back {verdict} on {place}"
        digests = [digest for said in body.said for digest in said.signed]
        assert len(digests) == len(set(digests)), "a signature came back twice"

    def _learn(self, said: Said, question: Json, answer: Json | None, body: Body) -> None:
        asked = self.known.setdefault(question["id"], Known()).asked
        if answer is None:
            assert asked.setdefault(body.path, said.asked) == said.asked, "a question changed by itself"
            return
        known = self.known.setdefault(answer["id"], Known(signed=None if answer.get("error") else True))
        assert asked.setdefault(known.path, said.asked) == said.asked, "a question changed by itself"
        own_key = known.key in ("", body.key)
        assert known.answers.setdefault(own_key, said.answer) == said.answer, "an answer changed by itself"
        assert own_key or not said.signed, "a signature came back under another key"
        if known.signed is not None:
            assert bool(said.signed) == (known.signed and own_key)
        if len(known.answers) == 2:
            assert words(known.answers[True]) == words(known.answers[False])
        for digest in said.signed:
            self.issued[digest] &= set(self._record_of(answer["id"]))
            assert self.issued[digest], "a signature came back in another answer"

    def _record_of(self, answer_id: str) -> list[str]:
        """The answers whose parts the record of an answer holds."""
        known = self.known.get(answer_id)
        return [answer_id, *(self._record_of(known.former) if known and known.former else [])]


def _model(path: str) -> str:
    return path.partition("/models/")[2].partition(":")[0]


def words(contents: Sequence[str]) -> list[Any]:
    """What Contents say and call, without signatures and the empty texts that only carry one."""
    parts = [part for content in contents for part in json.loads(content)["parts"]]
    bare = [{key: value for key, value in part.items() if key != "thoughtSignature"} for part in parts]
    return [part for part in bare if part != {"text": ""}]


def _chain(messages: dict[str, Json], message_id: str | None) -> list[Json]:
    chain: list[Json] = []
    while message_id:
        chain.insert(0, messages[message_id])
        message_id = messages[message_id]["parentId"]
    return chain
