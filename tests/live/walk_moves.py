"""The moves of a random walk that stay in its chat or go on in a copy of it.

A move returns the turns that it made, to be checked; none, upon which a question is asked; or None when it is not
possible now.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from echo_cli._model_record import ECHO_MODEL_ID
from echo_workers.gemini_sim.core import faults
from live import answers
from live.client import Turn, poll
from live.socket import Socket
from live.walk import Walk

Turns = list[Turn] | None
Move = Callable[[Walk], Turns]

#: Everything that can happen, by name; `walk_asides` adds what happens outside the chat.
MOVES: Final[dict[str, Move]] = {}

#: The toolkit that is switched on all the way.
TOOLS: Final = '''
import asyncio

ASKED = set()


class Tools:
    def lookup(self, key: str) -> str:
        """Look a value up.

        :param key: what to look up
        """
        return f"value of {key}"

    async def stay_away(self, key: str) -> str:
        """Never come back, the first time.

        :param key: tells the times apart
        """
        if key not in ASKED:
            ASKED.add(key)
            await asyncio.Event().wait()
        return "back"
'''

_KEY: Final = "the-walkers-own-key"
_LEVELS: Final = ("LITE", "FLASH", "PRO")


def move(function: Move) -> Move:
    """Add a move under its own name."""
    MOVES[function.__name__.replace("_", " ").strip()] = function
    return function


# Questions and answers.


@move
def new_turn(walk: Walk) -> Turns:
    return [walk.talk.ask(after=walk.last_end())]


@move
def tool_turn(walk: Walk) -> Turns:
    return [walk.talk.ask('call lookup {"key": "a"} and call lookup {"key": "b"}', after=walk.last_end())]


@move
def other_branch(walk: Walk) -> Turns:
    return [walk.talk.ask(after=walk.an_end()["id"])]


@move
def new_root(walk: Walk) -> Turns:
    return [walk.talk.ask(after=None)]


@move
def two_tabs(walk: Walk) -> Turns:
    started = []
    for _ in range(2):
        walk.talk.last = walk.an_end()["id"]
        started.append(walk.talk.start("From one of two tabs."))
    return [walk.client.wait_turn(*ids) for ids in started]


@move
def side_by_side(walk: Walk) -> Turns:
    walk.talk.last = walk.an_end()["id"]
    turns = walk.talk.side_by_side("Both.", [ECHO_MODEL_ID] * 2)
    for turn in turns:
        walk.note(turn.user_id, turn.assistant_id)
    return [walk.talk.ask(after=turn.assistant_id) for turn in turns]


@move
def regenerate(walk: Walk) -> Turns:
    return [walk.talk.regenerate(walk.turn_of(walk.an_end()))]


@move
def guided(walk: Walk) -> Turns:
    end = walk.an_end()
    again = walk.talk.regenerate(walk.turn_of(end), guided="Shorter.")
    walk.note(again.user_id, again.assistant_id, former=end["id"])
    return [walk.talk.ask(after=again.assistant_id)]


@move
def continue_(walk: Walk) -> Turns:
    end = walk.an_end()
    if end["id"] in walk.edited:
        return None
    longer = walk.talk.resume(walk.turn_of(end))
    walk.note(longer.user_id, longer.assistant_id, former=walk.known[end["id"]].former)
    return [walk.talk.ask(after=end["id"])]


# Edits.


@move
def edit_and_send(walk: Walk) -> Turns:
    return [walk.talk.edit_and_send(walk.turn_of(walk.an_end()))]


@move
def edit_question(walk: Walk) -> Turns:
    end = walk.an_end()
    walk.talk.edit_question(end["parentId"], "Edited.")
    walk.forget(end["parentId"])
    return [walk.talk.ask(after=end["id"])]


@move
def edit_answer(walk: Walk) -> Turns:
    end = walk.an_end()
    if end["id"] in walk.edited:
        return None
    walk.edited[end["id"]] = {**end, "known": walk.known[end["id"]]}
    walk.talk.edit_answer(end["id"], f"Edited {walk.random.random()}.")
    walk.forget(end["id"], signed=False)
    return [walk.talk.ask(after=end["id"])]


@move
def restore(walk: Walk) -> Turns:
    messages = walk.messages()
    back = next((key for key in walk.edited if key in messages), None)
    if back is None:
        return None
    message = walk.edited.pop(back)
    walk.known[back] = message.pop("known")
    now = messages[back]
    walk.talk.restore(back, {**message, "childrenIds": now["childrenIds"], "parentId": now["parentId"]})
    return [walk.talk.ask(after=back)]


@move
def delete(walk: Walk) -> Turns:
    if len(walk.messages()) < 10:
        return None
    walk.talk.delete(walk.an_end()["parentId"])
    return []


# The page.


@move
def branch_switch(walk: Walk) -> Turns:
    walk.talk.look_at(walk.an_end()["id"])
    return []


@move
def stale_save(walk: Walk) -> Turns:
    chat = walk.talk.chat()
    turn = walk.talk.ask(after=walk.last_end())
    walk.talk.save(chat)
    return [turn]


@move
def page_closed(walk: Walk) -> Turns:
    """The browser goes away in the middle; Open WebUI lets the answer come to its end."""
    socket = Socket(walk.client.url, walk.client.token)
    marker = _marker(walk, "CLOSED")
    stream = faults.stream("All of ", "it", " arrives.", delay_ms=50)
    walk.live.sim.script({"match": answers.saying(marker), **stream})
    walk.talk.last = walk.last_end()
    chat_id, question_id, answer_id = walk.talk.start(marker, session_id=socket.id)
    poll(lambda: walk.live.sim.requests("streamGenerateContent") or None, "the request")
    socket.close()
    turn = walk.client.wait_turn(chat_id, question_id, answer_id)
    assert turn.text == "All of it arrives."
    walk.note(question_id, answer_id, signed=False)
    return [walk.talk.ask(after=answer_id)]


# Copies.


@move
def clone(walk: Walk) -> Turns:
    walk.talk = walk.talk.clone()
    return []


@move
def fork(walk: Walk) -> Turns:
    walk.talk = walk.talk.fork(walk.an_end()["id"])
    return []


@move
def import_(walk: Walk) -> Turns:
    walk.talk = walk.talk.imported_by(walk.client)
    return []


# What goes wrong.


@move
def error(walk: Walk) -> Turns:
    marker = _marker(walk, "FAILS")
    fault = walk.random.choice(
        [
            answers.prompt_blocked(),
            faults.mid_stream_error("Half ", "of it"),
            faults.early_eof("Half"),
            faults.reset("H"),
        ]
    )
    walk.live.sim.script({"match": answers.saying(marker), **fault})
    failed = walk.talk.ask(marker, after=walk.an_end()["id"])
    walk.note(failed.user_id, failed.assistant_id, signed=None)
    return [walk.talk.ask(after=failed.assistant_id)]


@move
def stop(walk: Walk) -> Turns:
    marker = _marker(walk, "STOP")
    half = faults.stream("Half of ", "it", finish=None, end="hang")
    walk.live.sim.script({"match": answers.saying(marker), **half})
    return _stopped(walk, marker, lambda _: walk.live.sim.wait_sent(marker), signed=False)


@move
def stop_in_a_tool(walk: Walk) -> Turns:
    def called(question_id: str) -> None:
        walk.live.sim.wait_ended(walk.talk.number(question_id), "complete")

    return _stopped(walk, f'call stay_away {{"key": "{_marker(walk, "A")}"}}', called, signed=None)


def _stopped(walk: Walk, text: str, wait: Callable[[str], None], *, signed: bool | None) -> Turns:
    walk.talk.last = walk.an_end()["id"]
    chat_id, question_id, answer_id = walk.talk.start(text)
    wait(question_id)
    walk.client.stop(chat_id)
    walk.client.wait_turn(chat_id, question_id, answer_id)
    walk.note(question_id, answer_id, signed=signed)
    return [walk.talk.ask(after=answer_id)]


# Settings.


@move
def native_compaction(walk: Walk) -> Turns:
    config: Mapping[str, Any] = walk.live.admin.get("/api/v1/chats/config")
    on = {"ENABLE_CONTEXT_COMPACTION": True, "CONTEXT_COMPACTION_TOKEN_THRESHOLD": 60}
    walk.live.admin.post("/api/v1/chats/config", {**config, **on})
    try:
        return [walk.talk.ask(after=walk.last_end())]
    finally:
        walk.live.admin.post("/api/v1/chats/config", config)


@move
def model_switch(walk: Walk) -> Turns:
    walk.choose(walk.random.choice([level for level in _LEVELS if level != walk.level]))
    return []


@move
def key_switch(walk: Walk) -> Turns:
    """The user's own key takes the place of the instance's, or the other way round."""
    own = not walk.beside.get("own key", False)
    if own:
        walk.client.request("PUT", "/echo/api/keys", {"key": _KEY})
    else:
        walk.client.delete("/echo/api/keys")
    walk.beside["own key"] = own
    return []


def _marker(walk: Walk, word: str) -> str:
    return f"{word}{walk.random.getrandbits(64):016x}"
