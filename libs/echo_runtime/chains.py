"""Where the chain of messages comes from: Open WebUI's database, or the request itself for temporary chats."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from echo_core.heads import Heads, RowHead
from echo_runtime import _owui
from echo_runtime._owui import RowText
from echo_runtime.call import PipeCall
from echo_runtime.item_ids import message_of


class Chain(Protocol):
    """The messages from the root to the one that the answer follows."""

    async def heads(self) -> Heads:
        """All of them, root first, without text."""
        ...

    async def texts(self, message_ids: Sequence[str]) -> Mapping[str, RowText]:
        """What some of them show."""
        ...


class SavedChain:
    """A chat in the database, never by its `currentId`: another tab may stand on another branch."""

    def __init__(self, call: PipeCall) -> None:
        self._call = call
        self._heads: Heads | None = None

    async def heads(self) -> Heads:
        """See `Chain`; read once, because everybody who asks in one turn must see the same rows."""
        if self._heads is None:
            self._heads = (await _owui.load_rows(self._call.chat_id)).chain(self._call.chain_end)
        return self._heads

    async def texts(self, message_ids: Sequence[str]) -> Mapping[str, RowText]:
        """See `Chain`."""
        return await _owui.load_texts(self._call.chat_id, message_ids)


class RequestChain:
    """A temporary chat: the page sends the whole conversation in every request.

    Questions have their ids; an answer is known by its output items, or, if another model gave it, by the question.
    """

    def __init__(self, call: PipeCall, messages: Sequence[Mapping[str, Any]]) -> None:
        self._call = call
        self._messages: dict[str, Mapping[str, Any]] = {}
        question = ""
        for message in messages:
            if message.get("role") == "user" and message.get("id"):
                question = str(message["id"])
                self._messages[question] = message
            elif message.get("role") == "assistant":
                known = message.get("id") or message_of(message.get("output") or [])
                self._messages[str(known or f"{question}/answer")] = message

    @classmethod
    async def read(cls, call: PipeCall) -> "RequestChain":
        """Read the original request body; Open WebUI has taken the ids out of the one that the pipe gets."""
        body = await call.request.json()
        return cls(call, body.get("messages") or [])

    async def heads(self) -> Heads:
        """See `Chain`."""
        return Heads.of(
            RowHead(message_id, "user" if message["role"] == "user" else "model", 0, self._call.user_id)
            for message_id, message in self._messages.items()
            if message_id != self._call.message_id or self._call.continues
        )

    async def texts(self, message_ids: Sequence[str]) -> Mapping[str, RowText]:
        """See `Chain`."""
        return {
            message_id: RowText(message.get("content") or "", message.get("output") or [], message.get("files") or [])
            for message_id, message in self._messages.items()
            if message_id in message_ids
        }
