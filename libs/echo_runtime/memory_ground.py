"""Whether a chat is a place for memory, and what the user himself said in it.

EchoError
└── NoMemoryHereError   a temporary chat, one with other people in it, encrypted records, or memory that is switched off
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from anyio import to_thread

from echo_constants import Bilingual, EchoError
from echo_constants.errors import Audience
from echo_core.memories import Fact, Provenance
from echo_core.ports import Clock
from echo_memory.screening import own_words
from echo_paths.layout import TEMPORARY_PREFIXES
from echo_protocol import TextPart, parse_contents
from echo_runtime.turn_context import METADATA_KEY, TurnContext
from echo_runtime.writers import WRITERS_KEY
from echo_state_manager import SessionStores

#: Words by which a user has something remembered. Source: our choice.
_ORDER_WORDS: Final = (
    r"(?:remember|memori[sz]e|keep\s+in\s+mind|don.?t\s+forget|never\s+forget|note|make\s+a\s+note|retiens|retenez|"
    r"souviens-toi|souvenez-vous|mémorise[rz]?|n.oublie[sz]?\s+(?:pas|jamais)|note[sz]?|"
    r"garde[sz]?\s+(?:ça\s+|cela\s+)?en\s+(?:tête|mémoire))"
)
_ORDER: Final = re.compile(
    rf"(?<![\w])(?<!\bI )(?<!you ){_ORDER_WORDS}\b(?!\s+(?:when|how|why|if|quand|si)\b)", re.IGNORECASE
)
_ORDERED: Final = re.compile(rf"\b{_ORDER_WORDS}\s*(?:that|:|que\s|qu.)\s*(?P<what>[^.!?\n]{{3,}})", re.IGNORECASE)

#: Earlier messages of the user in which "remember that" may find what it means. Source: our choice.
_EARLIER: Final = 12
_LOOKED_AT: Final = 64


class NoMemoryHereError(EchoError):
    """Nothing is remembered or recalled in this chat."""

    code = "memory_not_here"
    audience: ClassVar[Audience] = "user"
    api_status: ClassVar[int] = 409
    message = Bilingual(
        en="Memory is off in this chat: it is temporary, others take part in it, or memory is switched off.",
        fr="La mémoire est coupée ici : conversation temporaire, participation d'autres personnes, ou réglage.",
    )
    remedy = Bilingual(
        en="Use a saved chat of your own, or switch memory on in the valves of conversation_rag_filter.",
        fr="Utilisez une conversation enregistrée à vous seul, ou activez la mémoire dans les vannes de "
        "conversation_rag_filter.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a memory can stand on.

    Args:
        source: the chat and message that is answered.
        said: the user's own words, the current message last.
        orders: whether the current message asks to have something remembered.
    """

    source: Provenance
    said: Sequence[str] = field(default=())
    orders: bool = False


class MemoryGround:
    """Looks at chats for the memory tools.

    Args:
        sessions: the records of chats.
        owner_of: whose a chat is; None where it is nobody's.
        clock: time.
    """

    def __init__(self, sessions: SessionStores, owner_of: Callable[[str], Awaitable[str | None]], clock: Clock) -> None:
        self._sessions = sessions
        self._owner_of = owner_of
        self._clock = clock

    async def of(self, user_id: str, metadata: Mapping[str, Any] | None) -> Ground:
        """The ground of the message that is answered.

        Args:
            user_id: who asks.
            metadata: Open WebUI's request metadata.

        Raises:
            NoMemoryHereError: no memory may be used in this chat.
        """
        told = metadata or {}
        chat_id = str(told.get("chat_id") or "")
        message = told.get("user_message")
        shared = told.get(METADATA_KEY)
        content = message.get("content") if isinstance(message, Mapping) else getattr(shared, "asked", "")
        current = own_words(content if isinstance(content, str) else "")
        earlier: list[str] = []
        off = isinstance(shared, TurnContext) and not shared.memory.on
        if off or not user_id or chat_id.startswith(TEMPORARY_PREFIXES):
            raise NoMemoryHereError
        if chat_id:
            earlier = await self._earlier(user_id, chat_id)
        source = Provenance(
            chat_id=chat_id, message_id=str(told.get("user_message_id") or ""), at_s=int(self._clock.now_s())
        )
        return Ground(source=source, said=(*earlier, current), orders=orders(current))

    async def _earlier(self, user_id: str, chat_id: str) -> list[str]:
        """The user's last messages in a chat that is his alone."""
        if await self._owner_of(chat_id) not in (user_id, None):
            raise NoMemoryHereError
        if not await self._sessions.exists(user_id, chat_id):
            return []
        async with self._sessions.open(user_id, chat_id) as store:
            if await store.get_setting(WRITERS_KEY):
                raise NoMemoryHereError
            shadows = await store.get_message_shadows(list(await store.message_ids())[-_LOOKED_AT:])
        asked = [shadow.contents_json for shadow in shadows.values() if shadow.role == "user"][-_EARLIER:]
        return await to_thread.run_sync(lambda: [own_words(said_in(contents)) for contents in asked])


def orders(words: str) -> bool:
    """Whether the user asks to have something remembered."""
    return bool(_ORDER.search(words))


def ordered(words: str) -> list[Fact]:
    """What the user asks to have remembered, in his own words: "remember that …"."""
    return [Fact(text=found["what"].strip()) for found in _ORDERED.finditer(words)]


def said_in(contents_json: bytes) -> str:
    """What a user wrote in a message, without what ECHO put beside it. Not for an event loop when it is long."""
    parts = [part for content in parse_contents(contents_json) for part in content.parts]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def day_of(at_s: float) -> str:
    """A day as people and models read it, UTC."""
    return datetime.fromtimestamp(at_s, UTC).date().isoformat()
