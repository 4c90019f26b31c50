"""Condensing a chat because the user asks for it, between two turns."""

import asyncio
from dataclasses import replace

from echo_core.compaction import EchoCompactionEngine
from echo_core.compaction_planning import Budget
from echo_core.compaction_records import Chain, Epoch
from echo_core.ports import ModelBackend, ShadowStore
from echo_core.prefix import PrefixBreak
from echo_core.suture import Assembly
from echo_runtime import _owui
from echo_runtime.breaks import BREAKS
from echo_runtime.call import PipeCall
from echo_runtime.compaction import Compactor, Frame
from echo_runtime.compaction_store import add_epoch, artifacts_of, compaction_state
from echo_runtime.history import Rebuilt


async def saved_chain(store: ShadowStore, chat_id: str, message_id: str) -> Chain:
    """The chain that ends with a message as its records have it; rows without a record end it above."""
    ids = list((await _owui.load_rows(chat_id)).chain(message_id).ids)
    known = await store.get_message_shadows(ids)
    there = next((n for n, one in enumerate(ids) if one not in known), len(ids))
    shadows = [known[one] for one in ids[:there]]
    assembly = Assembly()
    assembly.extend(shadows)
    return Chain(ids=ids[:there], shadows=shadows, pieces=assembly.pieces)


async def compact_by_hand(
    compactor: Compactor,
    call: PipeCall,
    store: ShadowStore,
    *,
    frame: Frame,
    size_tokens: int,
    backend: ModelBackend,
) -> Epoch | None:
    """Condense a chat whatever its size; the epoch, None when there is nothing to condense.

    Args:
        compactor: does it.
        call: names chat, user and, as the message that is answered, the last one that counts.
        store: the chat's records.
        frame: what stands around the conversation.
        size_tokens: ECHO_MAX_CONTEXT_SIZE.
        backend: sums up.
    """
    view = await saved_chain(store, call.chat_id, call.user_message_id)
    async with compactor.lock(call.chat_id):
        state = await compaction_state(store)
        now = state.in_force(view)
        history = replace(Rebuilt(contents=(), view=view), state=state).under(now, await artifacts_of(store, now))
        weight = await compactor.weigh(store, history, frame)
        # A chat that is small already is brought down to half of what it is.
        engine = EchoCompactionEngine(Budget(size_tokens=min(size_tokens, 2 * weight.tokens)))
        plan = await asyncio.to_thread(engine.plan, view, now, frame_tokens=frame.tokens, ratio=weight.ratio)
        if plan is None:
            return None
        epoch, _ = await compactor.carried_out(store, history, frame, engine, plan, weight, backend)
        BREAKS.note(PrefixBreak.COMPACTION, call.chat_id)
        return await add_epoch(store, view, now, epoch)
