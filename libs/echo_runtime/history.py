"""The Suture at work: the chain of a chat as Gemini contents, each message from its shadow where that is trusted."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from echo_core.ports import Clock, ShadowStore
from echo_core.records import Seal, Shadow
from echo_core.sealing import relink, seal_shadow
from echo_core.suture import Assembly, RowHead, Verdict, judge, lock_for, unedited
from echo_protocol import (
    ROOT_PARENT,
    assistant_contents,
    content_json,
    join_contents,
    user_parts,
    visible_text,
)
from echo_runtime import _owui
from echo_runtime._owui import RowText
from echo_runtime.call import PipeCall

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The conversation up to and including the current user message.

    Args:
        contents: serialised fragments for the request, oldest first.
        parent_hash: cumulative hash of the current user message; the answer's parent.
        recovered: how many messages had to be rebuilt from the page's text.
    """

    contents: tuple[bytes, ...]
    parent_hash: str
    recovered: int


class HistoryBuilder:
    """Rebuilds one saved chat for one call.

    Args:
        store: the chat's records.
        clock: for the age of version locks.
        call: names the chat, the message to answer and the user whose rights count.
    """

    def __init__(self, store: ShadowStore, clock: Clock, call: PipeCall) -> None:
        self._store = store
        self._clock = clock
        self._call = call
        self._parent = ROOT_PARENT
        self._recovered = 0

    async def rebuild(self) -> Rebuilt:
        """Read the chain, trust what can be trusted, recover the rest, seal what is new."""
        heads = await _owui.load_chain(self._call.chat_id, self._call.user_message_id)
        shadows = await self._store.get_message_shadows([head.message_id for head in heads])
        doubtful = [
            head.message_id for head in heads if judge(head, shadows.get(head.message_id)) is not Verdict.TRUSTED
        ]
        texts = await _owui.load_texts(self._call.chat_id, doubtful) if doubtful else {}
        assembly = Assembly()
        for head in heads:
            shadow = await self._settle(head, shadows.get(head.message_id), texts.get(head.message_id))
            assembly.add(shadow)
            self._parent = shadow.cumulative_hash
        return Rebuilt(assembly.fragments, self._parent, self._recovered)

    async def _settle(self, head: RowHead, shadow: Shadow | None, text: RowText | None) -> Shadow:
        """The shadow that stands for one row, locked, linked to its parent and stored."""
        if text is not None:
            displayed = visible_text(text.content, text.output)
            lock = lock_for(head, displayed, self._clock.now_s())
            if shadow is None or not unedited(shadow, displayed):
                return await self._recover(head, text, shadow, displayed)
            if shadow.lock != lock:
                shadow = replace(shadow, lock=lock)
                await self._store.lock(head.message_id, lock)
        if shadow is None:  # a trusted row has a shadow; a row that vanished meanwhile has neither
            return await self._recover(head, RowText("", [], []), None, "")
        if shadow.parent_hash != self._parent:
            shadow = relink(shadow, self._parent)
            await self._store.seal(Seal(shadow=shadow))
        return shadow

    async def _recover(self, head: RowHead, text: RowText, former: Shadow | None, displayed: str) -> Shadow:
        is_current = head.message_id == self._call.user_message_id
        if head.role == "model":
            entries = assistant_contents(text.content, text.output)
            contents = join_contents([content_json(role, parts) for role, parts in entries])
        elif is_current:
            contents = join_contents([content_json("user", user_parts(self._current_content(text)))])
        else:
            contents = join_contents([content_json("user", user_parts(await self._with_images(text)))])
        if not is_current or former is not None:
            self._recovered += 1
            log.info("cold recovery of message %s in chat %s", head.message_id, self._call.chat_id)
        recovered = Shadow(
            message_id=head.message_id,
            chat_id=self._call.chat_id,
            role=head.role,
            contents_json=contents,
            lock=lock_for(head, displayed, self._clock.now_s()),
            visible_text=displayed,
        )
        shadow = seal_shadow(recovered, self._parent)
        await self._store.seal(Seal(shadow=shadow))
        return shadow

    def _current_content(self, text: RowText) -> Any:
        """The current user message as the other filters left it; the row's own text when they removed it."""
        for message in reversed(self._call.body.get("messages") or []):
            if message.get("role") == "user":
                return message.get("content")
        return text.content

    async def _with_images(self, text: RowText) -> Any:
        """An earlier user message with its pictures, read again from Open WebUI with the user's own rights."""
        blocks: list[Mapping[str, Any]] = [{"type": "text", "text": visible_text(text.content, [])}]
        for entry in text.files:
            if entry.get("type") == "image" and entry.get("url"):
                uri = await _owui.image_data_uri(entry["url"], self._call.user)
                if uri:
                    blocks.append({"type": "image_url", "image_url": {"url": uri}})
        return blocks
