"""An attachment as it was found, and what those of one message may have together."""

from pathlib import Path
from typing import Final

import anyio

#: Text of one file and of all files of one message. Source: docs/design.md section 8.
MAX_TEXT_BYTES: Final = 32 * 1024
MAX_MESSAGE_TEXT_BYTES: Final = 128 * 1024
#: All inline media of a message stay below what one request may have on older endpoints, 20 MB as base64. Source:
#: Gemini API docs, Files API.
MAX_MESSAGE_INLINE_BYTES: Final = 14_000_000


class Budget:
    """What the attachments of one message may still have."""

    def __init__(self) -> None:
        self.text_bytes = MAX_MESSAGE_TEXT_BYTES
        self.inline_bytes = MAX_MESSAGE_INLINE_BYTES


class Found:
    """An attachment, in memory or on disk."""

    def __init__(
        self,
        *,
        name: str,
        declared: str,
        size_bytes: int,
        data: bytes = b"",
        path: Path | None = None,
        extracted: str = "",
        file_id: str = "",
    ) -> None:
        self.name = name
        self.declared = declared
        self.size_bytes = size_bytes
        self.data = data
        self.path = path
        self.extracted = extracted
        self.file_id = file_id

    def holding(self, data: bytes) -> "Found":
        """The same attachment with these bytes."""
        if data == self.data:
            return self
        return Found(name=self.name, declared=self.declared, size_bytes=len(data), data=data)

    async def head(self, size_bytes: int) -> bytes:
        """Its first bytes."""
        if self.path is None:
            return self.data[:size_bytes]
        async with await anyio.open_file(self.path, "rb") as file:
            return await file.read(size_bytes)

    async def whole(self) -> bytes:
        """All of it."""
        return self.data if self.path is None else await anyio.Path(self.path).read_bytes()
