"""What is said in chats, in the session memory: embedded in the background after each turn, once a message."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from anyio import to_thread

from echo_constants import EchoError
from echo_core.passages import SESSION_RAG, Passage, PassageFilter
from echo_core.ports import ShadowStore, UserPassages, VectorStore
from echo_core.records import Shadow
from echo_memory.chunks import chunks
from echo_paths import EchoPaths
from echo_paths.layout import TEMPORARY_PREFIXES
from echo_protocol import TextPart, parse_contents
from echo_protocol.attached import ATTACHED_FILE
from echo_runtime.writers import SHARED_SUFFIX
from echo_state_manager import SessionStores

log = logging.getLogger(__name__)

TURN_KIND: Final = "turn"
#: A passage that only asks: most like a question, and tells least.
QUESTION_KIND: Final = "question"

#: About the length of a passage: what is said in passing in a long message must not drown in it. Source: our choice.
PASSAGE_CHARS: Final = 600

#: One sentence that is a question.
_ONLY_ASKS: Final = re.compile(r"(?:[^.!?…\n]|[.!?…](?=\S))*\?")

#: Messages that are embedded and noted together; what a crash makes be embedded again. Source: our choice.
BATCH: Final = 8


@dataclass(slots=True)
class _Work:
    """A chat that is being indexed.

    Args:
        more: whether something was said since the last look.
        unwanted: whether it is to stop, because the chat is gone.
    """

    task: asyncio.Task[None] | None = None
    more: bool = True
    unwanted: bool = False


class TurnIndex:
    """The chats of all users in the session memory, one message after the other. One an event loop.

    What waits is known by the records themselves (`is_embedded`), so a turn costs what it said and nothing else; an
    edited message waits again. A mark beside the records lets a restart find the chats where something waits.

    Args:
        passages: gives the vector store; called at the first use, because opening it takes a while.
        sessions: the records of chats.
        paths: where the marks are.
    """

    def __init__(self, passages: Callable[[], VectorStore], sessions: SessionStores, paths: EchoPaths) -> None:
        self._passages = passages
        self._sessions = sessions
        self._paths = paths
        self._running: dict[tuple[str, str], _Work] = {}
        # One chat after the other: the embedder has one processor's time, and running turns have the first claim.
        self._at_work = asyncio.Semaphore(1)

    def of(self, user_id: str) -> UserPassages:
        """A user's session memory."""
        return self._passages().of(user_id, SESSION_RAG)

    def soon(self, user_id: str, chat_id: str) -> None:
        """Index in the background what a chat has not in the session memory; a temporary chat leaves nothing behind.

        Args:
            user_id: the chat's owner.
            chat_id: which chat.
        """
        if not chat_id or chat_id.startswith(TEMPORARY_PREFIXES):
            return
        key = (user_id, chat_id)
        work = self._running.get(key)
        if work is not None:
            work.more = True
            return
        work = self._running[key] = _Work()
        work.task = asyncio.create_task(self._guarded(user_id, chat_id, work))
        work.task.add_done_callback(lambda _: self._running.pop(key, None))

    async def settled(self, user_id: str, chat_id: str = "") -> None:
        """Wait until nothing of a user's chat is being indexed; "" = of any chat."""
        while tasks := [
            w.task for (u, c), w in self._running.items() if u == user_id and chat_id in ("", c) and w.task
        ]:
            await asyncio.wait(tasks)

    async def forget(self, *, user_id: str = "", chat_id: str = "") -> None:
        """Stop indexing what is gone, so that nothing is written behind its removal; "" = of any."""
        works = [w for (u, c), w in self._running.items() if user_id in ("", u) and chat_id in ("", c)]
        for work in works:
            work.unwanted = True
        if tasks := [work.task for work in works if work.task]:
            await asyncio.wait(tasks)

    async def resume(self, owner_of: Callable[[str], Awaitable[str | None]]) -> int:
        """Go on with what a restart cut off; in how many chats.

        Args:
            owner_of: whose a chat is, None when it is gone.
        """
        marked = await to_thread.run_sync(lambda: list(self._paths.unindexed_chats()))
        living = [(user_id, chat_id) for user_id, chat_id in marked if await owner_of(chat_id) == user_id]
        for user_id, chat_id in living:
            self.soon(user_id, chat_id)
        return len(living)

    async def _guarded(self, user_id: str, chat_id: str, work: _Work) -> None:
        """Trouble is logged: what waits is found by its words meanwhile, and the next turn or start tries again."""
        mark = self._paths.unindexed_mark(user_id, chat_id)
        try:
            await to_thread.run_sync(mark.touch)
            async with self._at_work:
                while work.more and not work.unwanted:
                    work.more = False
                    await self._take(user_id, chat_id, work)
            if not work.unwanted:
                await to_thread.run_sync(lambda: mark.unlink(missing_ok=True))
        except (EchoError, OSError) as error:
            log.warning("A chat was not indexed: %s", error)

    async def _take(self, user_id: str, chat_id: str, work: _Work) -> None:
        async with self._sessions.open(user_id, chat_id) as store:
            waiting = await store.unembedded()
            for begin in range(0, len(waiting), BATCH):
                if work.unwanted:
                    return
                await self._embed(self.of(user_id), chat_id, store, waiting[begin : begin + BATCH])

    @staticmethod
    async def _embed(mine: UserPassages, chat_id: str, store: ShadowStore, ids: Sequence[str]) -> None:
        shadows = list((await store.get_message_shadows(ids)).values())
        # What several writers are sent of a message is its text once more.
        own = [shadow for shadow in shadows if not shadow.message_id.endswith(SHARED_SUFFIX)]
        passages = await to_thread.run_sync(_passages, chat_id, own)
        sources = tuple(shadow.message_id for shadow in own)
        await mine.delete(PassageFilter(chat_ids=(chat_id,), source_ids=sources, kinds=(TURN_KIND, QUESTION_KIND)))
        if passages:
            await mine.put(passages)
        await store.mark_embedded(shadows)


def words_of(contents_json: bytes) -> str:
    """What user or model wrote, without previews, attached texts, calls and results: those have memories of their own.

    Args:
        contents_json: serialised Contents of one message.
    """
    contents = parse_contents(contents_json)
    texts = [part.text for content in contents for part in content.parts if isinstance(part, TextPart)]
    # What a user writes never begins like that: it is made harmless before it is sealed.
    own = [text for text in texts if not text.startswith(("<artifact ", ATTACHED_FILE))]
    return ("\n" if contents and contents[0].role == "user" else "").join(own).strip()


def _passages(chat_id: str, shadows: Sequence[Shadow]) -> list[Passage]:
    return [
        Passage(
            passage_id=f"{chat_id}/turn/{shadow.message_id}/{number}",
            text=text[one.start : one.end],
            kind=QUESTION_KIND if _ONLY_ASKS.fullmatch(text[one.start : one.end]) else TURN_KIND,
            chat_id=chat_id,
            source_id=shadow.message_id,
            position=number,
            meta={"role": shadow.role, "hash": shadow.invariant_hash},
        )
        for shadow in shadows
        for text in (words_of(shadow.contents_json),)
        for number, one in enumerate(chunks(text, wanted_chars=PASSAGE_CHARS))
    ]
