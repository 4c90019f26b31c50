"""The text of a document on its way to the disk, with the places in it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from echo_ingestion.records import MARK_CHARS, Section, SectionKind

_ODD: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
#: More places than anybody names. Source: our choice.
_MOST_SECTIONS: Final = 20_000


class TextWriter:
    """Writes a text piece by piece.

    Args:
        path: where it goes, as UTF-8.
        most_chars: what comes after is left out.
    """

    def __init__(self, path: Path, most_chars: int) -> None:
        self._out = path.open("wb")
        self._most_chars = most_chars
        self._bytes = 0
        self.chars = 0
        self.cut = False
        self.blank = True
        self.marks = [0]
        self.sections: list[Section] = []
        self._numbers: dict[SectionKind, int] = {}

    def write(self, text: str) -> None:
        """Add a piece; control characters are dropped."""
        text = _ODD.sub("", text).encode("utf-8", "replace").decode() if not text.isascii() else _ODD.sub("", text)
        self.blank = self.blank and not text.strip()
        room = self._most_chars - self.chars
        if len(text) > room:
            self.cut = True
            text = text[:room]
        while text:
            until_mark = MARK_CHARS - self.chars % MARK_CHARS
            piece, text = text[:until_mark], text[until_mark:]
            data = piece.encode()
            self._out.write(data)
            self._bytes += len(data)
            self.chars += len(piece)
            if self.chars % MARK_CHARS == 0:
                self.marks.append(self._bytes)

    def begin(self, kind: SectionKind, title: str = "", *, level: int = 1, scanned: bool = False) -> None:
        """A section begins here; it ends where the next one that is not inside it does."""
        if len(self.sections) >= _MOST_SECTIONS:
            return
        self._numbers[kind] = number = self._numbers.get(kind, 0) + 1
        title = " ".join(title.split())[:200]
        self.sections.append(
            Section(kind=kind, number=number, title=title, level=level, start=self.chars, scanned=scanned)
        )

    def close(self) -> tuple[Section, ...]:
        """End the text; the sections with their ends."""
        self._out.close()
        return tuple(ended(self.sections, self.chars))


def ended(sections: list[Section], chars: int) -> list[Section]:
    """Each section up to the next one that is not inside it; a heading holds the deeper ones."""
    ends = [chars] * len(sections)
    open_: list[int] = []
    for index, section in enumerate(sections):
        while open_ and not _holds(sections[open_[-1]], section):
            ends[open_.pop()] = section.start
        open_.append(index)
    return [replace(section, end=end) for section, end in zip(sections, ends, strict=True)]


def _holds(outer: Section, inner: Section) -> bool:
    if outer.kind in ("file", "message"):
        return inner.kind not in ("file", "message")
    return outer.kind == inner.kind == "heading" and inner.level > outer.level
