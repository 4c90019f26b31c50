"""Chats with several writers: what was said before the second one came is theirs to read only as the page shows it.

Source: docs/design.md section 5, last paragraph. Open WebUI attributes all messages to the owner whenever the owner's
page saves the chat (`set_message_authors`, release 0.12.4), so who wrote what is recorded here as well.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from echo_core.ports import ShadowStore
from echo_core.suture import RowHead
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
    known: Sequence[RowHead]
    names: Mapping[str, str]

    async def heads(self) -> list[RowHead]:
        """See `Chain`."""
        return list(self.known)

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
    first = heads[0].writer_id if heads else call.user_id
    writers = [told.get(head.message_id) or head.writer_id or first for head in heads]
    pivot = next((index for index, writer in enumerate(writers) if writer != first), len(heads))
    if pivot == len(heads) and call.user_id == first:
        return None
    found = {head.message_id: writer for head, writer in zip(heads, writers, strict=True) if writer != first}
    if call.user_id != first:
        found[call.message_id] = call.user_id
    if not found.items() <= told.items():
        await store.save_setting(WRITERS_KEY, json.dumps(told | found, sort_keys=True))
    known = [
        replace(head, message_id=head.message_id + SHARED_SUFFIX) if index < pivot else head
        for index, head in enumerate(heads)
    ]
    names = await _owui.user_names(sorted({*writers}))
    return SharedChain(
        chain, known, {h.message_id: _plain(names.get(w, w)) for h, w in zip(known, writers, strict=True)}
    )


def _plain(name: str) -> str:
    """A name on one line, so that nobody's name reads like more than a name."""
    return defused(" ".join(name.split())[:_NAME_LENGTH])
