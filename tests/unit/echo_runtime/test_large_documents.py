"""Really large files: nothing blocks the event loop while they are read, and what is read of them is right."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from echo_paths import EchoPaths
from echo_runtime import PipeCall
from echo_runtime.document_desk import DocumentDesk, DocumentReader
from echo_runtime.document_tools import DocumentToolkit

pytestmark = pytest.mark.deep

MEGABYTE = 1_000_000
ADA = {"id": "ada"}


def large_csv(path: Path, size_bytes: int) -> tuple[int, int]:
    """Writes a table; gives its rows and the sum of its amounts."""
    rows = total = 0
    with path.open("w", encoding="utf-8") as out:
        out.write("City,Amount,Remark\n")
        while out.tell() < size_bytes:
            block = range(rows, rows + 10_000)
            out.writelines(f"c{n % 97},{n * 7919 % 1_000_003},{'remark ' * 12}{n}\n" for n in block)
            rows, total = rows + len(block), total + sum(n * 7919 % 1_000_003 for n in block)
    return rows, total


async def test_nothing_blocks_while_100_megabytes_are_read_and_the_sum_over_all_rows_is_right(
    tmp_path: Path, no_blocking: object
) -> None:
    source = tmp_path / "sales.csv"
    rows, total = large_csv(source, 100 * MEGABYTE)
    desk = DocumentDesk(EchoPaths(tmp_path / "echo"))
    metadata = {"chat_id": "c1", "user_message_id": "m1"}
    call = PipeCall(body={}, user=ADA, metadata=metadata, valves=SimpleNamespace(), tools={})
    reader = DocumentReader(call, desk, keeps=True)
    opened = await reader.open(source, name="sales.csv", mime_type="text/csv", file_id="f1", chars=32_769)
    preview, _ = await reader.preview(opened, "sales.csv")
    assert f"{rows} rows" in preview
    tools = DocumentToolkit(lambda: desk)
    found = await tools.query_table(opened.document.id, "SELECT count(*), sum(Amount) FROM sales", ADA)
    assert found["rows"] == [[rows, total]]
    place = await tools.read_document(opened.document.id, f"sheet sales rows {rows - 1}-{rows}", ADA)
    assert [row[0] for row in place["rows"]] == [rows - 1, rows]
