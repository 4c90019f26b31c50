"""API callers without a chat send back only text and their tools' results; the answers in between are found again.

They are found by a hash chain over what the caller sends. A caller's `tool` messages meet the calls of the answer
before them: the responses that ECHO has itself and the caller's become one Content, in call order.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from echo_core.ports import ShadowStore
from echo_core.records import Shadow
from echo_core.suture import closed
from echo_protocol import (
    ROOT_PARENT,
    Content,
    FunctionCallPart,
    FunctionResponsePart,
    apply_scope,
    client_hash,
    close_dangling_calls,
    content_json,
    merge_neighbours,
    openai_messages_to_contents,
    parse_contents,
)
from echo_runtime.history import Rebuilt
from echo_runtime.scopes import Reader, Scopes

Message = Mapping[str, Any]


class ApiHistory:
    """Rebuilds the conversation of an API caller.

    Args:
        scopes: tells which signatures a reader accepts.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    async def rebuild(self, messages: Sequence[Message], store: ShadowStore, reader: Reader) -> Rebuilt:
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
        told = _Retold()
        waiting: list[Message] = []
        for index, message in enumerate(messages):
            shadow = known.get(hashes[index]) if message.get("role") == "assistant" else None
            if shadow is None:
                waiting.append(message)
                continue
            told.add_messages(waiting)
            told.add_answer(self._scopes.readable(shadow, reader), _call_ids(message))
            waiting = []
        told.add_messages(waiting)
        return Rebuilt(contents=told.fragments(reader), client_parent=hashes[-1] if hashes else ROOT_PARENT)


def retold(messages: Sequence[Message], reader: Reader) -> tuple[bytes, ...]:
    """The messages alone, where nothing was kept of them."""
    told = _Retold()
    told.add_messages(messages)
    return told.fragments(reader)


class _Retold:
    """Sealed bytes and retold messages, joined so that roles alternate and every call is answered."""

    def __init__(self) -> None:
        self._pieces: list[bytes | Content] = []
        self._open: Content | None = None
        self._answered = Content("user", ())
        self._ids: tuple[str, ...] = ()

    def add_answer(self, shadow: Shadow, call_ids: tuple[str, ...]) -> None:
        """A sealed answer; what it leaves open waits for the messages that follow."""
        contents = parse_contents(shadow.contents_json) if shadow.state == "complete" else ()
        calls = contents[-1].calls or (contents[-2].calls if len(contents) > 1 else ()) if contents else ()
        if not calls:
            self._pieces += closed(shadow)
            return
        asked = len(contents) - (1 if contents[-1].role == "model" else 2)
        self._pieces += contents[: asked + 1]
        self._open = contents[asked]
        self._answered = Content("user", tuple(part for content in contents[asked + 1 :] for part in content.parts))
        self._ids = call_ids

    def add_messages(self, messages: Sequence[Message]) -> None:
        """What the caller says after that."""
        asked, self._open = self._open, None
        if asked is None:
            self._pieces += close_dangling_calls(openai_messages_to_contents(messages)[1])
            return
        given = [part for part in self._answered.parts if isinstance(part, FunctionResponsePart)]
        left = [call for call in asked.calls if not any(_answers(part, call) for part in given)]
        calls = dict(zip(self._ids, left, strict=False))
        places = {call_id: place for place, call_id in enumerate(self._ids)}
        results = [message for message in messages if str(message.get("tool_call_id")) in places]
        results.sort(key=lambda message: places[str(message.get("tool_call_id"))])
        rest = [message for message in messages if str(message.get("tool_call_id")) not in places]
        following = openai_messages_to_contents([*results, *rest], calls)[1]
        self._pieces += close_dangling_calls([asked, *merge_neighbours([self._answered, *following])])[1:]

    def fragments(self, reader: Reader) -> tuple[bytes, ...]:
        """Serialised Contents and arrays of them; unsigned calls of the current turn are covered for."""
        if self._open is not None:
            self.add_messages(())
        asked = [
            place
            for place, piece in enumerate(self._pieces)
            if isinstance(piece, Content)
            and piece.role == "user"
            and not all(isinstance(part, FunctionResponsePart) for part in piece.parts)
        ]
        turn_start = asked[-1] if asked else -1
        validates = reader.model.validates_signatures
        fragments: list[bytes] = []
        for place, piece in enumerate(self._pieces):
            if isinstance(piece, Content):
                if piece.role == "model" and place > turn_start:
                    [piece] = apply_scope([piece], in_scope=True, turn_start=-1, validates=validates)
                piece = content_json(piece.role, piece.parts)
            fragments.append(piece)
        return tuple(fragments)


def _answers(response: FunctionResponsePart, call: FunctionCallPart) -> bool:
    return response.call_id == call.call_id if call.call_id is not None else response.name == call.name


def _chain(messages: Sequence[Message]) -> list[str]:
    """The client hash of each message; system messages count for nothing, callers change them freely."""
    hashes: list[str] = []
    parent = ROOT_PARENT
    for message in messages:
        role = str(message.get("role"))
        if role not in ("system", "developer"):
            calls = _call_ids(message) if role == "assistant" else ()
            parent = client_hash(role, _text(message.get("content")), parent, calls)
        hashes.append(parent)
    return hashes


def _call_ids(message: Message) -> tuple[str, ...]:
    calls = message.get("tool_calls")
    return tuple(str(c.get("id")) for c in calls if isinstance(c, Mapping)) if isinstance(calls, list) else ()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(b.get("text", "")) for b in blocks if isinstance(b, Mapping) and b.get("type") == "text")
