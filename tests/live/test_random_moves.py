"""Random sequences of all moves over one chat and its copies; the invariants hold after each step.

What is expected is kept here in the form "question → exact Content" and "answer → exact Contents", learnt from the
first request that carried them: nothing may change afterwards unless a move changed it.
"""

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from echo_workers.gemini_sim.core import faults
from live import answers
from live.bodies import Said, assert_valid
from live.client import Client, Turn
from live.moves import Conversation, number_of
from live.records import verified
from live.stack import Live

MOVES = (
    "new turn", "regenerate", "guided", "continue", "edit and send", "edit question", "edit answer", "restore",
    "delete", "other branch", "look away", "side by side", "stale save", "clone", "fork", "import", "failure", "stop",
)  # fmt: skip


@dataclass(slots=True)
class Known:
    """What is expected of one message, by its id.

    Attributes:
        asked: the question's exact Content.
        answer: the exact Contents of an answer, None until a request has carried it.
        signed: whether the answer must come back with a signature.
    """

    asked: str = ""
    answer: tuple[str, ...] | None = None
    signed: bool = True


@dataclass(slots=True)
class Walk:
    """One random walk.

    Attributes:
        edited: what an edited answer was before.
    """

    live: Live
    talk: Conversation
    random: random.Random
    known: dict[str, Known] = field(default_factory=dict)
    edited: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def step(self, move: str) -> None:
        """Do one move, if it is possible now, and ask a question after those that ask none."""
        messages = self.talk.messages() if self.talk.chat_id else {}
        ends = [m for m in messages.values() if m["role"] == "assistant" and not m.get("error")]
        if not ends:
            self.check(self.talk.ask())
            return
        done = getattr(self, "do_" + move.replace(" ", "_"))(messages, self.random.choice(ends))
        if done is False:
            return
        self.counts[move] += 1
        for turn in done or [self.talk.ask(after=self._end())]:
            self.check(turn)

    def check(self, turn: Turn) -> None:
        """The last request of a turn against everything known."""
        body = self.talk.body(turn)
        assert body.status == 200
        assert_valid(body)
        messages = self.talk.messages()
        chain = _chain(messages, turn.user_id)
        assert [said.question for said in body.said if said.question] == [
            number_of(m["content"]) for m in chain if m["role"] == "user"
        ]
        said = {s.question: s for s in body.said}
        for question, answer in zip(chain, [*chain[1:], None], strict=True):
            if question["role"] == "user":
                follows = answer if answer and answer["role"] == "assistant" else None
                self._learn(said[number_of(question["content"])], question, follows)

    def _learn(self, said: Said, question: dict[str, Any], answer: dict[str, Any] | None) -> None:
        asked = self.known.setdefault(question["id"], Known())
        assert asked.asked in ("", said.asked), "a question changed by itself"
        asked.asked = said.asked
        if answer is None:
            return
        known = self.known.setdefault(answer["id"], Known(signed=not answer.get("error")))
        if known.answer is None:
            known.answer = said.answer
            assert (said.signatures > 0) == known.signed
        assert known.answer == said.answer, "an answer changed by itself"

    def _end(self) -> str:
        ends = [m for m in self.talk.messages().values() if m["role"] == "assistant" and not m.get("error")]
        return str(max(ends, key=lambda m: m["timestamp"])["id"])

    # The moves; each returns the turns that it made, False when it is not possible now.

    def do_new_turn(self, messages: Any, end: Any) -> Any:
        return [self.talk.ask(after=self._end())]

    def do_other_branch(self, messages: Any, end: Any) -> Any:
        return [self.talk.ask(after=end["id"])]

    def do_regenerate(self, messages: Any, end: Any) -> Any:
        return [self.talk.regenerate(_turn(self.talk, end))]

    def do_guided(self, messages: Any, end: Any) -> Any:
        again = self.talk.regenerate(_turn(self.talk, end), guided="Shorter.")
        return [self.talk.ask(after=again.assistant_id)]

    def do_continue(self, messages: Any, end: Any) -> Any:
        if end["id"] in self.edited:
            return False
        self.talk.resume(_turn(self.talk, end))
        self.known.pop(end["id"], None)
        return [self.talk.ask(after=end["id"])]

    def do_edit_and_send(self, messages: Any, end: Any) -> Any:
        return [self.talk.edit_and_send(_turn(self.talk, end))]

    def do_edit_question(self, messages: Any, end: Any) -> Any:
        self.talk.edit_question(end["parentId"], "Edited.")
        self.known.pop(end["parentId"], None)
        return [self.talk.ask(after=end["id"])]

    def do_edit_answer(self, messages: Any, end: Any) -> Any:
        if end["id"] in self.edited:
            return False
        self.edited[end["id"]] = {**end, "known": self.known.get(end["id"])}
        self.talk.edit_answer(end["id"], f"Edited {self.random.random()}.")
        self.known[end["id"]] = Known(signed=False)
        return [self.talk.ask(after=end["id"])]

    def do_restore(self, messages: Any, end: Any) -> Any:
        back = next((key for key in self.edited if key in messages), None)
        if back is None:
            return False
        message = self.edited.pop(back)
        self.known[back] = message.pop("known") or Known()
        now = messages[back]
        self.talk.restore(back, {**message, "childrenIds": now["childrenIds"], "parentId": now["parentId"]})
        return [self.talk.ask(after=back)]

    def do_delete(self, messages: Any, end: Any) -> Any:
        if len(messages) < 10:
            return False
        self.talk.delete(end["parentId"])

    def do_look_away(self, messages: Any, end: Any) -> Any:
        self.talk.look_at(end["id"])

    def do_side_by_side(self, messages: Any, end: Any) -> Any:
        self.talk.last = end["id"]
        turns = self.talk.side_by_side("Both.", ["echo_orchestrator"] * 2)
        return [self.talk.ask(after=turn.assistant_id) for turn in turns]

    def do_stale_save(self, messages: Any, end: Any) -> Any:
        chat = self.talk.chat()
        turn = self.talk.ask(after=self._end())
        self.talk.save(chat)
        return [turn]

    def do_clone(self, messages: Any, end: Any) -> Any:
        self.talk = self.talk.clone()

    def do_fork(self, messages: Any, end: Any) -> Any:
        self.talk = self.talk.fork(end["id"])

    def do_import(self, messages: Any, end: Any) -> Any:
        self.talk = self.talk.imported_by(self.talk.client)

    def do_failure(self, messages: Any, end: Any) -> Any:
        self.live.sim.script({"match": answers.saying("FAILNOW"), **answers.prompt_blocked()})
        failed = self.talk.ask("FAILNOW", after=end["id"])
        return [self.talk.ask(after=failed.assistant_id)]

    def do_stop(self, messages: Any, end: Any) -> Any:
        marker = f"STOP{self.random.getrandbits(64):016x}"
        half = faults.stream("Half of ", "it", finish=None, end="hang")
        self.live.sim.script({"match": answers.saying(marker), **half})
        self.talk.last = end["id"]
        chat_id, user_id, answer_id = self.talk.start(marker)
        self.live.sim.wait_sent(marker)
        self.talk.client.stop(chat_id)
        self.talk.client.wait_turn(chat_id, user_id, answer_id)
        self.known[answer_id] = Known(signed=False)
        return [self.talk.ask(after=answer_id)]


