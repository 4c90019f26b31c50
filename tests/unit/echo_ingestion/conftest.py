"""A user's documents over real reading processes, and the same reader inside the test's own."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from echo_ingestion import Converter, Document, DocumentLibrary, Limits
from echo_ingestion._child.main import Reader
from echo_ingestion._child.query import answer_query

Take = Callable[[str, bytes], Awaitable[Document]]
#: (name, data) → (the document, its text).
ReadHere = Callable[[str, bytes], tuple[Document, str]]
#: (sql) → rows, over the tables of what `read_here` read last.
QueryHere = Callable[[str], list[list[Any]]]


@pytest.fixture
def library(tmp_path: Path) -> DocumentLibrary:
    return DocumentLibrary(tmp_path / "files", Converter())


@pytest.fixture
def take(library: DocumentLibrary, tmp_path: Path) -> Take:
    """Reads a file of this name and content."""

    async def read(name: str, data: bytes) -> Document:
        path = tmp_path / "upload"
        path.write_bytes(data)
        return await library.take(hashlib.sha256(data).hexdigest(), path, name)

    return read


@pytest.fixture
def read_here(tmp_path: Path) -> ReadHere:
    """The reader without its process and bounds: for what a process would only make slow."""
    count = iter(range(1000))

    def read(name: str, data: bytes) -> tuple[Document, str]:
        path, out = tmp_path / "file", tmp_path / f"out-{next(count)}"
        path.write_bytes(data)
        out.mkdir()
        job = {"path": str(path), "name": name, "out": str(out), "limits": asdict(Limits())}
        found = Reader(job, lambda said: None).read()
        (tmp_path / "last").write_text(str(out))
        document = Document.from_json({**found, "sha256": "0" * 64, "name": name, "size_bytes": len(data)})
        return document, (out / "text.md").read_text(encoding="utf-8")

    return read


@pytest.fixture
def query_here(tmp_path: Path) -> QueryHere:
    def query(sql: str) -> list[list[Any]]:
        tables = Path((tmp_path / "last").read_text()) / "tables.duckdb"
        rows: list[list[Any]] = answer_query({"path": str(tables), "sql": sql, "limits": {"time_s": 1.0}})["rows"]
        return rows

    return query
