"""Every way in which a conversation moves through Open WebUI, over HTTP, as its page does it.

Source: the page of Open WebUI 0.12.4 (`Chat.svelte`, `Messages.svelte`) and `open_webui/routers/chats.py`.
"""

import copy
import secrets
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from echo_cli._model_record import ECHO_MODEL_ID
from live.bodies import Body
from live.client import Client, Turn
from live.socket import Socket
from live.stack import Sim

Json = dict[str, Any]


def numbered(text: str) -> tuple[str, str]:
    """A question with a number of its own, and the number (see `bodies.QUESTION`)."""
    number = secrets.token_hex(6)
    return f"{text} [q:{number}]", number


def number_of(text: str) -> str:
    """The number in a question."""
    return text.rpartition("[q:")[2].rstrip("]")


class Conversation:
    """One saved chat, moved by one account.

    Args:
        client: who moves it.
        sim: where its requests arrive.
        chat_id: an existing chat; None = the first question makes one.
        extra: goes with each question, e.g. `tool_ids`.
    """

    def __init__(self, client: Client, sim: Sim, chat_id: str | None = None, **extra: Any) -> None:
        self.client = client
        self.sim = sim
        self.chat_id = chat_id
        self.extra = extra
        self.last: str | None = None

    # What is asked for. Each returns when the answer is stored.

    def ask(self, text: str = "Say something.", *, after: str | None = "", **extra: Any) -> Turn:
        """A new turn under an assistant message (None = a new root, "" = under the last answer)."""
        question, _ = numbered(text)
        parent = self.last if after == "" else after
        turn = self.client.turn(question, chat_id=self.chat_id, parent=parent, **self.extra, **extra)
        return self._done(turn)

    def start(self, text: str, **extra: Any) -> tuple[str, str, str]:
        """Like `ask`, without waiting: (chat, question, answer)."""
        question, _ = numbered(text)
        started = self.client.start_turn(question, chat_id=self.chat_id, parent=self.last, **self.extra, **extra)
        self.chat_id, _, self.last = started
        return started

    def regenerate(self, turn: Turn, *, guided: str = "") -> Turn:
        """Another answer to the same question, with a hint if there is one."""
        question = self.messages()[turn.user_id]
        hint = {"regeneration_prompt": guided, "regeneration_message_id": turn.assistant_id} if guided else {}
        again = self.client.turn(
            question["content"],
            chat_id=self.chat_id,
            parent=question["parentId"],
            user_id=turn.user_id,
            **self.extra,
            **hint,
        )
        return self._done(again)

    def resume(self, turn: Turn) -> Turn:
        """Continue the answer."""
        asked = len(self.sim.requests("streamGenerateContent"))
        question = self.messages()[turn.user_id]
        body = self.client.turn_body(question, turn.assistant_id, chat_id=self.chat_id, **self.extra)
        self.client.post("/api/chat/completions", body | {"assistant_message_id": turn.assistant_id})
        self.sim.wait_requests(asked + 1, "streamGenerateContent")
        return self._done(self.client.wait_turn(str(self.chat_id), turn.user_id, turn.assistant_id))

    def edit_and_send(self, turn: Turn, text: str = "Say it otherwise.") -> Turn:
        """The question in other words: a sibling of it."""
        parent = self.messages()[turn.user_id]["parentId"]
        return self.ask(text, after=parent)

    def side_by_side(self, text: str, models: Iterable[str]) -> list[Turn]:
        """One question to several models at once."""
        question, _ = numbered(text)
        entries = [
            {"model_id": model, "message_id": str(uuid.uuid4()), "modelIdx": index}
            for index, model in enumerate(models)
        ]
        started = self.client.start_turn(
            question, chat_id=self.chat_id, parent=self.last, message_ids=entries, **self.extra
        )
        self.chat_id = started[0]
        turns = [self.client.wait_turn(started[0], started[1], str(entry["message_id"])) for entry in entries]
        self.last = turns[0].assistant_id
        return turns

    # What is changed without asking.

    def edit_answer(self, message_id: str, text: str) -> None:
        """Edit an answer in place: the page replaces the text of its first message item and drops the others'."""
        chat = self.chat()
        message = chat["history"]["messages"][message_id]
        items = [item for item in message.get("output") or [] if item.get("type") == "message"]
        for item, words in zip(items, [text, *[""] * len(items)], strict=False):
            item["content"] = [{"type": "output_text", "text": words}]
        message["originalContent"], message["content"] = message["content"], text
        self.save(chat)

    def edit_question(self, message_id: str, text: str) -> str:
        """Edit a question in place, without sending it; returns its new text."""
        chat = self.chat()
        question, _ = numbered(text)
        chat["history"]["messages"][message_id]["content"] = question
        self.save(chat)
        return question

    def restore(self, message_id: str, message: Mapping[str, Any]) -> None:
        """Put a message back to what it was."""
        chat = self.chat()
        chat["history"]["messages"][message_id] = copy.deepcopy(dict(message))
        self.save(chat)

    def save(self, chat: Mapping[str, Any]) -> None:
        """The page saves its own copy of the chat, with only the keys that it knows."""
        known = {key: chat[key] for key in ("models", "history", "messages", "files") if key in chat}
        self.client.post(f"/api/v1/chats/{self.chat_id}", {"chat": known})

    def delete(self, message_id: str) -> None:
        """Delete a message; its children go too, their children move up."""
        self.client.delete(f"/api/v1/chats/{self.chat_id}/messages/{message_id}")

    def look_at(self, message_id: str) -> None:
        """Switch the page to another branch and save there."""
        chat = self.chat()
        chat["history"]["currentId"] = message_id
        self.save(chat)

    # Copies.

    def clone(self) -> "Conversation":
        """The owner's own copy."""
        return self._copy(self.client.post(f"/api/v1/chats/{self.chat_id}/clone", {}))

    def fork(self, message_id: str) -> "Conversation":
        """A copy up to one message."""
        copied = self._copy(self.client.post(f"/api/v1/chats/{self.chat_id}/fork", {"message_id": message_id}))
        copied.last = message_id
        return copied

    def exported(self) -> Json:
        """The chat as its owner downloads it."""
        return self.client.chat(str(self.chat_id))

    def imported_by(self, client: Client) -> "Conversation":
        """Another chat, made of the downloaded one."""
        whole = self.exported()
        form = {key: whole[key] for key in ("chat", "meta", "pinned") if key in whole}
        [made] = client.post("/api/v1/chats/import", {"chats": [form]})
        return self._copy(made, client)

    def shared_with(self, client: Client, *, mode: str | None = None) -> str:
        """Share with one other account and return the share's id."""
        share_id = str(self.client.post(f"/api/v1/chats/{self.chat_id}/share", {"share_mode": mode})["share_id"])
        grant = {"principal_type": "user", "principal_id": client.id, "permission": "read"}
        form = {"access_grants": [grant], "share_mode": mode}
        self.client.post(f"/api/v1/chats/shared/{self.chat_id}/access/update", form)
        return share_id

    def cloned_by(self, client: Client, share_id: str) -> "Conversation":
        """Another account's copy of a shared chat."""
        return self._copy(client.post(f"/api/v1/chats/{share_id}/clone/shared"), client)

    def joined_by(self, client: Client) -> "Conversation":
        """The same chat, moved by another account."""
        joined = Conversation(client, self.sim, self.chat_id, **self.extra)
        joined.last = self.last
        return joined

    # What there is.

    def chat(self) -> Json:
        """The chat's own JSON."""
        found: Json = self.client.chat(str(self.chat_id))["chat"]
        return found

    def messages(self) -> dict[str, Json]:
        """All messages by id."""
        return self.client.messages(str(self.chat_id))

    def bodies(self, turn: Turn) -> list[Body]:
        """The requests that a turn made: those that end with its question, oldest first."""
        return self.bodies_of_question(turn.user_id)

    def bodies_of_question(self, message_id: str) -> list[Body]:
        """The requests that end with a question, oldest first."""
        return bodies_of(self.sim, self.number(message_id))

    def number(self, message_id: str) -> str:
        """The number in a question."""
        return number_of(self.messages()[message_id]["content"])

    def body(self, turn: Turn) -> Body:
        """The last request of a turn."""
        return self.bodies(turn)[-1]

    def _done(self, turn: Turn) -> Turn:
        self.chat_id, self.last = turn.chat_id, turn.assistant_id
        return turn

    def _copy(self, made: Mapping[str, Any], client: Client | None = None) -> "Conversation":
        copied = Conversation(client or self.client, self.sim, str(made["id"]), **self.extra)
        copied.last = made["chat"]["history"]["currentId"]
        return copied