def _turn(talk: Conversation, answer: dict[str, Any]) -> Turn:
    return Turn(chat_id=str(talk.chat_id), user_id=answer["parentId"], assistant_id=answer["id"], message=answer)


def _chain(messages: dict[str, dict[str, Any]], message_id: str | None) -> list[dict[str, Any]]:
    chain: list[dict[str, Any]] = []
    while message_id:
        chain.insert(0, messages[message_id])
        message_id = messages[message_id]["parentId"]
    return chain


def walk(live: Live, client: Client, seed: int, steps: int) -> Walk:
    """Every move once or more, in random order, and random ones up to `steps`."""
    chance = random.Random(seed)
    walked = Walk(live, Conversation(client, live.sim), chance)
    wanted = [*MOVES, *(chance.choice(MOVES) for _ in range(steps - len(MOVES)))]
    chance.shuffle(wanted)
    for index, move in enumerate(wanted):
        try:
            walked.step(move)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, step {index}: {move}") from error
    for move in MOVES:  # what was not possible at its turn
        for _ in range(10):
            if walked.counts[move]:
                break
            if move == "restore":
                walked.step("edit answer")
            walked.step(move)
    sys.stdout.write(f"seed {seed}: {dict(walked.counts)}\n")
    return walked


def assert_all_happened(live: Live, walked: Walk) -> None:
    assert set(walked.counts) == set(MOVES)
    report = verified(live, walked.talk.client.id, str(walked.talk.chat_id))
    assert report.is_sound, report


@pytest.mark.timeout(600)
def test_a_short_random_walk_keeps_every_invariant(live: Live, ada: Client) -> None:
    assert_all_happened(live, walk(live, ada, seed=1, steps=25))


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [2, 5, 6])
def test_long_random_walks_keep_every_invariant(live: Live, ada: Client, seed: int) -> None:
    assert_all_happened(live, walk(live, ada, seed=seed, steps=30))
