"""A small drawing, made row by row: a cat when one is asked for, else a landscape. Colours follow the prompt."""

import base64
import hashlib
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

#: Width and height of the drawing, pixels.
SIZE_PX: Final = 256

_CAT: Final = re.compile(r"\b(?:cats?|kittens?|chats?|chatons?|chattes?)\b", re.IGNORECASE)

#: Places in the palette.
_BACK, _LIGHT, _BODY, _SHADE, _WHITE, _DARK, _ROSE = range(7)


@dataclass(frozen=True, slots=True)
class Ellipse:
    """A filled ellipse: centre, half axes (pixels) and its place in the palette."""

    x: int
    y: int
    across: int
    down: int
    colour: int

    def span(self, y: int) -> tuple[int, int] | None:
        """First column and the one after the last that it covers in a row."""
        share = 1 - ((y - self.y) / self.down) ** 2
        half = round(self.across * share**0.5) if share > 0 else 0
        return (self.x - half, self.x + half) if half else None


@dataclass(frozen=True, slots=True)
class Peak:
    """A filled triangle on a level base: its tip, the row of the base, the base's columns, the colour."""

    x: int
    y: int
    base: int
    left: int
    right: int
    colour: int

    def span(self, y: int) -> tuple[int, int] | None:
        """First column and the one after the last that it covers in a row."""
        if not self.y <= y <= self.base:
            return None
        share = (y - self.y) / (self.base - self.y)
        return round(self.x + (self.left - self.x) * share), round(self.x + (self.right - self.x) * share)


Shape = Ellipse | Peak

_CAT_SHAPES: Final[tuple[Shape, ...]] = (
    Ellipse(128, 262, 150, 60, _LIGHT),
    Ellipse(128, 250, 74, 80, _SHADE),
    Ellipse(128, 262, 44, 70, _WHITE),
    Peak(58, 34, 130, 50, 124, _BODY),
    Peak(198, 34, 130, 132, 206, _BODY),
    Peak(68, 58, 120, 64, 104, _ROSE),
    Peak(188, 58, 120, 152, 192, _ROSE),
    Ellipse(128, 130, 82, 70, _BODY),
    Ellipse(128, 166, 42, 30, _WHITE),
    *(Ellipse(x, 122, 19, 21, _WHITE) for x in (94, 162)),
    *(Ellipse(x, 124, 10, 17, _DARK) for x in (96, 160)),
    *(Ellipse(x, 117, 4, 5, _WHITE) for x in (99, 163)),
    Ellipse(128, 151, 10, 7, _ROSE),
    Ellipse(128, 164, 2, 9, _DARK),
    *(Ellipse(x, 174, 11, 3, _DARK) for x in (118, 138)),
    *(Ellipse(x, y, 34, 2, _DARK) for x in (52, 204) for y in (152, 164, 176)),
)
_LAND_SHAPES: Final[tuple[Shape, ...]] = (
    Ellipse(192, 62, 32, 32, _WHITE),
    *(Ellipse(x, y, 26, 10, _LIGHT) for x, y in ((52, 54), (76, 46), (98, 56))),
    Peak(84, 78, 210, -20, 176, _SHADE),
    Peak(84, 78, 108, 62, 105, _WHITE),
    Peak(178, 112, 210, 92, 270, _DARK),
    Ellipse(60, 262, 190, 82, _BODY),
    Ellipse(220, 278, 170, 84, _ROSE),
)


def png(prompt: str) -> str:
    """The drawing for a prompt as a PNG with a palette, in standard base64."""
    shapes = _CAT_SHAPES if _CAT.search(prompt) else _LAND_SHAPES
    palette = b"".join(bytes(colour) for colour in _palette(hashlib.sha256(prompt.encode()).digest()))
    header = struct.pack(">IIBBBBB", SIZE_PX, SIZE_PX, 8, 3, 0, 0, 0)
    rows = b"".join(b"\x00" + row for row in _rows(shapes))
    body = [(b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in body)).decode()


def _palette(seed: bytes) -> list[tuple[int, int, int]]:
    """Seven colours; sky, ground and fur vary with the seed within a range that keeps the shapes apart."""
    warm, cool = seed[0] % 48, seed[1] % 48
    return [
        (150 + cool, 196 + seed[2] % 40, 236),
        (206 + cool, 226, 214 + seed[3] % 40),
        (196 + warm, 128 + seed[4] % 48, 62),
        (150 + warm, 92 + seed[5] % 40, 58),
        (255, 250, 240),
        (46, 42, 58),
        (238, 150 + seed[6] % 32, 158),
    ]


def _rows(shapes: Sequence[Shape]) -> Iterator[bytes]:
    for y in range(SIZE_PX):
        row = bytearray([_BACK]) * SIZE_PX
        for shape in shapes:
            span = shape.span(y)
            if span is not None:
                start, end = max(0, span[0]), min(SIZE_PX, span[1])
                row[start:end] = bytes([shape.colour]) * max(0, end - start)
        yield bytes(row)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
