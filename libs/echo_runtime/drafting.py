"""Prepares user messages, and brings what was prepared together with what the request says in the end."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from echo_core.draft import Contribution, Draft, DraftSource, Question
from echo_events import NoticeShown
from echo_protocol import Part
from echo_runtime.attachments import Attachments
from echo_runtime.call import PipeCall
from echo_runtime.document_desk import DocumentDesk, DocumentReader
from echo_runtime.stores import ChatStores
from echo_runtime.turn_context import DRAFT_KEY
from echo_runtime.vaults import Vaults
from echo_runtime.waiting import show_now

log = logging.getLogger(__name__)


def draft_of(call: PipeCall) -> Draft | None:
    """What was prepared for the current message, None when nothing was."""
    found = call.metadata.get(DRAFT_KEY)
    return found if isinstance(found, Draft) else None


class Drafter:
    """Makes Drafts.

    Args:
        stores: the records of chats.
        vaults: the files of users; None where large attachments are not kept.
        documents: reads what is attached; None where only what is text already counts.
        sources: what adds to a message, in the order in which their parts stand.
    """

    def __init__(
        self,
        stores: ChatStores,
        vaults: Vaults | None = None,
        sources: Sequence[DraftSource] = (),
        documents: DocumentDesk | None = None,
    ) -> None:
        self._stores = stores
        self._vaults = vaults
        self._sources = tuple(sources)
        self._documents = documents

    async def prepare(self, call: PipeCall) -> Draft | None:
        """The Draft of the current message; None when it has been sealed, or when nothing new is asked.

        Args:
            call: `body` as the filters have left it so far.
        """
        asked = [m.get("content") for m in call.body.get("messages") or [] if m.get("role") == "user"]
        if not asked or not call.asks_anew or await self._stores.has_sealed(call, call.user_message_id):
            return None
        message = call.metadata.get("user_message")
        files = message.get("files") if isinstance(message, Mapping) else None
        vault = self._vaults.of(call) if self._vaults and not call.is_temporary else None
        reader = DocumentReader(call, self._documents, keeps=not call.is_temporary) if self._documents else None
        return await self.draft(call, Attachments(call, vault, reader), call.user_message_id, asked[-1], files or ())

    async def draft(
        self, call: PipeCall, attachments: Attachments, message_id: str, content: Any, files: Sequence[Any]
    ) -> Draft:
        """The Draft of one message.

        Args:
            call: whose rights count.
            attachments: reads what no source takes; its notices become the Draft's.
            message_id: the message.
            content: text or OpenAI content blocks.
            files: Open WebUI's attachment entries.
        """

        async def wait(text: str) -> None:
            await show_now(call, NoticeShown(text, done=False))

        question = Question(
            chat_id=call.chat_id,
            message_id=message_id,
            user=call.user,
            content=content,
            files=files,
            locale=call.locale,
            kept=not call.is_temporary,
            wait=wait,
        )
        added = [await _contribution(source, question) for source in self._sources]
        taken = frozenset[int]().union(*(each.taken for each in added))
        told = len(attachments.notices)
        words, attached = await attachments.read(content, [e for at, e in enumerate(files) if at not in taken])
        return Draft(
            previews=(*(xml for each in added for xml in each.previews), *attachments.take_previews()),
            directives=tuple(xml for each in added for xml in each.directives),
            words=tuple(words),
            events=tuple(xml for each in added for xml in each.events),
            attachments=(*(part for each in added for part in each.attachments), *attached),
            content=content,
            files=tuple(files),
            notices=(*(notice for each in added for notice in each.notices), *attachments.notices[told:]),
        )

    async def parts(
        self, call: PipeCall, attachments: Attachments, message_id: str, content: Any, files: Sequence[Any]
    ) -> list[Part]:
        """The parts of a message that are sealed: from its Draft, made now if there is none.

        Words that a later filter changed are read anew; so is everything when the attachments are others.

        Args:
            call: names the current message, and has its Draft.
            attachments: told of all notices.
            message_id: the message, the current one or an earlier one that is recovered.
            content: as the request has it now.
            files: as the message has them now.
        """
        made = draft_of(call) if message_id == call.user_message_id else None
        if made is None or not made.is_of(files):
            told = len(attachments.notices)
            draft = await self.draft(call, attachments, message_id, content, files)
            del attachments.notices[told:]
            if message_id == call.user_message_id:
                call.metadata[DRAFT_KEY] = draft
        elif made.content == content:
            draft = made
        else:
            draft = replace(made, words=tuple((await attachments.read(content))[0]))
            attachments.take_previews()  # the Draft has them
        attachments.notices += draft.notices
        return draft.sealed


async def _contribution(source: DraftSource, question: Question) -> Contribution:
    try:
        return await source.contribute(question)
    except Exception:  # the question is asked all the same
        log.exception("%s added nothing to message %s", type(source).__name__, question.message_id)
        return Contribution()
