"""Reads what users said for what is worth remembering, once nobody waits for it.

A turn is noted in the user's memory.db and read when the user has been silent for a while, several turns in one
request; what a restart leaves is read with the next turn. Only the user's own words are read, never documents or
answers.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field, ValidationError

from echo_core.memories import MEMORY_KINDS, USED, Fact, MemoryKind, MemoryOrigin, Provenance
from echo_core.ports import ModelBackend
from echo_memory.keeping import Kept, Proposal
from echo_memory.screening import own_words
from echo_prompts import PromptBook
from echo_protocol import UnreadableChunk, UnreadablePart
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.memory_errors import MemoryRefusedError
from echo_runtime.memory_ground import ordered, orders, said_in
from echo_runtime.model_questions import Interviewer
from echo_runtime.writers import WRITERS_KEY
from echo_state_manager import SessionStores
from echo_state_manager.memories import MemoryStores, UnreadTurn

log = logging.getLogger(__name__)

#: Turns that are read in one request, and characters of one message. Source: our choice.
_MOST_TURNS: Final = 20
_MOST_FACTS: Final = 8
_KNOWN_TOPICS: Final = 100

READING_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "topic": {"type": "string"},
                    "value": {"type": "string"},
                    "kind": {"type": "string", "enum": list(MEMORY_KINDS)},
                    "only_one": {"type": "boolean"},
                },
                "required": ["text", "topic", "value", "kind", "only_one"],
            },
        }
    },
    "required": ["facts"],
}


class _Proposed(BaseModel):
    """One fact as a model proposes it."""

    text: str = ""
    topic: str = ""
    value: str = ""
    kind: MemoryKind = "fact"
    only_one: bool = False


class _Answer(BaseModel):
    """What a model answers."""

    facts: list[_Proposed] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Said:
    """The user's own words in one message."""

    turn: UnreadTurn
    words: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a reading.

    Args:
        kept: what was written.
        refused: why others were not.
    """

    kept: tuple[Kept, ...] = ()
    refused: tuple[MemoryRefusedError, ...] = ()


class MemoryReader:
    """Reads the turns that users' memory files name.

    Args:
        desk: keeps what is found.
        stores: names what is to be read.
        sessions: the records of chats, where it stands.
    """

    def __init__(self, desk: MemoryDesk, stores: MemoryStores, sessions: SessionStores) -> None:
        self._desk = desk
        self._stores = stores
        self._sessions = sessions

    async def note(self, user_id: str, turn: UnreadTurn) -> None:
        """Let a turn be read later."""
        await (await self._stores.of(user_id)).add_unread(turn)

    async def forget_chat(self, user_id: str, chat_id: str) -> None:
        """Read nothing of a chat that is gone."""
        await (await self._stores.of(user_id)).drop_unread(chat_id=chat_id)

    async def read(
        self, user_id: str, interviewer: Interviewer | None, backend: ModelBackend | None, prompts: PromptBook
    ) -> Reading:
        """Read all that waits of one user.

        Args:
            user_id: whose.
            interviewer: asks the model; None = nothing leaves the machine, only orders are taken word for word.
            backend: where the model is.
            prompts: how it is asked.

        Raises:
            EchoError: the model or the files cannot be used; what waits waits on.
        """
        store = await self._stores.of(user_id)
        done = Reading()
        while turns := (await store.unread())[:_MOST_TURNS]:
            said = [one for one in await self._said(user_id, turns) if one.words]
            if said and interviewer is not None and backend is not None:
                proposals = await self._proposed(user_id, said, interviewer, backend, prompts)
            else:
                proposals = [(one, fact) for one in said for fact in ordered(one.words)]
            read = await self._keep(user_id, said, proposals)
            done = Reading((*done.kept, *read.kept), (*done.refused, *read.refused))
            await store.drop_unread(turns)
        return done

    async def _said(self, user_id: str, turns: Sequence[UnreadTurn]) -> list[Said]:
        """The words of the turns, of chats that are still the user's alone."""
        said: list[Said] = []
        for chat_id in dict.fromkeys(turn.chat_id for turn in turns):
            if not await self._sessions.exists(user_id, chat_id):
                continue
            asked = [turn for turn in turns if turn.chat_id == chat_id]
            async with self._sessions.open(user_id, chat_id) as store:
                if await store.get_setting(WRITERS_KEY):
                    continue
                shadows = await store.get_message_shadows([turn.message_id for turn in asked])
            asked = [turn for turn in asked if turn.message_id in shadows]
            words = [said_in(shadows[turn.message_id].contents_json) for turn in asked]
            said += [Said(turn, own_words(text)) for turn, text in zip(asked, words, strict=True)]
        return said

    async def _proposed(
        self, user_id: str, said: Sequence[Said], interviewer: Interviewer, backend: ModelBackend, prompts: PromptBook
    ) -> list[tuple[Said, Fact]]:
        """What the model proposes, each with the message that it is taken from; () for what is no answer."""
        known = await self._desk.list_memories(user_id, limit=_KNOWN_TOPICS)
        topics = ", ".join(dict.fromkeys(memory.fact.topic for memory in known.memories if memory.fact.topic))
        messages = "\n".join(f"<message>\n{one.words}\n</message>" for one in said)
        asked = f"<known_topics>{topics}</known_topics>\n{messages}"
        try:
            text = await interviewer.ask(backend, prompts.memory_reading(), asked, READING_SCHEMA)
            facts = _Answer.model_validate_json(text or "{}").facts[:_MOST_FACTS]
        except (TimeoutError, UnreadableChunk, UnreadablePart, ValidationError) as error:
            log.warning("what was said could not be read for memory: %s", type(error).__name__)
            return []
        return [(said[-1], _fact(one)) for one in facts]

    async def _keep(self, user_id: str, said: Sequence[Said], proposals: Sequence[tuple[Said, Fact]]) -> Reading:
        words = [one.words for one in said]
        kept: list[Kept] = []
        refused: list[MemoryRefusedError] = []
        for one, fact in proposals:
            own: MemoryOrigin = "order" if any(map(orders, words)) else "reading"
            source = Provenance(chat_id=one.turn.chat_id, message_id=one.turn.message_id, at_s=one.turn.at_s)
            proposal = Proposal(fact=fact, origin=own, importance=USED, source=source)
            try:
                kept.append(await self._desk.keep(user_id, proposal, words))
            except MemoryRefusedError as error:
                refused.append(error)
        return Reading(tuple(kept), tuple(refused))


def _fact(proposed: _Proposed) -> Fact:
    return Fact(
        text=proposed.text.strip(),
        kind=proposed.kind,
        topic=proposed.topic,
        value=proposed.value,
        exclusive=proposed.only_one,
    )
