"""Documents in a turn: read while the page shows how far it is, then whole in the message or as a preview of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from anyio import to_thread

from echo_aec import Artifact
from echo_constants import Bilingual
from echo_events import NoticeShown
from echo_ingestion import Converter, Document, DocumentLibrary, outline, passing_document
from echo_ingestion.outline import how_to_read
from echo_memory.chunks import Stretch
from echo_paths import EchoPaths
from echo_runtime import attachment_notes as notes
from echo_runtime.call import PipeCall
from echo_runtime.document_index import DocumentIndex, Indexable
from echo_runtime.vaults import Vaults
from echo_runtime.waiting import show_now

log = logging.getLogger(__name__)

#: Between two lines of status; each writes the chat to Open WebUI's database. Source: our choice.
_TELL_EVERY_S: Final = 2.0
#: A file that is read sooner is not worth a line. Source: our choice.
_QUIET_S: Final = 0.7


class DocumentDesk:
    """The documents of all users. One an event loop.

    Args:
        paths: where documents are.
        vaults: the files of users.
        converter: reads documents.
        index: takes those that are longer than what the message shows; None = they are not indexed.
    """

    def __init__(
        self,
        paths: EchoPaths,
        vaults: Vaults | None = None,
        converter: Converter | None = None,
        index: DocumentIndex | None = None,
    ) -> None:
        self._paths = paths
        self.vaults = vaults or Vaults(paths, None)
        self.converter = converter or Converter()
        self.index = index

    def library(self, user_id: str, *, encrypts: bool = False) -> DocumentLibrary:
        """The documents of one user, and of nobody else.

        Args:
            user_id: whose.
            encrypts: whether what is kept from now on is encrypted.

        Raises:
            UnsafeIdError: the id is none.
        """
        return DocumentLibrary(self._paths.files_dir(user_id), self.converter, self.vaults.seal, encrypts=encrypts)

    async def index_soon(self, user_id: str, chat_id: str, document: Document, name: str) -> int:
        """Let the session memory of a saved chat take a document, in the background and over restarts.

        Returns:
            How many characters of it can be searched then; 0 where documents are not indexed.

        Raises:
            UnsafeIdError: an id that is none.
        """
        if self.index is None:
            return 0
        library = self.library(user_id)
        mark = self._paths.chat_dir(user_id, chat_id).name
        indexable = Indexable(
            document_id=document.id,
            name=name,
            chars=document.chars,
            read=partial(library.text, document.id),
            stretches=tuple(Stretch(one.start, one.end, one.label) for one in document.sections),
            done=partial(library.forget_indexing, document.id, mark),
        )
        await library.note_indexing(document.id, mark, name)
        self.index.soon(user_id, chat_id, indexable)
        return indexable.reach_chars

    async def resume(self, owner_of: Callable[[str], Awaitable[str | None]]) -> int:
        """Go on with what a restart cut off; returns how many documents are indexed now.

        Args:
            owner_of: whose a chat is, None when it is gone.
        """
        resumed = 0
        for user_id in await to_thread.run_sync(lambda: list(self._paths.users_on_disk())):
            library = self.library(user_id)
            for document, chat_id, name in await library.being_indexed():
                if await owner_of(chat_id) == user_id:
                    await self.index_soon(user_id, chat_id, document, name)
                    resumed += 1
                else:
                    await library.forget_indexing(document.id, chat_id)
        return resumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A document of this turn.

    Args:
        beginning: its text as far as it was asked for.
        kept: whether tools can read on.
    """

    document: Document
    beginning: str
    kept: bool


