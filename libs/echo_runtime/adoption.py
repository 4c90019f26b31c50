"""Finds the records of a chat's messages in the chat it was cloned, forked or imported from, of the same owner only.

Where that chat is gone, or was on another machine, they may have been imported (`echoctl import`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from echo_core.heads import RowHead
from echo_core.ports import ShadowStore
from echo_core.records import Shadow
from echo_core.suture import unedited
from echo_protocol import visible_text
from echo_runtime import _owui
from echo_runtime._owui import RowText
from echo_runtime.call import PipeCall
from echo_runtime.stores import ChatStores


async def adopted(
    stores: ChatStores, call: PipeCall, strangers: Sequence[RowHead], texts: Mapping[str, RowText]
) -> dict[str, Shadow]:
    """Shadows for messages that this chat has no record of, by message id.

    A shadow is adopted when the owner is the same and the text is still the one that was sealed. Records of other
    users are never looked at: their folder is another one.

    Args:
        stores: opens the other chats.
        call: whose chat it is.
        strangers: rows without a shadow; the message that is being asked now is none of them.
        texts: what these rows show.
    """
    found: dict[str, Shadow] = {}
    if strangers:
        await _adopt(stores, call, await _owui.chat_origins(call.chat_id), strangers, texts, found)
    for look_for in (-1, 0):  # copies of copies, and imports, do not name the chat that they were made from
        missing = [head for head in strangers if head.message_id not in found]
        if missing:
            others = await _owui.sister_chats(call.chat_id, missing[look_for].message_id)
            await _adopt(stores, call, others, missing, texts, found)
    if unknown := [head.message_id for head in strangers if head.message_id not in found]:
        async with stores.open_imported(call) as store:
            if store is not None:
                await _take(store, unknown, texts, found)
    return found


async def _adopt(
    stores: ChatStores,
    call: PipeCall,
    origins: Sequence[str],
    strangers: Sequence[RowHead],
    texts: Mapping[str, RowText],
    found: dict[str, Shadow],
) -> None:
    """Add to `found` what some chats of the same owner know of the strangers."""
    for origin in origins:
        missing = [head.message_id for head in strangers if head.message_id not in found]
        async with stores.open_existing(call, origin) as store:
            if store is not None and missing:
                await _take(store, missing, texts, found)


async def _take(
    store: ShadowStore, missing: Sequence[str], texts: Mapping[str, RowText], found: dict[str, Shadow]
) -> None:
    """Add to `found` what one store knows of messages that show what was sealed."""
    for message_id, shadow in (await store.get_message_shadows(missing)).items():
        text = texts.get(message_id)
        if text is not None and unedited(shadow, visible_text(text.content, text.output)):
            found[message_id] = replace(shadow, lock=None)


async def former_elsewhere(stores: ChatStores, call: PipeCall, head: RowHead, displayed: str) -> Shadow | None:
    """A message that was edited before the chat was copied and is now restored: its record in the other chat.

    Args:
        stores: opens the other chats.
        call: whose chat it is.
        head: the row.
        displayed: what it shows.
    """
    if not call.is_saved or head.message_id == call.user_message_id:
        return None
    sisters = await _owui.sister_chats(call.chat_id, head.message_id)
    for origin in dict.fromkeys([*await _owui.chat_origins(call.chat_id), *sisters]):
        async with stores.open_existing(call, origin) as store:
            found = None if store is None else await _former_in(store, head.message_id, displayed)
        if found is not None:
            return found
    async with stores.open_imported(call) as store:
        return None if store is None else await _former_in(store, head.message_id, displayed)


async def _former_in(store: ShadowStore, message_id: str, displayed: str) -> Shadow | None:
    """What one store knows of a message that says what is displayed, now or earlier."""
    shadow = await store.get_message_shadow(message_id)
    former = await store.get_former_shadows(message_id)
    for candidate in (*([shadow] if shadow else []), *reversed(former)):
        if unedited(candidate, displayed):
            return replace(candidate, lock=None)
    return None
