"""Documents as tools. Each docstring is what the model reads; every public method is a tool."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from echo_ingestion import Document
    from echo_runtime.document_desk import DocumentDesk

Given = dict[str, Any] | None


class DocumentToolkit:
    """The documents of whoever asks.

    Args:
        desk: gives the documents of the running server; called for each use.
    """

    def __init__(self, desk: Callable[[], "DocumentDesk"]) -> None:
        self._desk = desk

    async def read_document(
        self,
        id: str,  # noqa: A002 (the name that the model sees)
        range: str = "",  # noqa: A002
        __user__: Given = None,
        __metadata__: Given = None,
        __event_emitter__: Any = None,
    ) -> Any:
        """Read a part of a document that the user attached. Name the place you read when you quote it.

        A range is "pages 3-5", "slide 2", "section 4", "sheet Budget", "sheet Budget rows 10-50" or "20000-40000".

        :param id: the document's id, as its preview tells it
        :param range: pages, slides, sections, sheets, rows of one, or characters; empty reads the beginning
        """
        from echo_codex_git.answers import answer
        from echo_ingestion import span_of

        library = self._desk().library(_id(__user__))

        async def work() -> Any:
            document = await library.find(str(id).strip())
            span = span_of(document, str(range or ""))
            if span.table:
                first, last = span.rows
                sql = f'SELECT * FROM "{span.table}" WHERE _row BETWEEN {first} AND {last} ORDER BY _row'  # noqa: S608
                found = await library.query(document.id, sql)
                await _cite(__event_emitter__, document, span.place, _as_lines(found.columns, found.rows))
                return {"name": document.name, "place": span.place, **_rows(found)}
            text = await library.text(document.id, span.start, span.end)
            await _cite(__event_emitter__, document, span.place, text, span.start)
            rest = {"read_on": f"{span.end}-"} if span.end < document.chars else {}
            return {"name": document.name, "place": span.place, "text": text, **rest}

        return await answer(work(), __metadata__)

    async def query_table(
        self,
        id: str,  # noqa: A002
        sql: str,
        __user__: Given = None,
        __metadata__: Given = None,
        __event_emitter__: Any = None,
    ) -> Any:
        """Ask the tables of a document the user attached (CSV, Excel…) in SQL; always compute this way, never by eye.

        _row is each row's number in the file. At most 200 rows come back: aggregate, filter or page.

        :param id: the document's id, as its preview tells it
        :param sql: one DuckDB SELECT over the tables that the preview lists, names in double quotes
        """
        from echo_codex_git.answers import answer

        library = self._desk().library(_id(__user__))

        async def work() -> Any:
            document = await library.find(str(id).strip())
            found = await library.query(document.id, str(sql))
            await _cite(__event_emitter__, document, "", f"{sql}\n\n{_as_lines(found.columns, found.rows)}")
            return {"name": document.name, **_rows(found)}

        return await answer(work(), __metadata__)


def _id(user: Given) -> str:
    return str((user or {}).get("id") or "")


def _rows(found: Any) -> dict[str, Any]:
    more = {"more": "Only the first rows are here; aggregate, filter or use LIMIT and OFFSET."} if found.more else {}
    return {"columns": list(found.columns), "rows": [list(row) for row in found.rows], **more}


def _as_lines(columns: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> str:
    lines = [columns, *rows[:20]]
    return "\n".join(" | ".join("" if cell is None else str(cell) for cell in line) for line in lines)


async def _cite(emit: Any, document: "Document", place: str, text: str, start: int = 0) -> None:
    from echo_runtime.citations import cite

    await cite(emit, source_id=document.id, name=document.name, place=place, text=text, document=document, start=start)
