"""How large the objects of a pack are once unpacked, found out without keeping any of them in memory."""

import io
import zlib
from typing import BinaryIO, Final

from dulwich.pack import read_pack_header

from echo_codex_git.errors import CodexLimitError, RemoteFailedError

_CHUNK: Final = 64 * 1024
#: Types of entries that hold a difference to another object. Source: gitformat-pack(5).
_OFS_DELTA: Final = 6
_REF_DELTA: Final = 7
_SHA_BYTES: Final = 20


def require_bounded_pack(file: BinaryIO, *, object_bytes: int, total_bytes: int) -> None:
    """Read a pack through once and refuse one that would unpack to too much.

    A few kilobytes can unpack to gigabytes, both by zlib and by a delta that repeats its base.

    Args:
        file: the pack; read from its beginning.
        object_bytes: what one object may be.
        total_bytes: what all objects together may be.

    Raises:
        CodexLimitError: an object, or all together, are larger.
        RemoteFailedError: it is no pack.
    """
    file.seek(0)
    try:
        _, count = read_pack_header(file.read)
        reader = _Reader(file)
        total = 0
        for _ in range(count):
            size = _entry_bytes(reader, object_bytes)
            total += size
            if size > object_bytes or total > total_bytes:
                raise CodexLimitError(what="clone", limit=f"{object_bytes} / {total_bytes} bytes")
    except (zlib.error, AssertionError, EOFError) as error:
        raise RemoteFailedError(f"broken pack: {error}") from error


class _Reader:
    """Bytes of a file, with what was read too far given back."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._ahead = io.BytesIO()

    def chunk(self) -> bytes:
        """Some bytes, at least one. Raises EOFError."""
        data = self._ahead.read(_CHUNK) or self._file.read(_CHUNK)
        if not data:
            raise EOFError("the pack ends early")
        return data

    def byte(self) -> int:
        """One byte."""
        data = self._ahead.read(1)
        if not data:
            self.give_back(self.chunk())
            data = self._ahead.read(1)
        return data[0]

    def give_back(self, data: bytes) -> None:
        """Bytes that belong to what comes next."""
        self._ahead = io.BytesIO(data + self._ahead.read())


def _entry_bytes(reader: _Reader, limit: int) -> int:
    """The size of one object; of a delta, that of what it makes."""
    byte = reader.byte()
    kind, size, shift = (byte >> 4) & 7, byte & 15, 4
    while byte & 0x80:
        byte = reader.byte()
        size |= (byte & 0x7F) << shift
        shift += 7
    if kind == _OFS_DELTA:
        while reader.byte() & 0x80:
            continue
    elif kind == _REF_DELTA:
        for _ in range(_SHA_BYTES):
            reader.byte()
    head, unpacked = _inflate(reader, limit)
    if unpacked != size:
        raise RemoteFailedError("an entry's size is not what it says")
    return max(size, _delta_target_bytes(head)) if kind in (_OFS_DELTA, _REF_DELTA) else size


def _inflate(reader: _Reader, limit: int) -> tuple[bytes, int]:
    """The first bytes of a compressed entry and its length; the rest is dropped as it comes."""
    engine = zlib.decompressobj()
    head, unpacked, data = b"", 0, b""
    while not engine.eof:
        data = engine.unconsumed_tail or reader.chunk()
        piece = engine.decompress(data, _CHUNK)
        if len(head) < 40:
            head += piece[:40]
        unpacked += len(piece)
        if unpacked > limit:
            raise CodexLimitError(what="file", limit=f"{limit} bytes")
    reader.give_back(engine.unused_data)
    return head, unpacked


def _delta_target_bytes(head: bytes) -> int:
    """The second of the two sizes that a delta begins with. Source: gitformat-pack(5), deltified representation."""
    sizes: list[int] = []
    at = 0
    for _ in range(2):
        size, shift = 0, 0
        while True:
            if at >= len(head):
                raise RemoteFailedError("a delta without its sizes")
            byte, at = head[at], at + 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        sizes.append(size)
    return sizes[1]
