"""The documents of one user: read once per content, kept beside the file in the vault, read back by position.

    {files}/{sha256[:2]}/{sha256}.doc/    what `echo_ingestion.folder` keeps of one

A folder gets its name when it is complete, so a reading that was cut off leaves nothing that could be taken for a
document; the next question reads anew. Nothing of another user's folder can be named from here.
"""

import os
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final
from uuid import uuid4

import anyio
from anyio import to_thread

from echo_ingestion.errors import BadQuery, DocumentMissing
from echo_ingestion.folder import INDEXING, FileSeal, KeptFolder
from echo_ingestion.limits import DEFAULT_LIMITS, QUERY_LIMITS, Limits
from echo_ingestion.records import ID_CHARS, Document
from echo_ingestion.runner import Progress, run_job
from echo_ingestion.sharing import SharedWork

_ID: Final = re.compile(rf"[0-9a-f]{{{ID_CHARS}}}([0-9a-f]{{{64 - ID_CHARS}}})?")
_MAX_SQL_CHARS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of a table.

    Args:
        rows: JSON values; at most what the reading process gives at once.
        more: whether there were more.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


class Converter:
    """Reads documents in processes of their own, a few at a time. One an event loop.

    Args:
        limits: of one reading.
        at_once: how many readings run; others wait.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, at_once: int = 2) -> None:
        self.limits = limits
        self._room = anyio.CapacityLimiter(at_once)
        self._queries = anyio.CapacityLimiter(at_once)
        self.running: SharedWork[Document] = SharedWork()

    async def convert(self, source: Path, name: str, out: Path, progress: Progress | None = None) -> dict[str, Any]:
        """Read a file into a folder that exists; its facts as `_child.main` gives them. Raises DocumentError."""
        async with self._room:
            job = {"task": "read", "path": str(source), "name": name, "out": str(out)}
            return await run_job(job, self.limits, progress)

    async def query(self, tables: Path, sql: str, scratch: Path) -> Answer:
        """Answer one SELECT. Raises BadQuery, DocumentError."""
        if len(sql) > _MAX_SQL_CHARS:
            raise BadQuery(why=f"The query has more than {_MAX_SQL_CHARS} characters.")
        async with self._queries:
            job = {"task": "query", "path": str(tables), "sql": sql, "out": str(scratch)}
            found = await run_job(job, QUERY_LIMITS)
        return Answer(tuple(found["columns"]), tuple(map(tuple, found["rows"])), bool(found["more"]))


class DocumentLibrary:
    """The documents in one user's vault.

    Args:
        files_dir: the vault's folder; every path is made below it.
        converter: reads.
        seal: opens what is encrypted.
        encrypts: whether what is kept from now on is encrypted; needs a seal.
    """

    def __init__(
        self, files_dir: Path, converter: Converter, seal: FileSeal | None = None, *, encrypts: bool = False
    ) -> None:
        self._files_dir = files_dir
        self._converter = converter
        self._seal = seal
        self._encrypts = encrypts and seal is not None

    async def take(
        self, sha256: str, source: Path | bytes, name: str, *, file_id: str = "", progress: Progress | None = None
    ) -> Document:
        """The document of a file, read unless the same content was read before.

        Several who ask at once wait for one reading; it is given up when none of them waits any more.

        Args:
            sha256: of the file, hex.
            source: where its bytes are.
            name: how the user calls it.
            file_id: Open WebUI's.
            progress: called on the event loop while it is being read.

        Raises:
            DocumentError: it cannot be read.
        """
        folder = self._folder(sha256)
        known = await to_thread.run_sync(folder.facts)
        if known is not None:
            now = replace(known, name=name or known.name, file_id=file_id or known.file_id)
            if self._encrypts:
                await to_thread.run_sync(folder.protect)  # kept before encryption was wanted
            if now != known:
                await to_thread.run_sync(folder.note, now)
            return now
        work = self._reading(sha256, source, name, file_id, folder, progress)
        return await self._converter.running.share((str(self._files_dir), sha256), work)

    async def find(self, document_id: str) -> Document:
        """A document by its id or digest. Raises DocumentMissing."""
        return (await self._found(document_id))[0]

    async def text(self, document_id: str, start: int, end: int) -> str:
        """Characters `start` to `end` of a document's text. Raises DocumentMissing."""
        document, folder = await self._found(document_id)
        return await to_thread.run_sync(folder.slice, document, start, end)

    async def query(self, document_id: str, sql: str) -> Answer:
        """Rows of its tables. Raises DocumentMissing, BadQuery, DocumentError."""
        document, folder = await self._found(document_id)
        if not document.tables:
            raise BadQuery(why=f"{document.name} has no tables; use read_document.")
        async with _scratch() as scratch:
            tables = await to_thread.run_sync(folder.tables, scratch)
            return await self._converter.query(tables, sql, scratch)

    async def note_indexing(self, document_id: str, chat_id: str, name: str) -> None:
        """Note that a document is to be indexed for a chat, so that a restart goes on.

        Args:
            document_id: its id or digest.
            chat_id: one that is safe as a file's name.
            name: how the user calls the document there.

        Raises:
            DocumentMissing: there is no such document.
        """
        _, folder = await self._found(document_id)
        await to_thread.run_sync(folder.note_indexing, chat_id, name)

    async def forget_indexing(self, document_id: str, chat_id: str) -> None:
        """Note that it is done; nothing happens for a document that is gone."""
        with suppress(DocumentMissing):
            _, folder = await self._found(document_id)
            await to_thread.run_sync(folder.forget_indexing, chat_id)

    async def being_indexed(self) -> list[tuple[Document, str, str]]:
        """(document, chat id, name) of what was noted and is not done."""
        return await to_thread.run_sync(lambda: list(self._marked()))

    def _marked(self) -> Iterator[tuple[Document, str, str]]:
        for mark in self._files_dir.glob(f"??/*.doc/{INDEXING}/*"):
            document = KeptFolder(mark.parent.parent, self._seal).facts()
            if document is not None:
                yield document, mark.name, mark.read_text(encoding="utf-8")

    async def _found(self, document_id: str) -> tuple[Document, KeptFolder]:
        if not _ID.fullmatch(document_id):
            raise DocumentMissing(id=document_id[:80])
        found = await to_thread.run_sync(self._look, document_id)
        if found is None:
            raise DocumentMissing(id=document_id)
        return found

    def _look(self, document_id: str) -> tuple[Document, KeptFolder] | None:
        for path in sorted((self._files_dir / document_id[:2]).glob(f"{document_id}*.doc")):
            folder = KeptFolder(path, self._seal)
            document = folder.facts()
            if document is not None:
                return document, folder
        return None

    def _reading(
        self, sha256: str, source: Path | bytes, name: str, file_id: str, folder: KeptFolder, progress: Progress | None
    ) -> Callable[[], Awaitable[Document]]:
        async def work() -> Document:
            coming = folder.path.with_name(f".coming-{uuid4().hex}")
            await to_thread.run_sync(lambda: coming.mkdir(mode=0o700, parents=True))
            try:
                path = source if isinstance(source, Path) else coming / "file"
                if isinstance(source, bytes):
                    await anyio.Path(path).write_bytes(source)
                found = await self._converter.convert(path, name, coming, progress)
                size_bytes = (await to_thread.run_sync(path.stat)).st_size
                whose = {"sha256": sha256, "name": name, "file_id": file_id, "size_bytes": size_bytes}
                document = Document.from_json({**found, **whose})
                ready = KeptFolder(coming, self._seal)
                await to_thread.run_sync(partial(_place, ready, folder, document, encrypts=self._encrypts))
            finally:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(lambda: shutil.rmtree(coming, ignore_errors=True))
            return document

        return work

    def _folder(self, sha256: str) -> KeptFolder:
        if len(sha256) != 64 or not _ID.fullmatch(sha256):
            raise DocumentMissing(id=sha256[:80])
        return KeptFolder(self._files_dir / sha256[:2] / f"{sha256}.doc", self._seal)


