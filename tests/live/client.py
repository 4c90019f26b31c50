"""An account at Open WebUI that does over plain HTTP what the browser does."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from echo_cli._model_record import ECHO_MODEL_ID
from echo_cli._owui_api import OwuiApi, is_loopback

T = TypeVar("T")

TURN_LIMIT_S = 60.0

#: Questions of a chat that is just long enough to be condensed.
HELIOTROPE = (
    "The project is called Heliotrope and must ship on Friday.",
    "We decided to use SQLite. Why is that fine?",
    "List three risks.",
    "And a fourth one?",
)


def poll(look: Callable[[], T | None], what: str, limit_s: float = TURN_LIMIT_S) -> T:
    """Look again and again until there is something; fails the test after `limit_s`."""
    give_up_at_s = time.monotonic() + limit_s
    pause = threading.Event()
    while (found := look()) is None:
        if time.monotonic() > give_up_at_s:
            raise AssertionError(f"waited {limit_s:.0f} s in vain for {what}")
        pause.wait(0.05)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and its answer, as Open WebUI stored them.

    Attributes:
        message: the assistant's message: content, output, done, error, usage, …
    """

    chat_id: str
    user_id: str
    assistant_id: str
    message: dict[str, Any]

    @property
    def output(self) -> list[dict[str, Any]]:
        """The Responses items of the answer; empty when it has only text."""
        return list(self.message.get("output") or [])

    @property
    def text(self) -> str:
        """The visible answer, without thoughts and tool cards."""
        parts = [
            part.get("text", "")
            for item in self.output
            if item.get("type") == "message"
            for part in item.get("content") or []
        ]
        return "".join(parts) if parts else str(self.message.get("content") or "")

    @property
    def error(self) -> str:
        """The text of the error box, empty when there is none."""
        error = self.message.get("error")
        return str(error.get("content", error)) if isinstance(error, dict) else str(error or "")