def bodies_of(sim: Sim, number: str) -> list[Body]:
    """The requests whose current question has this number, oldest first."""
    arrived = [Body(r) for r in sim.requests("streamGenerateContent") if f"[q:{number}]" in r["body"]]
    return [body for body in arrived if body.said[-1].question == number]


class TemporaryChat:
    """A temporary chat: the page keeps it and sends the whole of it in each request.

    Source: `sendMessageSocket` in `Chat.svelte`, 0.12.4: answers with output items go without an id.
    """

    def __init__(self, client: Client, sim: Sim) -> None:
        self.client = client
        self.sim = sim
        self.socket = Socket(client.url, client.token)
        self.chat_id = f"temporary:{self.socket.id}"
        self.kept: list[Json] = []

    def ask(self, text: str = "Say something.") -> tuple[str, Json]:
        """A new turn; returns the question's number and the answer's output as the page got it."""
        question, number = numbered(text)
        user = {"id": str(uuid.uuid4()), "role": "user", "content": question, "model": None, "meta": None}
        answer_id = str(uuid.uuid4())
        parent = self.kept[-1]["id"] if self.kept else None
        asked = {
            **user,
            "parentId": parent,
            "childrenIds": [answer_id],
            "timestamp": int(time.time()),
            "models": [ECHO_MODEL_ID],
        }
        body = self.client.turn_body(asked, answer_id, chat_id=self.chat_id)
        body |= {"session_id": self.socket.id, "messages": [*map(_sent, self.kept), user]}
        self.client.post("/api/chat/completions", body)
        output = self.socket.wait_answer(answer_id)
        answer = {"id": answer_id, "role": "assistant", "model": ECHO_MODEL_ID, "output": output, "meta": None}
        self.kept += [user, answer]
        return number, answer


def _sent(message: Json) -> Json:
    return {key: value for key, value in message.items() if not (message["role"] == "assistant" and key == "id")}
