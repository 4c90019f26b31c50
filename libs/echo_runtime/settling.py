"""Decides, message by message, what stands for a row of the chat, and keeps the records in step with it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from echo_core.heads import RowHead
from echo_core.overlay import NO_OVERLAY
from echo_core.ports import Clock, ShadowStore
from echo_core.records import Seal, Shadow, VersionLock
from echo_core.sealing import relink, seal_shadow, signature_rows
from echo_core.suture import INTERRUPTED, lock_for, unedited
from echo_protocol import assistant_contents, content_json, join_contents, text_part, visible_text
from echo_runtime import _owui
from echo_runtime._owui import RowText
from echo_runtime.adoption import former_elsewhere
from echo_runtime.attachments import Attachments
from echo_runtime.call import PipeCall
from echo_runtime.drafting import Drafter
from echo_runtime.recovery import filled, rebuilt_from_log
from echo_runtime.running import RUNNING
from echo_runtime.scopes import Scopes
from echo_runtime.stores import ChatStores

log = logging.getLogger(__name__)


class Settler:
    """Settles the rows of one chat for one call.

    Args:
        store: the chat's records.
        stores: the records of the owner's other chats.
        scopes: names the scope of signatures for their rows.
        clock: for the age of version locks.
        call: the user whose rights count, and the current message as the other filters left it.
        names: in a chat with several writers, who wrote each message, by message id.
        attachments: reads what belongs to questions.
        drafter: prepares questions, None where they are sent as they are.
    """

    def __init__(
        self,
        store: ShadowStore,
        stores: ChatStores,
        scopes: Scopes,
        clock: Clock,
        call: PipeCall,
        names: Mapping[str, str],
        attachments: Attachments,
        drafter: Drafter | None = None,
    ) -> None:
        self.store = store
        self._stores = stores
        self._scopes = scopes
        self._clock = clock
        self._call = call
        self._names = names
        self._attachments = attachments
        self._drafter = drafter
        self.recovered = 0
        #: The first message whose words became others since it was sealed.
        self.pivot: str | None = None
        self._seals: list[Seal] = []
        self._relinked: list[Shadow] = []
        self._locks: dict[str, VersionLock] = {}

    async def settle(self, head: RowHead, shadow: Shadow | None, text: RowText | None, parent_hash: str) -> Shadow:
        """The shadow that stands for one row: unedited, locked, linked to its parent; `write` stores it.

        Args:
            head: the row.
            shadow: what is known of the message, None when nothing is.
            text: what the row shows; None when the version lock vouches for the shadow.
            parent_hash: cumulative hash of the message above.
        """
        found = shadow
        if found is not None and found.chat_id != self._call.chat_id:
            found = replace(found, chat_id=self._call.chat_id)
        if found is not None and found.state == "streaming" and head.message_id not in RUNNING:
            found = await rebuilt_from_log(self.store, found)
        if text is not None:
            found = await self._compared(head, found, text)
        if found is None:
            raise LookupError(f"row {head.message_id} was trusted without a shadow")
        if found.parent_hash != parent_hash or not found.cumulative_hash:
            found = relink(found, parent_hash) if found.invariant_hash else seal_shadow(found, parent_hash)
        self._note(found, shadow)
        return found

    @property
    def moved(self) -> bool:
        """Whether a message hangs under another parent than before, by an edit or a deletion above it."""
        return bool(self._relinked)

    async def write(self) -> None:
        """Bring the records in step with what was settled: one transaction each for seals, parents and locks."""
        if self._seals:
            await self.store.seal_many(self._seals)
        if self._relinked:
            await self.store.relink_many(self._relinked)
        if self._locks:
            await self.store.lock_many(self._locks)

    async def _compared(self, head: RowHead, shadow: Shadow | None, text: RowText) -> Shadow:
        displayed = visible_text(text.content, text.output)
        never_stored = head.role == "model" and not displayed and not text.done
        if shadow is None or not (never_stored or unedited(shadow, displayed)):
            # What was told beside the question was told, whatever becomes of the answer's words.
            overlay = NO_OVERLAY if shadow is None else shadow.overlay_json
            if shadow is not None:
                self.pivot = self.pivot or head.message_id
            shadow = await self._former(head, displayed) or await self._cold(head, text, displayed, overlay)
        elif (never_stored or shadow.state in ("stopped", "failed")) and await self._shown(shadow, text):
            displayed = shadow.visible_text
        lock = lock_for(head, displayed, self._clock.now_s())
        return shadow if shadow.lock == lock else replace(shadow, lock=lock)

    async def _shown(self, shadow: Shadow, text: RowText) -> bool:
        """Show in the row of an answer what we hold beyond it; False when there is nothing to add."""
        message_id = shadow.message_id
        if not self._call.is_saved or message_id == self._call.message_id or message_id in RUNNING:
            return False
        output = filled(text, shadow.visible_text, message_id)
        if output is not None:
            await _owui.fill_row(self._call.chat_id, message_id, shadow.visible_text, output)
        return output is not None

    def _note(self, now: Shadow, before: Shadow | None) -> None:
        if before is None or _content(now) != _content(before):
            self._seals.append(Seal(shadow=now, signatures=signature_rows(now, self._scopes.name_of(now))))
            return
        if now.cumulative_hash != before.cumulative_hash:
            self._relinked.append(now)
        if now.lock is not None and now.lock != before.lock:
            self._locks[now.message_id] = now.lock

    async def _former(self, head: RowHead, displayed: str) -> Shadow | None:
        """What the message was before an edit that has been taken back."""
        for former in reversed(await self.store.get_former_shadows(head.message_id)):
            if unedited(former, displayed):
                return former
        elsewhere = await former_elsewhere(self._stores, self._call, head, displayed)
        return None if elsewhere is None else replace(elsewhere, chat_id=self._call.chat_id)

    async def _cold(self, head: RowHead, text: RowText, displayed: str, overlay: bytes) -> Shadow:
        """Cold Recovery: the message from what the page shows."""
        if head.role == "model":
            contents = assistant_contents(text.content, text.output)
            entries = [content_json(content.role, content.parts) for content in contents]
            if contents and contents[-1].role == "user":
                entries.append(INTERRUPTED)  # it stopped in a tool
        elif head.message_id == self._call.user_message_id:
            entries = await self._user_entry(head, self.current_content(text.content), text.files)
        else:
            entries = await self._user_entry(head, await self._with_images(text, displayed), text.files)
        if head.message_id != self._call.user_message_id:
            self.recovered += 1
            log.info("cold recovery of message %s in chat %s", head.message_id, self._call.chat_id)
        return Shadow(
            message_id=head.message_id,
            chat_id=self._call.chat_id,
            role=head.role,
            contents_json=join_contents(entries),
            overlay_json=overlay,
            visible_text=displayed,
        )

    async def _user_entry(self, head: RowHead, content: Any, files: Sequence[Any]) -> list[bytes]:
        if self._drafter is None:
            parts = await self._attachments.parts(content, files)
        else:
            parts = await self._drafter.parts(self._call, self._attachments, head.message_id, content, files)
        name = self._names.get(head.message_id)
        if parts and name:
            parts.insert(0, text_part(self._call.prompts.writer(self._call.locale, name)))
        return [content_json("user", parts)] if parts else []

    def current_content(self, otherwise: Any) -> Any:
        """The question as the other filters left it; not the hint that follows it when it is answered again."""
        return self._asked(1 if self._call.regenerates_with_hint else 0, otherwise)

    def hint(self) -> Any:
        """The hint with which an answer is asked for again."""
        return self._asked(0, "")

    def _asked(self, back: int, otherwise: Any) -> Any:
        """The content of a user message, counted from the last one."""
        asked = [m.get("content") for m in self._call.body.get("messages") or [] if m.get("role") == "user"]
        return asked[-1 - back] if len(asked) > back else otherwise

    async def _with_images(self, text: RowText, displayed: str) -> Any:
        """An earlier user message with its pictures, read again from Open WebUI with the user's own rights."""
        blocks: list[Mapping[str, Any]] = [{"type": "text", "text": displayed}]
        for entry in text.files:
            if entry.get("type") == "image" and entry.get("url"):
                uri = await _owui.image_data_uri(entry["url"], self._call.user)
                if uri:
                    blocks.append({"type": "image_url", "image_url": {"url": uri}})
        return blocks


def _content(shadow: Shadow) -> tuple[str, str, bytes]:
    return shadow.chat_id, shadow.state, shadow.contents_json
