"""Open WebUI's background tasks are answered by ECHO and leave no trace in the chat."""

import json
import sqlite3
from contextlib import closing
from typing import Any

from live import answers
from live.client import Client, Turn, poll
from live.stack import Live

ALL = {"title_generation": True, "tags_generation": True, "follow_up_generation": True}
#: Open WebUI's route of a task, and the key of its answer.
TASKS = {"title": "title", "tags": "tags", "follow_up": "follow_ups", "queries": "queries"}


def records_of(live: Live, owner: Client, chat_id: str) -> list[tuple[Any, ...]]:
    """All shadows of a chat, as they are on disk."""
    path = live.data / "echo" / "users" / owner.id / "chats" / chat_id / "session.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("SELECT * FROM message_shadows ORDER BY message_id").fetchall()


def three_turns(ada: Client) -> list[Turn]:
    turns = [ada.turn("How do tides work?")]
    for question in ("And neap tides?", "And the sun?"):
        turns.append(ada.turn(question, chat_id=turns[0].chat_id, parent=turns[-1].assistant_id))
    return turns


def test_a_new_chat_gets_title_tags_and_follow_ups(live: Live, ada: Client) -> None:
    live.sim.reset()
    turn = ada.turn("How do tides work?", background_tasks=ALL)
    chat = ada.chat(turn.chat_id)
    assert chat["title"] == "💬 How do tides work"
    assert sorted(chat["meta"]["tags"]) == ["conversation", "technology"]
    assert turn.message["followUps"] == [
        "Can you explain that in simpler words?",
        "Can you give me an example?",
        "What should I look at next?",
    ]
    assert not turn.error
    tasks = live.sim.requests(":generateContent")
    assert len(tasks) == 3
    assert all("flash-lite" in task["path"] and "thinkingLevel" in task["body"] for task in tasks)


def test_task_calls_never_touch_the_history(live: Live, ada: Client) -> None:
    """C07: a task's body holds one made-up message while the chat has many."""
    *_, last = three_turns(ada)
    before = records_of(live, ada, last.chat_id)
    messages = [{"role": "user", "content": "How do tides work?"}]
    for task, key in TASKS.items():
        form = {"model": "echo_orchestrator", "messages": messages, "chat_id": last.chat_id, "type": "web_search"}
        answer = ada.post(f"/api/v1/tasks/{task}/completions", form)
        assert json.loads(answer["choices"][0]["message"]["content"]).keys() == {key}
    assert records_of(live, ada, last.chat_id) == before
    live.sim.reset()
    following = ada.turn("Thanks!", chat_id=last.chat_id, parent=last.assistant_id, background_tasks=ALL)
    assert following.text and not following.error
    [asked] = live.sim.requests("streamGenerateContent")
    assert [content["role"] for content in json.loads(asked["body"])["contents"]] == ["user", "model"] * 3 + ["user"]
    assert "### Task" not in asked["body"]


def test_a_task_that_fails_costs_only_itself(live: Live, ada: Client) -> None:
    live.sim.reset()
    live.sim.script({**answers.key_rejected(), "match": {"method": "generateContent"}, "times": -1})
    turn = ada.turn("How do tides work?", background_tasks=ALL)
    assert turn.text and not turn.error
    assert ada.chat(turn.chat_id)["title"] == "How do tides work?"
    poll(lambda: "'code': 'gemini_key_rejected'" in live.log() or None, "the log line of the task")
    live.sim.reset()