class DocumentReader:
    """Opens the documents of one call.

    Args:
        call: who asks, and where the page is.
        desk: reads and keeps.
        keeps: whether anything may be left on the disk.
    """

    def __init__(self, call: PipeCall, desk: DocumentDesk, *, keeps: bool) -> None:
        self._call = call
        self._desk = desk
        self.keeps = keeps
        #: Passages and vectors lie in the clear, so what is to be encrypted is not indexed.
        self.encrypts = desk.vaults.encrypts(call)

    async def open(self, source: Path | bytes, *, name: str, mime_type: str, file_id: str, chars: int) -> Opened:
        """Read a document, or find it read.

        Args:
            source: the file.
            name: how the user calls it.
            mime_type: as it was sniffed.
            file_id: Open WebUI's, "" for none.
            chars: how much of its text is wanted.

        Raises:
            DocumentError: it cannot be read.
            StoreUnavailableError: the vault cannot be written.
        """
        async with self._telling(name) as progress:
            if not self.keeps:
                async with passing_document(self._desk.converter, source, name, progress) as (document, text):
                    return Opened(document=document, beginning=text[:chars], kept=False)
            vault = self._desk.vaults.of(self._call)
            kept = await vault.put(source, mime_type=mime_type, name=name, file_id=file_id)
            library = self._desk.library(self._call.user_id, encrypts=self.encrypts)
            document = await library.take(kept.sha256, source, name, file_id=file_id, progress=progress)
            beginning = await library.text(document.id, 0, chars)
            return Opened(document=document, beginning=beginning, kept=True)

    async def preview(self, opened: Opened, name: str) -> tuple[str, int]:
        """What stands for a document that the message does not hold whole; the session memory takes it.

        Returns:
            The artifact, and how many characters of the document can be searched.
        """
        searched_chars = 0
        if opened.kept and self._call.is_saved and not self.encrypts:
            desk, call = self._desk, self._call
            searched_chars = await desk.index_soon(call.user_id, call.chat_id, opened.document, name)
        return preview_xml(opened, name, searched_chars), searched_chars

    @asynccontextmanager
    async def _telling(self, name: str) -> "AsyncIterator[_Told]":
        told = _Told()
        name = name or notes.NAMELESS.render(self._call.locale)
        task = asyncio.create_task(self._tell(told, name))
        try:
            yield told
        finally:
            task.cancel()
            if told.shown:
                await self._show(notes.READ, name)

    async def _tell(self, told: "_Told", name: str) -> None:
        await asyncio.sleep(_QUIET_S)
        while True:
            told.shown = True
            if told.percent is not None:
                await self._show(notes.READING_PERCENT, name, done=False, percent=told.percent)
            elif told.rows:
                await self._show(notes.READING_ROWS, name, done=False, rows=f"{told.rows:,}".replace(",", "\u202f"))
            else:
                await self._show(notes.READING, name, done=False)
            await asyncio.sleep(_TELL_EVERY_S)

    async def _show(self, text: Bilingual, name: str, *, done: bool = True, **fields: object) -> None:
        said = text.render(self._call.locale, name=name, **fields)
        await show_now(self._call, NoticeShown(said, done=done))


class _Told:
    """How far a reading is, as its process last said."""

    def __init__(self) -> None:
        self.percent: int | None = None
        self.rows = 0
        self.shown = False

    def __call__(self, said: Mapping[str, int]) -> None:
        self.percent = said.get("percent", self.percent)
        self.rows = said.get("rows", self.rows)


def preview_xml(opened: Opened, name: str, searched_chars: int) -> str:
    """What stands for a document that is too large for the message.

    Args:
        opened: the document.
        name: how the user calls it.
        searched_chars: how many of its characters can be searched.
    """
    document = opened.document
    text = f"{outline(document, opened.beginning)}\n{how_to_read(document, searched_chars)}"
    attributes = {"name": name, "type": document.kind, "document": document.id}
    return Artifact(id="AEC_smart_context", attributes=attributes, text=text).xml()


def whole_text(opened: Opened) -> str:
    """A document that stands in the message whole; where it has tables, with the words by which they are asked."""
    tables = ", ".join(f'"{table.name}"' for table in opened.document.tables)
    if not tables or not opened.kept:
        return opened.beginning
    how = f'[Compute over its tables {tables} with query_table(id="{opened.document.id}", sql=…).]'
    return f"{how}\n{opened.beginning}"
