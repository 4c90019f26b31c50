"""The reading process: a job comes as JSON on standard input, lines of JSON go out on standard output."""

import json
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any, Final

from echo_ingestion._child import formats, pdf, prose, sheets
from echo_ingestion._child.fail import Refused, damaged
from echo_ingestion._child.guard import bound, check_packed, seal
from echo_ingestion._child.query import answer_query
from echo_ingestion._child.tables import TableFile, add_table
from echo_ingestion._child.writing import TextWriter

_PACKED: Final = ("docx", "pptx", "xlsx", "xlsb", "epub", "odt", "odp", "ods", "zip")
_BY_MARKITDOWN: Final = {"docx": ".docx", "pptx": ".pptx", "epub": ".epub", "html": ".html", "msg": ".msg"}
_SHEETS: Final = ("xlsx", "xlsb", "xls", "ods")
_NOT_NEEDED: Final = ("pandas", "openpyxl", "xlrd", "pdfplumber", "pdfminer", "pydub", "speech_recognition")
#: Files inside a ZIP or a mail that are read too.
_MAX_MEMBERS_READ: Final = 200
_MAX_MEMBER_BYTES: Final = 50_000_000


class Reader:
    """Reads one file into a folder: `text.md`, `tables.duckdb`, and what it returns.

    Args:
        job: `path`, `name`, `out`, `limits`.
        tell: called with values that go to the server.
    """

    def __init__(self, job: Mapping[str, Any], tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._limits = job["limits"]
        self._path, self._name, self._folder = Path(job["path"]), str(job["name"]), Path(job["out"])
        self._tell = tell
        self._told = -1
        scratch = self._folder / "scratch"
        scratch.mkdir()
        self._scratch = scratch
        self._tables = TableFile(path=self._folder / "tables.duckdb", scratch=scratch, tables=[])
        self._notes: list[str] = []
        self._out = TextWriter(self._folder / "text.md", self._limits["text_chars"])

    def read(self) -> dict[str, Any]:
        """Everything that is known afterwards. Raises Refused."""
        try:
            return self._read()
        finally:
            self._tables.close()
            self._out.close()

    def _read(self) -> dict[str, Any]:
        size_bytes = self._path.stat().st_size
        if size_bytes > self._limits["file_bytes"]:
            most_mb = self._limits["file_bytes"] // 1_000_000
            raise Refused("document_too_large", size_mb=-(-size_bytes // 1_000_000), most_mb=most_mb)
        kind = formats.kind_of(self._path, self._name)
        self._one(self._path, self._name, kind, depth=0)
        self._tables.close()
        sections = self._out.close()
        prose.refused_when_blank(self._out)
        if self._out.cut:
            self._notes.append(f"Only the first {self._out.chars} characters were taken over.")
        return {
            "kind": kind,
            "chars": self._out.chars,
            "marks": self._out.marks,
            "sections": [asdict(section) for section in sections],
            "tables": [asdict(table) for table in self._tables.tables],
            "notes": list(dict.fromkeys(self._notes)),
        }

    def _one(self, path: Path, name: str, kind: str, *, depth: int) -> None:
        out = self._out
        if kind in _PACKED:
            self._unpackable(path)
        if kind == "pdf":
            pdf.write_pdf(path, out, self._notes, self._progress)
        elif kind in _SHEETS or kind == "csv":
            self._tabular(path, name, kind)
        elif kind in ("odt", "odp"):
            prose.write_opendocument(self._member(path, "content.xml", kind), kind, out)
        elif kind in _BY_MARKITDOWN:
            text = prose.markdown_of(path, _BY_MARKITDOWN[kind])
            (prose.write_slides if kind == "pptx" else prose.write_markdown)(text, out)
        elif kind == "eml":
            for title, data in prose.write_mail(path.read_bytes(), out, self._notes):
                self._inner(title, data, depth)
        elif kind == "zip":
            self._archive(path, depth)
        elif kind == "text":
            prose.write_text(path, out, self._notes)
        else:
            raise Refused("document_unknown_type", kind=kind)

    def _unpackable(self, path: Path) -> None:
        members = check_packed(path, self._limits)
        if any(member.filename.endswith("vbaProject.bin") for member in members):
            self._notes.append("Its macros were neither run nor read.")

    def _tabular(self, path: Path, name: str, kind: str) -> None:
        if kind == "csv":
            self._table(None, Path(name).stem, sheets.text_rows(path, name, self._notes))
            return
        for title, rows in sheets.sheet_rows(path, kind, self._notes):
            self._table("sheet", title, rows)

    def _table(self, section: Any, title: str, rows: Any) -> None:
        if section:
            self._out.begin(section, title)
        add_table(self._tables, title, rows, self._out, lambda count: self._tell({"rows": count}))

    def _member(self, path: Path, member: str, kind: str) -> bytes:
        try:
            with zipfile.ZipFile(path) as packed:
                return packed.read(member)
        except (KeyError, zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError) as error:
            raise damaged(kind.upper()) from error

    def _archive(self, path: Path, depth: int) -> None:
        members = [member for member in check_packed(path, self._limits) if not member.is_dir()]
        self._out.write("".join(f"- {member.filename} ({member.file_size} bytes)\n" for member in members) + "\n")
        for index, member in enumerate(members[:_MAX_MEMBERS_READ]):
            if member.file_size > _MAX_MEMBER_BYTES:
                self._notes.append(f"{member.filename} was left out: it is too large.")
                continue
            self._inner(member.filename, self._member(path, member.filename, "zip"), depth)
            self._progress((index + 1) / len(members))
        if len(members) > _MAX_MEMBERS_READ:
            self._notes.append(f"Only the first {_MAX_MEMBERS_READ} files inside were read.")

    def _inner(self, name: str, data: bytes, depth: int) -> None:
        """A file inside the file; one that cannot be read costs a note, not the rest."""
        if depth >= 1:
            self._notes.append(f"{name} was left out: it is packed too deep.")
            return
        path = self._scratch / f"inner-{os.urandom(6).hex()}"
        path.write_bytes(data)
        self._out.begin("file", str(PurePosixPath(name).name) or name)
        self._out.write(f"\n## {name}\n\n")
        try:
            self._one(path, name, formats.kind_of(path, name), depth=depth + 1)
        except Refused as refused:
            self._notes.append(f"{name} was left out ({refused.fields.get('kind') or refused.code}).")
        finally:
            path.unlink()
        self._out.write("\n")

    def _progress(self, share: float) -> None:
        percent = int(share * 100)
        if percent >= self._told + 5:
            self._told = percent
            self._tell({"percent": percent})


def main() -> None:
    """Do one job."""
    job = json.load(sys.stdin)
    # What libraries print must not be taken for ours.
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(value: Mapping[str, Any]) -> None:
        wire.write(json.dumps(value) + "\n")
        wire.flush()

    # MarkItDown takes these if they are there; loading them would take longer than the document.
    sys.modules.update(dict.fromkeys(_NOT_NEEDED))  # type: ignore[arg-type]
    bound(job["limits"])
    seal(Path(job["out"]))
    try:
        done = answer_query(job) if job["task"] == "query" else Reader(job, tell).read()
        tell({"done": done})
    except Refused as refused:
        tell({"refused": refused.code, "fields": {key: str(value) for key, value in refused.fields.items()}})
    except ModuleNotFoundError as error:
        tell({"refused": "document_reader_missing", "fields": {"module": str(error.name)}})
    except (MemoryError, RecursionError, ImportError):  # a library that does not fit into the memory is no module
        tell({"refused": "document_too_heavy", "fields": {}})
    except Exception as error:  # a reader that trips over a file is the file's fault until shown otherwise
        tell({"refused": "document_damaged", "fields": {"kind": type(error).__name__}, "log": repr(error)[:500]})
