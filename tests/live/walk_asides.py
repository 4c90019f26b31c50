"""The moves of a random walk that happen beside its chat: other writers, other places, programs."""

import json
from dataclasses import dataclass, field
from typing import Any

from echo_cli._model_record import ECHO_MODEL_ID
from echo_workers.gemini_sim.core import faults
from live import answers
from live.bodies import Body, assert_continues
from live.client import poll
from live.moves import Conversation, TemporaryChat, bodies_of, numbered
from live.walk import Walk, words
from live.walk_moves import Turns, move


@dataclass(slots=True)
class _Program:
    """An API caller who keeps its own history."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    last: Body | None = None


@move
def continued_by_another(walk: Walk) -> Turns:
    """In a copy, because from then on the chat is everybody's; the own one must not notice."""
    copied = walk.talk.clone()
    copied.shared_with(walk.other, mode="continue")
    joined = copied.joined_by(walk.other)
    first = _nothing_signed(walk, joined)
    second = joined.body(joined.ask("Another asks again."))
    walk.check_alone(second)
    assert_continues(second, first)
    copied.last = joined.last
    back = copied.body(copied.ask("The owner asks."))
    walk.check_alone(back)
    if back.key == second.key:
        assert_continues(back, second)
    else:
        assert back.signatures == 0, "the other's answers were signed under another key"
        assert words(back.contents)[: len(words(second.contents))] == words(second.contents)
    return []


@move
def imported_by_another(walk: Walk) -> Turns:
    _nothing_signed(walk, walk.talk.imported_by(walk.other))
    return []


@move
def cloned_by_another(walk: Walk) -> Turns:
    copied = walk.talk.clone()
    _nothing_signed(walk, copied.cloned_by(walk.other, copied.shared_with(walk.other)))
    return []


def _nothing_signed(walk: Walk, copy: Conversation) -> Body:
    body = copy.body(copy.ask("Another asks."))
    walk.check_alone(body)
    assert body.signatures == 0
    return body


@move
def temporary_chat(walk: Walk) -> Turns:
    """One more turn in the temporary chat of the key in use."""
    name = f"temporary {walk.beside.get('own key', False)}"
    if name not in walk.beside:
        walk.beside[name] = [TemporaryChat(walk.client, walk.live.sim)]
        walk.tabs.callback(walk.beside[name][0].socket.close)
    chat, *before = walk.beside[name]
    number, _ = chat.ask()
    body = bodies_of(walk.live.sim, number)[-1]
    walk.check_alone(body)
    if before:
        assert_continues(body, before[-1])
    assert [said.signatures for said in body.said] == [1] * len(before) + [0]
    walk.beside[name].append(body)
    return []


@move
def api_client(walk: Walk) -> Turns:
    """One more turn of a program that sends back only text, whole or streamed."""
    program = _program(walk)
    question, number = numbered("A program asks.")
    program.messages.append({"role": "user", "content": question})
    if walk.random.random() < 0.5:
        said = walk.client.complete(program.messages)["choices"][0]["message"]["content"]
    else:
        chunks = walk.client.stream(program.messages)
        said = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c.get("choices"))
    program.messages.append({"role": "assistant", "content": said})
    body = bodies_of(walk.live.sim, number)[-1]
    walk.check_alone(body)
    if program.last is not None:
        assert_continues(body, program.last)
    program.last = body
    return []


@move
def api_client_gone(walk: Walk) -> Turns:
    """A program hangs up in the middle and goes on with what it had got by then."""
    program = _program(walk)
    marker = f"GONE{walk.random.getrandbits(64):016x}"
    question, _ = numbered(marker)
    walk.live.sim.script({"match": answers.saying(marker), **faults.hang("Begun ")})
    program.messages.append({"role": "user", "content": question})
    stream = walk.client.stream(program.messages)
    said = next(text for chunk in stream if (text := chunk["choices"][0]["delta"].get("content")))
    stream.close()
    walk.live.sim.wait_ended(marker, "reset_by_client")
    program.messages.append({"role": "assistant", "content": said})
    assert api_client(walk) == []
    assert program.last is not None
    assert said in program.last.said[-2].answer[0]
    return []


def _program(walk: Walk) -> _Program:
    name = f"program {walk.beside.get('own key', False)}"
    program: _Program = walk.beside.setdefault(name, _Program())
    return program


@move
def channel(walk: Walk) -> Turns:
    """One more mention in a channel: Open WebUI tells its thread as one text, and nothing is kept."""
    if "channel" not in walk.beside:
        form = {"name": f"walk-{walk.random.getrandbits(32):08x}", "type": "group", "user_ids": []}
        walk.beside["channel"] = walk.client.post("/api/v1/channels/create", form)["id"]
    messages = f"/api/v1/channels/{walk.beside['channel']}/messages"
    question, number = numbered("Say something.")
    content = f"<@M:{ECHO_MODEL_ID}|ECHO> {question}"
    asked = walk.client.post(f"{messages}/post", {"content": content})

    def answered() -> bool | None:
        thread = walk.client.get(f"{messages}/{asked['id']}/thread")
        return any((m.get("meta") or {}).get("model_id") and number in m["content"] for m in thread) or None

    poll(answered, "the answer in the channel")
    body = bodies_of(walk.live.sim, number)[-1]
    walk.check_alone(body)
    assert body.signatures == 0
    assert len(json.loads(body.text)["contents"]) == 1
    return []
