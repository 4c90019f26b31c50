"""Ids of the output items that the page keeps: each names the message that it belongs to.

The page sends a temporary chat whole with every request, but its answers without their message ids. Source: a recorded
request of Open WebUI 0.12.4's page.
"""

import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

_OURS: Final = re.compile(r"msg_(?P<message_id>.+)_[0-9a-f]{8}-\d+")


def item_prefix(message_id: str) -> str:
    """The beginning of all item ids of one run; a continued message gets further items by another run."""
    return f"msg_{message_id}_{secrets.token_hex(4)}"


def message_id_of(message: Mapping[str, Any]) -> str | None:
    """The id of a message as the page sends it: its own, else what one of ECHO's items in it says."""
    if message.get("id"):
        return str(message["id"])
    for item in message.get("output") or []:
        found = _OURS.fullmatch(str(item.get("id"))) if isinstance(item, Mapping) else None
        if found:
            return found["message_id"]
    return None
