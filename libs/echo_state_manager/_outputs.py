"""Long tool results: kept in pieces in the tool journal, so that a range of one is read without the rest.

A result has one row that says how long it is, under `output:{message}:{call}`, and one row a piece, under the same key
with the piece's number. They are written while the turn runs, before the answer that they belong to is sealed.
"""

import json
from typing import Final

from echo_core.ports import ToolOutputSlice
from echo_state_manager._batch import Batch
from echo_state_manager._database import Transaction
from echo_state_manager._load import get_cognitive_data
from echo_state_manager._save import save_cognitive_data
from echo_utils import dumps

#: Characters of one piece. Source: our choice; a page that the model reads touches a few of them.
PIECE_CHARS: Final = 64 * 1024


def save_tool_output(batch: Batch, message_id: str, call_id: str, text: str) -> None:
    """Write one result; the same call's former one is replaced.

    Args:
        batch: the caller's transaction.
        message_id: the answer that called the tool.
        call_id: which of its calls.
        text: the whole result.
    """
    key = _key(message_id, call_id)
    save_cognitive_data(batch, key, dumps({"chars": len(text), "piece_chars": PIECE_CHARS}))
    for number, start in enumerate(range(0, len(text), PIECE_CHARS)):
        save_cognitive_data(batch, f"{key}:{number}", dumps(text[start : start + PIECE_CHARS]))


async def load_tool_output(
    tx: Transaction, message_id: str, call_id: str, start: int, end: int | None
) -> ToolOutputSlice | None:
    """Characters `start` to `end` of a result, see `ShadowStore.read_tool_output`."""
    key = _key(message_id, call_id)
    head = await get_cognitive_data(tx, key)
    if head is None:
        return None
    told = json.loads(head)
    start, end, _ = slice(start, end).indices(told["chars"])
    size = told["piece_chars"]
    pieces: list[str] = []
    for number in range(start // size, -(-end // size)):
        piece = await get_cognitive_data(tx, f"{key}:{number}")
        if piece is None:
            return None
        pieces.append(json.loads(piece))
    offset = start - start // size * size
    text = "".join(pieces)[offset : offset + max(0, end - start)]
    return ToolOutputSlice(text=text, start=start, total_chars=told["chars"])


def _key(message_id: str, call_id: str) -> str:
    return f"output:{message_id}:{call_id}"
