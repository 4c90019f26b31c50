"""A preview of a document without any model: what it is, where its parts are, how it begins, what its tables hold."""

from typing import Final

from echo_ingestion.records import Document, Table

#: Characters of a preview. Source: our choice, about 1,500 tokens.
MAX_OUTLINE_CHARS: Final = 6_000
_MAX_PLACES: Final = 60
_MAX_COLUMNS: Final = 40
_BEGINNING_CHARS: Final = 1_500
_UNITS: Final = ("page", "slide", "sheet", "file")


def outline(document: Document, beginning: str) -> str:
    """What stands for a document in the conversation; always the same for the same document.

    Args:
        document: its facts.
        beginning: the first characters of its text.
    """
    lines = [
        f"{document.kind.upper()}, {_size(document.size_bytes)}, {document.chars} characters of text{_units(document)}."
    ]
    lines += document.notes
    for table in document.tables[:10]:
        lines += _table(table)
    if len(document.tables) > 10:
        lines.append(
            f"… and {len(document.tables) - 10} more tables: {', '.join(t.name for t in document.tables[10:60])}"
        )
    if not document.tables:
        lines += _places(document)
        begun = beginning[:_BEGINNING_CHARS].strip()
        if begun:
            lines += ["It begins:", begun + (" …" if document.chars > _BEGINNING_CHARS else "")]
    text = "\n".join(lines)
    return text if len(text) <= MAX_OUTLINE_CHARS else text[:MAX_OUTLINE_CHARS] + " …"


def how_to_read(document: Document, searched_chars: int = 0) -> str:
    """Which tools read on.

    Args:
        document: its facts.
        searched_chars: how many of its characters can be searched, 0 when it cannot.
    """
    read = f'read_document(id="{document.id}", range=…)'
    if document.tables:
        how = f'Compute with query_table(id="{document.id}", sql=…), never by reading; text: {read}.'
    elif searched_chars:
        how = (
            f'Find what the question needs with search_documents(query=…, id="{document.id}"), and read on with {read}.'
        )
    else:
        how = f"Read the parts that the question needs with {read}."
    if 0 < searched_chars < document.chars:
        how += (
            f" search_documents reaches the first {searched_chars} characters only;"
            f' what follows is read with ranges such as "{searched_chars}-{searched_chars + 20_000}".'
        )
    return f"This is a preview. {how}"


def _table(table: Table) -> list[str]:
    lines = [f'Table "{table.name}" ({table.title}): {table.rows} rows; _row is the row number in the file.']
    if table.above:
        lines.append(f"Above it: {table.above[:300]}")
    lines += [f'- "{column.name}" {column.type}: {column.note}' for column in table.columns[:_MAX_COLUMNS]]
    if len(table.columns) > _MAX_COLUMNS:
        lines.append(f"- … {len(table.columns) - _MAX_COLUMNS} more columns")
    return lines


def _places(document: Document) -> list[str]:
    named = [section for section in document.sections if section.title]
    if not named:
        return []
    # The deepest headings go first when there are too many.
    level = max(section.level for section in named)
    while level > 1 and sum(section.level <= level for section in named) > _MAX_PLACES:
        level -= 1
    shown = [section for section in named if section.level <= level][:_MAX_PLACES]
    lines = [f"{'  ' * (section.level - 1)}- {section.label}: {section.title}" for section in shown]
    return ["Its parts:", *lines, *(["- …"] if len(named) > len(shown) else [])]


def _units(document: Document) -> str:
    counts = {kind: sum(section.kind == kind for section in document.sections) for kind in _UNITS}
    told = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count]
    return f", {', '.join(told)}" if told else ""


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:.1f} MB" if size_bytes >= 1_000_000 else f"{-(-size_bytes // 1_000)} kB"
