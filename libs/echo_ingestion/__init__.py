"""Documents: read in bounded processes, kept by content, read back by position, their tables asked in SQL."""

from echo_ingestion.errors import (
    BadQuery,
    BadRange,
    DocumentError,
    DocumentMissing,
    DocumentToolError,
)
from echo_ingestion.folder import FileSeal
from echo_ingestion.library import Answer, Converter, DocumentLibrary, passing_document
from echo_ingestion.limits import Limits
from echo_ingestion.outline import outline
from echo_ingestion.ranges import Span, span_of
from echo_ingestion.records import Column, Document, Section, Table

__all__ = [
    "Answer",
    "BadQuery",
    "BadRange",
    "Column",
    "Converter",
    "Document",
    "DocumentError",
    "DocumentLibrary",
    "DocumentMissing",
    "DocumentToolError",
    "FileSeal",
    "Limits",
    "Section",
    "Span",
    "Table",
    "outline",
    "passing_document",
    "span_of",
]
