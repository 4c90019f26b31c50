"""Events of messages that were edited or are gone: nobody is to be told of them any more."""

from collections.abc import Sequence

from echo_aec import EchoAEC
from echo_core.ports import ShadowStore
from echo_runtime import _owui
from echo_runtime.call import PipeCall


async def purge_orphans(call: PipeCall, store: ShadowStore, chain: Sequence[str], pivot: str | None) -> int:
    """Remove what waits below an edit on this branch, and what belongs to messages that are no longer in the chat.

    What belongs to other branches stays: they can be returned to. Source: docs/design.md section 5.

    Args:
        call: names the chat.
        store: its records.
        chain: ids of its messages, root first.
        pivot: the first message of it that was edited, None when none was.

    Returns:
        How many were removed.
    """
    anchors = await store.transient_anchors()
    if not anchors:
        return 0
    below = set(chain[chain.index(pivot) :]) if pivot in chain else set()
    written = (
        await _owui.written_at(call.chat_id, sorted(anchors | below)) if call.is_saved else dict.fromkeys(chain, 0)
    )
    gone = {anchor for anchor in anchors if anchor not in written}
    times = [written[message_id] for message_id in below if message_id in written]
    return await EchoAEC(store).purge_orphaned_events(0 if gone or not times else min(times), lost=gone | below)
