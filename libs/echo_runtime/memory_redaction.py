"""What answers were told of memories, and taking it out again when they are forgotten."""

from collections.abc import Collection

from echo_aec import Artifact
from echo_core.memories import Memory
from echo_core.prefix import PrefixBreak
from echo_runtime.breaks import BREAKS
from echo_runtime.memory_ground import day_of
from echo_state_manager import SessionStores


def memory_artifact(memory: Memory) -> str:
    """How the model is told a memory beside a question; its id is by what it is found again."""
    since = day_of(memory.source.at_s or memory.created_at_s)
    return Artifact(id="AEC_memoire", attributes={"memory": memory.id, "since": since}, text=memory.text).xml()


async def redact_memories(sessions: SessionStores, user_id: str, memory_ids: Collection[str]) -> int:
    """Take memories out of what the answers of all of a user's chats were told; in how many chats.

    The next request of each begins otherwise than the one before, which is counted as `forgotten`.
    """
    chats = await sessions.redact(user_id, memory_ids)
    for chat_id in chats:
        BREAKS.note(PrefixBreak.FORGOTTEN, chat_id)
    return len(chats)