class Client(OwuiApi):
    """One signed-in account.

    Args:
        name: as shown in Open WebUI.
        language: what its browser would say, e.g. `fr-FR`.
    """

    def __init__(self, url: str, *, name: str = "", language: str = "en-US") -> None:
        super().__init__(url)
        self.name = name
        self.language = language
        self.email = ""
        self.password = ""
        self.id = ""

    def sign_in(self, email: str, password: str) -> None:
        super().sign_in(email, password)
        self.email, self.password = email, password
        self.id = str(self.get("/api/v1/auths/")["id"])

    def turn(self, text: str, *, chat_id: str | None = None, parent: str | None = None, **extra: Any) -> Turn:
        """Ask and wait for the stored answer; `start_turn` has the arguments."""
        return self.wait_turn(*self.start_turn(text, chat_id=chat_id, parent=parent, **extra))

    def turns(self, *texts: str) -> Turn:
        """Ask one question after another in a new chat; the last turn."""
        last = self.turn(texts[0])
        for text in texts[1:]:
            last = self.turn(text, chat_id=last.chat_id, parent=last.assistant_id)
        return last

    def start_turn(
        self,
        text: str,
        *,
        chat_id: str | None = None,
        parent: str | None = None,
        model: str = ECHO_MODEL_ID,
        user_id: str | None = None,
        files: list[dict[str, Any]] | None = None,
        background_tasks: Mapping[str, bool] | None = None,
        **extra: Any,
    ) -> tuple[str, str, str]:
        """Send a question as the browser does; Open WebUI answers in the background.

        Args:
            chat_id: None = a new chat.
            parent: id of the assistant message that is answered to; None = the first message.
            user_id: id of an existing user message = regenerate its answer.
            files: attachments, in the browser's form.
            background_tasks: titles and the like; none unless asked for.
            extra: more keys of the request, e.g. `tool_ids`, `features`, `params`.

        Returns:
            (chat id, user message id, assistant message id).
        """
        user_id, assistant_id = user_id or str(uuid.uuid4()), str(uuid.uuid4())
        message: dict[str, Any] = {
            "id": user_id,
            "parentId": parent,
            "childrenIds": [assistant_id],
            "role": "user",
            "content": text,
            "timestamp": int(time.time()),
            "models": [model],
        }
        if files:
            message["files"] = files
            extra = {"files": files, **extra}
        body = self.turn_body(message, assistant_id, chat_id=chat_id, model=model, background_tasks=background_tasks)
        answer = self.post("/api/chat/completions", body | extra)
        return str(answer["chat_id"]), user_id, assistant_id

    def turn_body(
        self,
        message: Mapping[str, Any],
        assistant_id: str,
        *,
        chat_id: str | None = None,
        model: str = ECHO_MODEL_ID,
        background_tasks: Mapping[str, bool] | None = None,
        **extra: Any,
    ) -> dict[str, Any]:
        """The request by which the browser asks for an answer to a user message."""
        return {
            "model": model,
            "stream": True,
            "parent_id": message["parentId"],
            "session_id": "live-tests",
            "id": assistant_id,
            "user_message": dict(message),
            "params": {},
            "features": {},
            "variables": self._variables(),
            "background_tasks": dict(background_tasks or {}),
            **({"chat_id": chat_id} if chat_id else {}),
            **extra,
        }

    def wait_turn(self, chat_id: str, user_id: str, assistant_id: str) -> Turn:
        """The turn, once the answer is stored and all filters and background tasks of the chat have ended."""

        def finished() -> dict[str, Any] | None:
            message = self.messages(chat_id).get(assistant_id)
            if message is None or not (message.get("done") or message.get("error")):
                return None
            return None if self.get(f"/api/tasks/chat/{chat_id}")["task_ids"] else message

        poll(finished, f"the answer {assistant_id}")
        # Read once more: an outlet may have changed the row between the two looks.
        message = self.messages(chat_id)[assistant_id]
        return Turn(chat_id=chat_id, user_id=user_id, assistant_id=assistant_id, message=message)

    def stop(self, chat_id: str) -> None:
        """What the stop button does."""
        self.post(f"/api/tasks/chat/{chat_id}/stop")

    def chat(self, chat_id: str) -> dict[str, Any]:
        """The chat as stored."""
        chat: dict[str, Any] = self.get(f"/api/v1/chats/{chat_id}")
        return chat

    def messages(self, chat_id: str) -> dict[str, dict[str, Any]]:
        """All messages of a chat by id."""
        found: dict[str, dict[str, Any]] = self.chat(chat_id)["chat"]["history"]["messages"]
        return found

    def complete(self, messages: list[dict[str, Any]], *, model: str = ECHO_MODEL_ID, **extra: Any) -> dict[str, Any]:
        """A plain API call without a chat and without streaming."""
        body = {"model": model, "messages": messages, "stream": False, **extra}
        answer: dict[str, Any] = self.post("/api/chat/completions", body)
        return answer

    def stream(
        self, messages: list[dict[str, Any]], *, model: str = ECHO_MODEL_ID, **extra: Any
    ) -> Iterator[dict[str, Any]]:
        """A plain API call without a chat; the decoded `data:` chunks as they arrive."""
        body = {"model": model, "messages": messages, "stream": True, **extra}
        headers = {"Authorization": f"Bearer {self.token}"}
        with (
            httpx.Client(base_url=self.url, timeout=TURN_LIMIT_S, trust_env=not is_loopback(self.url)) as http,
            http.stream("POST", "/api/chat/completions", json=body, headers=headers) as answer,
        ):
            answer.raise_for_status()
            for line in answer.iter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    yield json.loads(line.removeprefix("data: "))

    def _variables(self) -> dict[str, str]:
        """What the browser tells about the user. Source: a recorded request of Open WebUI 0.12.4's page."""
        now = time.gmtime()
        return {
            "{{USER_NAME}}": self.name,
            "{{USER_EMAIL}}": self.email,
            "{{USER_LOCATION}}": "Unknown",
            "{{CURRENT_DATETIME}}": time.strftime("%Y-%m-%d %H:%M:%S", now),
            "{{CURRENT_DATE}}": time.strftime("%Y-%m-%d", now),
            "{{CURRENT_TIME}}": time.strftime("%H:%M:%S", now),
            "{{CURRENT_WEEKDAY}}": time.strftime("%A", now),
            "{{CURRENT_TIMEZONE}}": "UTC",
            "{{USER_LANGUAGE}}": self.language,
        }