@asynccontextmanager
async def passing_document(
    converter: Converter, source: Path | bytes, name: str, progress: Progress | None = None
) -> AsyncIterator[tuple[Document, str]]:
    """A document and its text where nothing may be kept; all of it is gone afterwards. Raises DocumentError."""
    async with _scratch() as scratch:
        path = source if isinstance(source, Path) else scratch / "file"
        if isinstance(source, bytes):
            await anyio.Path(path).write_bytes(source)
        out = scratch / "out"
        await to_thread.run_sync(out.mkdir)
        found = await converter.convert(path, name, out, progress)
        size_bytes = (await to_thread.run_sync(path.stat)).st_size
        document = Document.from_json({**found, "sha256": "0" * 64, "name": name, "size_bytes": size_bytes})
        text = await to_thread.run_sync(KeptFolder(out).slice, document, 0, _PASSING_CHARS)
        yield document, text


#: What is read back of a document that is not kept; more is never sent at once.
_PASSING_CHARS: Final = 1_000_000


@asynccontextmanager
async def _scratch() -> AsyncIterator[Path]:
    folder = Path(await to_thread.run_sync(mkdtemp))
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))


def _place(coming: KeptFolder, folder: KeptFolder, document: Document, *, encrypts: bool) -> None:
    """Give a finished folder its name; when another process was faster, its one stays."""
    shutil.rmtree(coming.path / "scratch", ignore_errors=True)
    (coming.path / "file").unlink(missing_ok=True)
    coming.note(document)
    if encrypts:
        coming.protect()
    if folder.facts() is not None:
        return
    shutil.rmtree(folder.path, ignore_errors=True)
    os.replace(coming.path, folder.path)
