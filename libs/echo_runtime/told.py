"""Where a chat keeps what its model was told, and how a copy of the chat takes that along.

A question that is asked again is told what it was told before, in a copy as in the original: other words there would
break the prefix that Google has cached.
"""

from collections.abc import Iterable
from typing import Final

from echo_aec import drain_key
from echo_core.ports import ShadowStore
from echo_runtime.call import PipeCall

#: Begins a key in `echo_settings`; the called model follows.
SEALED_KEY: Final = "sealed_prompt:"
#: Ends the keys of what is sealed for a chat with several writers.
SHARED_SUFFIX: Final = ":shared"


def sealed_key(call: PipeCall, *, shared: bool) -> str:
    """Key of what is sealed for the called model.

    Args:
        call: names the model.
        shared: whether several people write; what one person's own instructions made is never told to another.
    """
    return f"{SEALED_KEY}{call.called_model}{SHARED_SUFFIX if shared else ''}"


async def take_along(call: PipeCall, source: ShadowStore, store: ShadowStore, question_ids: Iterable[str]) -> None:
    """Take over what another chat of the same owner was told, as far as nothing was told here.

    Args:
        call: names the model.
        source: the records of the chat that this one is a copy of.
        store: the records of this chat.
        question_ids: the messages that both have.
    """
    keys = [*(sealed_key(call, shared=shared) for shared in (False, True)), *map(drain_key, question_ids)]
    if told := await source.get_settings(keys):
        await store.claim_settings(told)
