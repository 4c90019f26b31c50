"""The pages' side of a running ECHO: its gauges and prompts, and the records that belong to whoever asks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from echo_core.ports import ShadowStore
from echo_runtime import _owui
from echo_runtime.hud import Hud
from echo_runtime.loading import orchestrator
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.prompt_desk import PromptDesk


async def running_hud() -> Hud:
    """The HUD of this event loop. Raises as `orchestrator`."""
    return (await orchestrator()).hud


async def running_prompts() -> PromptDesk:
    """The prompts of this event loop. Raises as `orchestrator`."""
    return (await orchestrator()).prompts


async def running_memories() -> MemoryDesk:
    """What is remembered of users, on this event loop."""
    from echo_runtime.composition import services  # heavy: only where a runtime is there

    return services().memories


@asynccontextmanager
async def own_chat(user_id: str, chat_id: str) -> AsyncIterator[ShadowStore | None]:
    """The records of a chat that the user owns; None for anybody else's, and for chats that never were ECHO's.

    Nothing is created for an id that has no records.
    """
    from echo_runtime.composition import services  # heavy: only where a runtime is there

    sessions = services().sessions
    temporary = (user_id, chat_id) in sessions.temporary_chats()
    owner = user_id if temporary else await _owui.chat_owner(chat_id)
    if owner != user_id or not (temporary or await sessions.exists(user_id, chat_id)):
        yield None
        return
    async with sessions.open(user_id, chat_id) as store:
        yield store
