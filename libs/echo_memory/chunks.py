"""A text cut into passages along its own structure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: A passage is about this long: some 300 tokens, of which small embedding models read 512. Source: our choice.
WANTED_CHARS: Final = 1_200
#: No passage is longer. Source: as WANTED_CHARS; 512 tokens of French are some 1,900 characters.
MOST_CHARS: Final = 1_800
#: What is shorter than this part of a passage says nothing by itself, as words before a colon do. Source: our choice.
_SCRAP_PART: Final = 8

_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_SENTENCE: Final = re.compile(r"(?<=[.!?…;:])\s+|\n")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text that has a name, such as a page or a section.

    Args:
        start: first character.
        end: behind the last one.
        label: how an answer names the place.
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a text: `text[start:end]`, without white space around it.

    Args:
        label: of the stretch that it lies in, "" for none.
    """

    start: int
    end: int
    label: str


def chunks(text: str, stretches: Sequence[Stretch] = (), *, wanted_chars: int = WANTED_CHARS) -> list[Chunk]:
    """Cut a text into passages that cross no stretch; every character but white space is in exactly one.

    Args:
        text: of any length.
        stretches: may lie inside one another, as sections do, and reach beyond the text; the narrowest names a place.
            What lies in none of them is cut as well.
        wanted_chars: about the length of a passage; none is longer by more than half.
    """
    edges = sorted(
        {0, len(text), *(edge for one in stretches for edge in (one.start, one.end) if 0 < edge < len(text))}
    )
    made: list[Chunk] = []
    for start, end in pairwise(edges):
        around = [one for one in stretches if one.start <= start and end <= one.end]
        label = min(around, key=lambda one: one.end - one.start).label if around else ""
        made += [Chunk(a, b, label) for a, b in _packed(text, start, end, wanted_chars)]
    return made


def _packed(text: str, start: int, end: int, wanted_chars: int) -> Iterator[tuple[int, int]]:
    """Neighbouring pieces put together up to the wanted length; a scrap goes with what follows it, if that has room."""
    held: tuple[int, int] | None = None
    for piece in _pieces(text, start, end, wanted_chars):
        if held is not None:
            scrap = held[1] - held[0] < wanted_chars // _SCRAP_PART
            if piece[1] - held[0] > (_most(wanted_chars) if scrap else wanted_chars):
                yield held
                held = None
        held = (piece[0] if held is None else held[0], piece[1])
    if held is not None:
        yield held


def _most(wanted_chars: int) -> int:
    return wanted_chars * MOST_CHARS // WANTED_CHARS


def _pieces(text: str, start: int, end: int, wanted_chars: int) -> Iterator[tuple[int, int]]:
    """Paragraphs, and of those that are too long their sentences, and of those their words."""
    for a, b in _split(text, start, end, _PARAGRAPH):
        if b - a <= wanted_chars:
            yield a, b
            continue
        for c, d in _split(text, a, b, _SENTENCE):
            while d - c > _most(wanted_chars):
                space = text.rfind(" ", c + wanted_chars // 2, c + wanted_chars)
                cut = space if space > 0 else c + wanted_chars
                yield from _trimmed(text, c, cut)
                c = cut
            yield from _trimmed(text, c, d)


def _split(text: str, start: int, end: int, where: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    begin = start
    for match in where.finditer(text, start, end):
        yield from _trimmed(text, begin, match.start())
        begin = match.end()
    yield from _trimmed(text, begin, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
