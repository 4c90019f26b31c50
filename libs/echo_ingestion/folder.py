"""What is kept of one document on the disk, in the clear or sealed.

    facts.json            what `Document.json` gives
    text.md               the text, UTF-8
    tables.duckdb         the tables, where there are any
    indexing/{chat id}    its name in a chat, while it is indexed for that chat

Sealed files have `.sealed` behind their names. Everything here works on the disk: not for an event loop.
"""

import io
import json
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, Protocol
from uuid import uuid4

from echo_ingestion.records import MARK_CHARS, READER_VERSION, Document

log = logging.getLogger(__name__)

INDEXING: Final = "indexing"
_SEALED: Final = ".sealed"
_FACTS: Final = "facts.json"
_TEXT: Final = "text.md"
_TABLES: Final = "tables.duckdb"


class FileSeal(Protocol):
    """Encrypts whole files."""

    def seal(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Write what `source` holds, encrypted."""
        ...

    def opened(self, source: IO[bytes]) -> Iterator[bytes]:
        """The bytes that were sealed, piece by piece. Raises ValueError where they do not open."""
        ...


class KeptFolder:
    """The folder of one document.

    Args:
        path: the folder; need not exist.
        seal: opens what is sealed; None = what is sealed counts as gone.
    """

    def __init__(self, path: Path, seal: FileSeal | None = None) -> None:
        self.path = path
        self._seal = seal

    @property
    def is_sealed(self) -> bool:
        """Whether it holds its document encrypted."""
        return (self.path / f"{_FACTS}{_SEALED}").exists()

    def facts(self) -> Document | None:
        """The document; None when there is nothing that this version can use."""
        try:
            document = Document.from_json(json.loads(b"".join(self._bytes(_FACTS))))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, NotADirectoryError):
            log.warning("the facts of a document are damaged, locked or of another version; it is read anew")
            return None
        return document if document.version == READER_VERSION else None

    def note(self, document: Document) -> None:
        """Write the facts, whole or not at all."""
        data = json.dumps(document.json(), ensure_ascii=False).encode("utf-8", "replace")
        self._write(_FACTS, io.BytesIO(data), sealed=self.is_sealed)

    def slice(self, document: Document, start: int, end: int) -> str:
        """Characters `start` to `end` of the text."""
        start, end = max(0, start), min(end, document.chars)
        if start >= end:
            return ""
        mark = min(start // MARK_CHARS, len(document.marks) - 1)
        last = end // MARK_CHARS + 1
        until = document.marks[last] if last < len(document.marks) else None
        data = _cut(self._bytes(_TEXT), document.marks[mark], until)
        return data.decode("utf-8")[start - mark * MARK_CHARS : end - mark * MARK_CHARS]

    def tables(self, scratch: Path) -> Path:
        """The database of its tables; where it is sealed, opened into a folder that is removed afterwards."""
        if not self.is_sealed:
            return self.path / _TABLES
        opened = scratch / _TABLES
        with os.fdopen(os.open(opened, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.writelines(self._bytes(_TABLES))
        return opened

    def protect(self) -> None:
        """Seal what lies there in the clear; cut off, it can be done again."""
        for name in (_TEXT, _TABLES, _FACTS):
            plain = self.path / name
            if plain.exists() and not (self.path / f"{name}{_SEALED}").exists():
                with plain.open("rb") as source:
                    self._write(name, source, sealed=True)
        for name in (_TEXT, _TABLES, _FACTS):
            (self.path / name).unlink(missing_ok=True)

    def note_indexing(self, chat_id: str, name: str) -> None:
        """Note that it is to be indexed for a chat."""
        mark = self.path / INDEXING / chat_id
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        mark.write_text(name, encoding="utf-8", errors="replace")

    def forget_indexing(self, chat_id: str) -> None:
        """Note that this is done."""
        (self.path / INDEXING / chat_id).unlink(missing_ok=True)

    def _bytes(self, name: str) -> Iterator[bytes]:
        """A file's bytes in pieces. Raises ValueError for what does not open."""
        sealed = self.path / f"{name}{_SEALED}"
        if not sealed.exists():
            with (self.path / name).open("rb") as file:
                while piece := file.read(1024 * 1024):
                    yield piece
            return
        if self._seal is None:
            raise ValueError("sealed, and there is no secret")
        with sealed.open("rb") as file:
            yield from self._seal.opened(file)

    def _write(self, name: str, source: IO[bytes], *, sealed: bool) -> None:
        coming = self.path / f".coming-{uuid4().hex}"
        with coming.open("wb") as out:
            if sealed and self._seal is not None:
                self._seal.seal(source, out)
            else:
                out.write(source.read())
            out.flush()
            os.fsync(out.fileno())
        os.replace(coming, self.path / (f"{name}{_SEALED}" if sealed else name))


def _cut(pieces: Iterable[bytes], start: int, until: int | None) -> bytes:
    """The bytes from `start` to `until` of a file that comes in pieces; no more of it is read than that."""
    kept, at = [], 0
    for piece in pieces:
        kept.append(piece[max(0, start - at) : None if until is None else max(0, until - at)])
        at += len(piece)
        if until is not None and at >= until:
            break
    return b"".join(kept)
