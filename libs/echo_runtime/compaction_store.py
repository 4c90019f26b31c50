"""Where a chat's compactions are kept: among its settings, changed in one transaction, so that processes agree."""

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from echo_core.compaction_records import CHECKPOINT_KEY, STATE_KEY, Chain, CompactionState, Epoch
from echo_core.compaction_replay import Rendered
from echo_core.ports import ShadowStore

#: Bytes of rendered beginnings that are kept for further turns. Source: our choice; a full chat has about 2 MB.
_KEPT_BYTES: Final = 64 * 1024 * 1024


class RenderedHeads:
    """What was rendered of compacted chats last, as far as there is room; the least used goes first."""

    def __init__(self) -> None:
        self._heads: OrderedDict[tuple[str, str], Rendered] = OrderedDict()

    def of(self, chat_id: str, view: str) -> Rendered:
        """That of one chat for one reader; an empty one to be filled."""
        key = (chat_id, view)
        found = self._heads.pop(key, None) or Rendered()
        self._heads[key] = found
        used = sum(len(head.made) for head in self._heads.values())
        while used > _KEPT_BYTES and len(self._heads) > 1:
            _, gone = self._heads.popitem(last=False)
            used -= len(gone.made)
        return found


async def compaction_state(store: ShadowStore) -> CompactionState:
    """A chat's compactions, as they are kept at this very moment."""
    return CompactionState.from_json((await store.get_settings([STATE_KEY])).get(STATE_KEY))


async def artifacts_of(store: ShadowStore, epoch: Epoch | None) -> list[str]:
    """The artifacts of an epoch's checkpoint, [] when it has none."""
    if epoch is None or not epoch.checkpoint_id:
        return []
    held = await store.get_setting(CHECKPOINT_KEY.format(checkpoint_id=epoch.checkpoint_id))
    return [str(xml) for xml in json.loads(held or "[]")]


async def keep_artifacts(store: ShadowStore, checkpoint_id: str, artifacts: Sequence[str]) -> None:
    """Keep the artifacts of a checkpoint."""
    await store.save_setting(CHECKPOINT_KEY.format(checkpoint_id=checkpoint_id), json.dumps(list(artifacts)))


async def take_compactions(source: ShadowStore, store: ShadowStore) -> None:
    """Take over the compactions and pins of the chat that this one is a copy of, unless it has some itself.

    They act where the copy holds what they stand for: a message has the same cumulative hash in both.

    Args:
        source: the records of the other chat, of the same owner.
        store: the records of this chat.
    """
    state = await source.get_setting(STATE_KEY)
    if state is not None and await store.get_setting(STATE_KEY) is None:
        checkpoints = await source.settings_beginning(CHECKPOINT_KEY.format(checkpoint_id=""))
        await store.claim_settings({**checkpoints, STATE_KEY: state})


async def add_epoch(store: ShadowStore, chain: Chain, planned_under: Epoch | None, epoch: Epoch) -> Epoch:
    """Put an epoch in force on a chain, unless another process did so in the meantime; the one that is in force.

    Args:
        store: the chat's records, with the epoch's checkpoint in them.
        chain: that it acts on.
        planned_under: the epoch in force when it was planned.
        epoch: the new one.
    """

    def change(held: str | None) -> str:
        state = CompactionState.from_json(held)
        there = state.in_force(chain)
        return (state if there is not None and there != planned_under else state.with_epoch(epoch)).to_json()

    state = CompactionState.from_json(await store.update_setting(STATE_KEY, change))
    return state.in_force(chain) or epoch


async def change_state(store: ShadowStore, change: Callable[[CompactionState], CompactionState]) -> CompactionState:
    """Change a chat's compactions in one transaction; the new state."""
    told = await store.update_setting(STATE_KEY, lambda held: change(CompactionState.from_json(held)).to_json())
    return CompactionState.from_json(told)
