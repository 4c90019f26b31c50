"""A tiny real PNG whose colour follows the prompt."""

import base64
import hashlib
import struct
import zlib


def png(prompt: str, size_px: int = 16) -> str:
    """A square PNG of one colour, in standard base64."""
    red, green, blue = hashlib.sha256(prompt.encode()).digest()[:3]
    rows = (b"\x00" + bytes((red, green, blue)) * size_px) * size_px

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", size_px, size_px, 8, 2, 0, 0, 0)
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    ).decode()
