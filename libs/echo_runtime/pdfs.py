"""PDF files as Gemini can open them. Everything here blocks: call it in a thread."""

import io
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pypdf

#: Source: Gemini API docs, Document understanding.
MAX_PDF_PAGES: Final = 1_000
MAX_PDF_BYTES: Final = 50_000_000


class PdfFault(Enum):
    """Why a PDF cannot be sent."""

    LOCKED = "locked"
    BROKEN = "broken"
    TOO_LONG = "too long"


class UnusablePdf(ValueError):
    """A PDF that Gemini would refuse; `fault` says why."""

    def __init__(self, fault: PdfFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


def opened(data: bytes) -> bytes:
    """The file itself, or an unlocked copy of one that is encrypted with an empty password.

    Raises:
        UnusablePdf: it needs a password, cannot be read, has no pages or too many.
    """
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        fault = _fault(reader)
        if fault is None:
            return _unlocked(reader) if reader.is_encrypted else data
    except Exception as error:  # a damaged file breaks pypdf in any way that there is
        raise UnusablePdf(PdfFault.BROKEN) from error
    raise UnusablePdf(fault)


def _fault(reader: "pypdf.PdfReader") -> PdfFault | None:
    if reader.is_encrypted and not reader.decrypt(""):
        return PdfFault.LOCKED
    pages = len(reader.pages)
    return PdfFault.TOO_LONG if pages > MAX_PDF_PAGES else None if pages else PdfFault.BROKEN


def _unlocked(reader: "pypdf.PdfReader") -> bytes:
    from pypdf import PdfWriter

    copy = io.BytesIO()
    with PdfWriter(clone_from=reader) as writer:
        writer.write(copy)
    return copy.getvalue()
