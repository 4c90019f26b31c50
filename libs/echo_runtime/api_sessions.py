"""API callers without a chat send back only text; their earlier answers are found again by a hash chain over it."""

from collections.abc import Mapping, Sequence
from typing import Any

from echo_core.ports import ShadowStore
from echo_core.suture import closed
from echo_protocol import (
    ROOT_PARENT,
    client_hash,
    content_json,
    openai_messages_to_contents,
)
from echo_runtime.history import Rebuilt
from echo_runtime.scopes import Reader, Scopes


class ApiHistory:
    """Rebuilds the conversation of an API caller.

    Args:
        scopes: tells which signatures a reader accepts.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    async def rebuild(self, messages: Sequence[Mapping[str, Any]], store: ShadowStore, reader: Reader) -> Rebuilt:
        """The caller's messages, with the sealed contents in the place of every answer that ECHO gave itself.

        Args:
            messages: OpenAI-shaped, system messages included.
            store: the caller's records.
            reader: who will read the contents.
        """
        hashes = _chain(messages)
        known = await store.find_by_client_hash(
            [hashes[i] for i, m in enumerate(messages) if m.get("role") == "assistant"]
        )
        fragments: list[bytes] = []
        waiting: list[Mapping[str, Any]] = []
        for index, message in enumerate(messages):
            shadow = known.get(hashes[index]) if message.get("role") == "assistant" else None
            if shadow is None:
                waiting.append(message)
                continue
            fragments += _plain(waiting)
            fragments += closed(self._scopes.readable(shadow, reader))
            waiting = []
        return Rebuilt(contents=(*fragments, *_plain(waiting)), client_parent=hashes[-1] if hashes else ROOT_PARENT)


def _chain(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The client hash of each message; system messages count for nothing, callers change them freely."""
    hashes: list[str] = []
    parent = ROOT_PARENT
    for message in messages:
        if message.get("role") not in ("system", "developer"):
            parent = client_hash(str(message.get("role")), _text(message.get("content")), parent)
        hashes.append(parent)
    return hashes


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(b.get("text", "")) for b in blocks if isinstance(b, Mapping) and b.get("type") == "text")


def _plain(messages: Sequence[Mapping[str, Any]]) -> list[bytes]:
    _, contents = openai_messages_to_contents(messages)
    return [content_json(content.role, content.parts) for content in contents]
