"""Chats with several writers: what was said before the second one came is theirs to read only as the page shows it.

Source: docs/design.md section 5, last paragraph. Open WebUI attributes all messages to the owner whenever the owner's
page saves the chat (`set_message_authors`, release 0.12.4), so who wrote what is recorded here as well.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echo_core.heads import Heads
from echo_core.ports import ShadowStore
from echo_runtime import _owui
from echo_runtime._owui import RowText
from echo_runtime.call import PipeCall
from echo_runtime.chains import Chain
from echo_utils import defused

#: Key in `echo_settings`: a JSON object, user id by message id, of all messages by others than the first writer.
WRITERS_KEY: Final = "writers"

#: Ends the id under which the shared form of a message is sealed, beside the signed one of its single writer.
SHARED_SUFFIX: Final = "#shared"

_NAME_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class SharedChain:
    """A chain of several writers: messages before the second writer's first one have no records but their shared form.

    Args:
        inner: the chain itself.
        known: its heads, the early ones under their shared ids.
        names: the writer's name by message id as in `known`.
    """

    inner: Chain
    known: Heads
    names: Mapping[str, str]

    async def heads(self) -> Heads:
        """See `Chain`."""
        return self.known

    async def texts(self, message_ids: Sequence[str]) -> Mapping[str, RowText]:
        """See `Chain`."""
        texts = await self.inner.texts([message_id.removesuffix(SHARED_SUFFIX) for message_id in message_ids])
        return {m: text for m in message_ids if (text := texts.get(m.removesuffix(SHARED_SUFFIX))) is not None}


async def shared(chain: Chain, call: PipeCall, store: ShadowStore) -> SharedChain | None:
    """The chain as several writers may see it; None while there is only one.

    Args:
        chain: the chat's messages, each with the writer that Open WebUI's row names.
        call: its user counts as a writer.
        store: keeps who wrote what.
    """
    heads = await chain.heads()
    recorded = await store.get_setting(WRITERS_KEY)
    told: dict[str, str] = json.loads(recorded) if recorded else {}
    first = heads.writers[0] if heads else call.user_id
    if not told and call.user_id == first and {first, ""}.issuperset(heads.writers):
        return None
    ids = heads.ids
    writers = [told.get(message_id) or writer or first for message_id, writer in zip(ids, heads.writers, strict=True)]
    pivot = next((index for index, writer in enumerate(writers) if writer != first), len(heads))
    if pivot == len(heads) and call.user_id == first:
        return None
    found = {message_id: writer for message_id, writer in zip(ids, writers, strict=True) if writer != first}
    if call.user_id != first:
        found[call.message_id] = call.user_id
    if not found.items() <= told.items():
        await store.save_setting(WRITERS_KEY, json.dumps(told | found, sort_keys=True))
    shared_ids = [message_id + SHARED_SUFFIX if index < pivot else message_id for index, message_id in enumerate(ids)]
    names = await _owui.user_names(sorted({*writers}))
    return SharedChain(
        chain,
        Heads(shared_ids, heads.marks, heads.writers),
        {message_id: _plain(names.get(writer, writer)) for message_id, writer in zip(shared_ids, writers, strict=True)},
    )


def _plain(name: str) -> str:
    """A name on one line, so that nobody's name reads like more than a name."""
    return defused(" ".join(name.split())[:_NAME_LENGTH])
