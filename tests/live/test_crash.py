"""SIGKILL in the middle of an answer: what was logged is shown after the restart and sent with the next question."""

import random

import pytest

from echo_workers.gemini_sim.core import faults
from live import answers
from live.bodies import assert_valid
from live.client import Client, poll
from live.moves import Conversation
from live.records import turn_log, verified
from live.stack import Live

WORDS = [f"word{index} " for index in range(60)]


@pytest.fixture
def talk(live: Live, ada: Client) -> Conversation:
    return Conversation(ada, live.sim)


def begin(live: Live, talk: Conversation, marker: str) -> tuple[str, str, str]:
    """One whole turn, then one that streams slowly and never ends."""
    talk.ask("Before.")
    stream = faults.stream(*WORDS, finish=None, delay_ms=30, end="hang")
    live.sim.script({"match": answers.saying(marker), **stream})
    return talk.start(marker)


def assert_recovered(live: Live, talk: Conversation, answer_id: str) -> str:
    """The row is done and shows what the next request carries; returns that text."""
    row = poll(lambda: found if (found := talk.messages()[answer_id]).get("done") else None, "the row to be recovered")
    shown = str(row["content"])
    assert "".join(WORDS).startswith(shown)
    sent = talk.body(talk.ask("After."))
    assert_valid(sent)
    assert sent.status == 200
    assert sent.said[0].signatures == 1
    if shown:
        assert shown.strip() in sent.said[1].answer[0]
    assert talk.messages()[answer_id]["content"] == shown, "the page needs no second correction"
    report = verified(live, talk.client.id, str(talk.chat_id))
    assert report.is_sound, report
    return shown


@pytest.mark.deep
def test_after_a_kill_the_page_and_the_next_request_have_all_that_was_turn_log(live: Live, talk: Conversation) -> None:
    chat_id, _, answer_id = begin(live, talk, "KILLED")
    poll(lambda: WORDS[-1].strip() in turn_log(live, chat_id) or None, "the log to hold the last word")
    live.restart(kill=True)
    assert assert_recovered(live, talk, answer_id) == "".join(WORDS)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(20))
def test_a_kill_at_any_point_leaves_whole_records(live: Live, talk: Conversation, seed: int) -> None:
    chat_id, _, answer_id = begin(live, talk, f"KILLED{seed}")
    wanted = WORDS[random.Random(seed).randrange(len(WORDS))].strip()
    poll(lambda: wanted in turn_log(live, chat_id) or None, "the log to reach a random word")
    live.restart(kill=True)
    shown = assert_recovered(live, talk, answer_id)
    assert wanted in shown, "what was logged before the kill is not lost"


@pytest.mark.deep
def test_a_row_that_shows_less_than_is_held_is_completed_at_the_next_turn(live: Live, talk: Conversation) -> None:
    talk.ask("Before.")
    live.sim.script({"match": answers.saying("BROKENOFF"), **faults.early_eof("All that ", "was said", times=-1)})
    failed = talk.ask("BROKENOFF")
    row = talk.messages()[failed.assistant_id]
    talk.restore(failed.assistant_id, {**row, "content": "", "output": []})
    sent = talk.body(talk.ask("After."))
    assert_valid(sent)
    assert "All that was said" in sent.said[1].answer[0]
    assert talk.messages()[failed.assistant_id]["content"] == "All that was said"
    again = talk.body(talk.ask("Once more."))
    assert again.contents[: len(sent.contents)] == sent.contents
