"""Ids of output items name their message: a temporary chat's page sends answers back without the message's own id.

Source: `sendMessageSocket` in Open WebUI 0.12.4's `Chat.svelte`.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: Prefix, message id, a token that sets a continuation's items apart, and the renderer's index.
_ITEM: Final = re.compile(r"echo_(?P<message>.+)_[0-9a-f]{8}-\d+")


def item_prefix(message_id: str) -> str:
    """A prefix for the item ids of one run of an answer."""
    return f"echo_{message_id}_{secrets.token_hex(4)}"


def message_of(output: Iterable[Any]) -> str:
    """The id of the message that some output items were made for, "" when they do not say."""
    for item in output:
        found = _ITEM.fullmatch(str(item.get("id"))) if isinstance(item, Mapping) else None
        if found:
            return found["message"]
    return ""
