"""Finds the records of a chat's messages in the chat it was cloned, forked or imported from, of the same owner only.

Where that chat is gone, or was on another machine, they may have been imported (`echoctl import`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from echo_core.heads import RowHead
from echo_core.ports import ShadowStore
from echo_core.records import Shadow
from echo_core.suture import unedited
from echo_protocol import visible_text
from echo_runtime import _owui
from echo_runtime._owui import RowText
from echo_runtime.call import PipeCall
from echo_runtime.compaction_store import take_compactions
from echo_runtime.stores import ChatStores
from echo_runtime.told import take_along
from echo_runtime.writers import SHARED_SUFFIX


async def adopted(
    stores: ChatStores, call: PipeCall, store: ShadowStore, strangers: Sequence[RowHead], texts: Mapping[str, RowText]
) -> dict[str, Shadow]:
    """Shadows for messages that this chat has no record of, by message id; what was told with them is taken along.

    A shadow is adopted when the owner is the same and the text is still the one that was sealed. Records of other
    users are never looked at: their folder is another one.

    Args:
        stores: opens the other chats.
        call: whose chat it is.
        store: the records of this chat.
        strangers: rows without a shadow; the message that is being asked now is none of them.
        texts: what these rows show.
    """
    search = _Search(call, store, strangers, texts)
    await search.look_in(stores, await _owui.chat_origins(call.chat_id))
    for look_for in (-1, 0):  # copies of copies, and imports, do not name the chat that they were made from
        if missing := search.missing():
            await search.look_in(stores, await _owui.sister_chats(call.chat_id, missing[look_for]))
    if search.missing():
        async with stores.open_imported(call) as imported:
            if imported is not None:
                await search.take(imported)
    return search.found


@dataclass(slots=True)
class _Search:
    """What was found so far.

    Args:
        call: whose chat it is.
        store: its records.
        strangers: what is looked for.
        texts: what these rows show.
        found: shadows by message id.
    """

    call: PipeCall
    store: ShadowStore
    strangers: Sequence[RowHead]
    texts: Mapping[str, RowText]
    found: dict[str, Shadow] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """Ids of what has not been found."""
        return [head.message_id for head in self.strangers if head.message_id not in self.found]

    async def look_in(self, stores: ChatStores, origins: Sequence[str]) -> None:
        """Take what some chats of the same owner know of it."""
        for origin in origins:
            async with stores.open_existing(self.call, origin) as source:
                if source is not None:
                    await self.take(source)

    async def take(self, source: ShadowStore) -> None:
        """Take what one store knows of messages that show what was sealed."""
        for message_id, shadow in (await source.get_message_shadows(self.missing())).items():
            text = self.texts.get(message_id)
            if text is not None and unedited(shadow, visible_text(text.content, text.output)):
                self.found[message_id] = replace(shadow, lock=None)
        questions = [head.message_id.removesuffix(SHARED_SUFFIX) for head in self.strangers if head.role == "user"]
        await take_along(self.call, source, self.store, [*questions, self.call.user_message_id])
        if self.found:
            await take_compactions(source, self.store)


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
