"""The browser's socket: without one, Open WebUI has nobody to send a temporary chat's answer to."""

import threading
from typing import Any

import socketio

from live.client import TURN_LIMIT_S


class Socket:
    """One tab's connection.

    Args:
        url: where Open WebUI is.
        token: of the account.
    """

    def __init__(self, url: str, token: str) -> None:
        self._client = socketio.Client(reconnection=False)
        self._news = threading.Condition()
        self._received: list[dict[str, Any]] = []
        self._client.on("events", self._take)
        self._client.connect(url, socketio_path="/ws/socket.io", auth={"token": token}, transports=["websocket"])
        self._client.call("user-join", {"auth": {"token": token}}, timeout=TURN_LIMIT_S)

    @property
    def id(self) -> str:
        """The socket's id, which names the tab's temporary chats."""
        return str(self._client.get_sid())

    def wait_answer(self, message_id: str) -> list[dict[str, Any]]:
        """The output items of a finished answer, as the last completion event has them."""
        with self._news:
            assert self._news.wait_for(lambda: self._output(message_id) is not None, TURN_LIMIT_S), message_id
            return self._output(message_id) or []

    def close(self) -> None:
        """Close the tab."""
        self._client.disconnect()

    def _take(self, event: dict[str, Any]) -> None:
        with self._news:
            self._received.append(event)
            self._news.notify_all()

    def _output(self, message_id: str) -> list[dict[str, Any]] | None:
        told = [event["data"] for event in self._received if event.get("message_id") == message_id]
        completions = [data["data"] for data in told if data.get("type") == "chat:completion"]
        if not any(data.get("done") for data in completions):
            return None
        return next((data["output"] for data in reversed(completions) if data.get("output")), [])
