"""Answers that were cut off: rebuilt from their log, and shown on the page as far as they are held."""

import copy
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from echo_core.ports import ShadowStore
from echo_core.records import Seal, Shadow
from echo_core.replay import rebuild
from echo_core.sealing import answer_contents, seal_shadow, signature_rows
from echo_protocol import visible_text
from echo_runtime import _owui
from echo_runtime._owui import RowText
from echo_runtime.running import RUNNING
from echo_runtime.scopes import Scopes
from echo_state_manager import SessionStores
from echo_utils import normalise_visible_text

log = logging.getLogger(__name__)


async def rebuilt_from_log(store: ShadowStore, shadow: Shadow) -> Shadow:
    """An answer that a crash cut off, as far as its log reaches; its hashes are still to be made."""
    records = await store.recover_streaming(shadow.message_id) or ()
    turn = rebuild(records, [] if shadow.contents_json == b"[]" else [shadow.contents_json], shadow.visible_text)
    log.info("answer %s was cut off; %d log records are kept", shadow.message_id, len(records))
    return replace(
        shadow,
        contents_json=answer_contents(turn.hops, complete=False),
        visible_text=turn.transcript.text,
        state="failed",
        invariant_hash="",
        cumulative_hash="",
    )


def filled(row: RowText, text: str, message_id: str) -> list[Any] | None:
    """Output items that show all of `text`, where the row shows nothing or only its beginning.

    Args:
        row: what the page has of the answer.
        text: what we hold of it.
        message_id: names the item that is added.

    Returns:
        The row's own items, the last text of them completed; None when the row shows all or something else.
    """
    displayed = visible_text(row.content, row.output)
    if normalise_visible_text(displayed) == normalise_visible_text(text) or not text.startswith(displayed):
        return None
    items = copy.deepcopy(row.output)
    last = items[-1] if items and isinstance(items[-1], Mapping) else {}
    parts = last.get("content") if last.get("type") == "message" else None
    if parts and isinstance(parts[-1], dict):
        parts[-1]["text"] = f"{parts[-1].get('text') or ''}{text[len(displayed) :]}"
        return items
    item = {
        "type": "message",
        "id": f"{message_id}-recovered",
        "status": "incomplete",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text[len(displayed) :]}],
    }
    return [*items, item]


class Recovery:
    """Finishes, at start-up, what a crash of the process before left open.

    Args:
        sessions: the records of chats.
        scopes: names the scope of signatures.
        busy: whether a chat has an answer in work, in any process of this Open WebUI.
    """

    def __init__(self, sessions: SessionStores, scopes: Scopes, busy: Callable[[str], Awaitable[bool]]) -> None:
        self._sessions = sessions
        self._scopes = scopes
        self._busy = busy

    async def run(self) -> int:
        """Seal cut-off answers, show them in their rows and mark the rows as done; how many there were.

        Rows that ECHO has no record of (another model's) are left alone, and so are chats that are busy.
        """
        count = 0
        for chat_id, message_id in await _owui.unfinished_answers():
            if message_id in RUNNING or await self._busy(chat_id):
                continue
            try:
                count += await self._finish(chat_id, message_id)
            except Exception:  # one chat's damaged records must not keep the others from being recovered
                log.exception("answer %s of chat %s could not be recovered", message_id, chat_id)
        return count

    async def _finish(self, chat_id: str, message_id: str) -> bool:
        owner = await _owui.chat_owner(chat_id)
        if owner is None or not await self._sessions.exists(owner, chat_id):
            return False
        async with self._sessions.open(owner, chat_id) as store:
            shadow = await store.get_message_shadow(message_id)
            if shadow is None:
                return False
            if shadow.state == "streaming":
                shadow = seal_shadow(await rebuilt_from_log(store, shadow), shadow.parent_hash)
                rows = signature_rows(shadow, self._scopes.name_of(shadow))
                await store.seal(Seal(shadow=shadow, signatures=rows))
        row = (await _owui.load_texts(chat_id, [message_id])).get(message_id)
        output = None if row is None else filled(row, shadow.visible_text, message_id)
        await _owui.fill_row(chat_id, message_id, shadow.visible_text, output)
        return True
