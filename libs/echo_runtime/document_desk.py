"""Documents in a turn: read while the page shows how far it is, then whole in the message or as a preview of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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

#: What is indexed of one document: some 850 passages, a few minutes of one processor. Source: our choice.
MOST_INDEXED_CHARS: Final = 1_000_000

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

    def library(self, user_id: str) -> DocumentLibrary:
        """The documents of one user, and of nobody else. Raises UnsafeIdError."""
        return DocumentLibrary(self._paths.files_dir(user_id), self.converter)


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
        # What is read out of a file is not encrypted, so it is not kept where the file itself is.
        self.keeps = keeps and not getattr(call.valves, "ENCRYPT_RECORDS", False)

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
            kept = await self._desk.vaults.of(self._call).put(source, mime_type=mime_type, name=name)
            library = self._desk.library(self._call.user_id)
            document = await library.take(kept.sha256, source, name, file_id=file_id, progress=progress)
            beginning = await library.text(document.id, 0, chars)
            if self._desk.index is not None and len(beginning) < document.chars:
                await self._index(self._desk.index, library, document, name)
            return Opened(document=document, beginning=beginning, kept=True)

    async def _index(self, index: DocumentIndex, library: DocumentLibrary, document: Document, name: str) -> None:
        """Let the session memory take a document; of a very long one its beginning, the tools read all of it."""
        text = await library.text(document.id, 0, min(document.chars, MOST_INDEXED_CHARS))
        stretches = tuple(Stretch(one.start, min(one.end, len(text)), one.label) for one in document.sections)
        index.soon(
            self._call.user_id,
            self._call.chat_id,
            Indexable(
                document_id=document.id,
                name=name or notes.NAMELESS.render(self._call.locale),
                text=text,
                stretches=stretches,
                whole=len(text) == document.chars,
            ),
        )

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


def preview_xml(opened: Opened, name: str) -> str:
    """What stands for a document that is too large for the message."""
    document = opened.document
    text = f"{outline(document, opened.beginning)}\n{how_to_read(document)}"
    attributes = {"name": name, "type": document.kind, "document": document.id}
    return Artifact(id="AEC_smart_context", attributes=attributes, text=text).xml()


def whole_text(opened: Opened) -> str:
    """A document that stands in the message whole; where it has tables, with the words by which they are asked."""
    tables = ", ".join(f'"{table.name}"' for table in opened.document.tables)
    if not tables or not opened.kept:
        return opened.beginning
    how = f'[Compute over its tables {tables} with query_table(id="{opened.document.id}", sql=…).]'
    return f"{how}\n{opened.beginning}"
