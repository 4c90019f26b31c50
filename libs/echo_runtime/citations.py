"""Where an answer comes from, as Open WebUI's page shows it: a source that opens its file at the page."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from echo_ingestion import Document

Emit = Callable[[dict[str, Any]], Awaitable[None]] | None

#: What the page shows of a passage; the model is given all of it. Source: our choice.
_SHOWN_CHARS: Final = 1_000


async def cite(
    emit: Emit, *, source_id: str, name: str, place: str, text: str, document: "Document | None" = None, start: int = 0
) -> None:
    """Show one source.

    Source: Open WebUI 0.12.4, `Citations.svelte` and `CitationModal.svelte`: sources of one id are one entry,
    `file_id` makes its title a link to the file, `page` (from 0) opens it there.

    Args:
        emit: Open WebUI's event emitter; None where no page listens.
        source_id: of the document, message or page that the text was read in.
        name: how the user calls it.
        place: where in it, "" for no place.
        text: what was read.
        document: the document, where it is one that is kept.
        start: the first character of the text in the document's.
    """
    if emit is None:
        return
    shown = f"{name} · {place}" if place else name
    facts = {"source": source_id, "name": shown, **(_opens_at(document, start) if document else {})}
    source = {"id": f"{source_id} {place}", "name": shown}
    await emit({"type": "source", "data": {"source": source, "document": [text[:_SHOWN_CHARS]], "metadata": [facts]}})


def _opens_at(document: "Document", start: int) -> Mapping[str, Any]:
    if not document.file_id:
        return {}
    page = next((s.number for s in document.sections if s.kind == "page" and s.start <= start < s.end), None)
    return {"file_id": document.file_id} | ({} if page is None else {"page": page - 1})
