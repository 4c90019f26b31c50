"""Files as users attach them, made on the spot."""

import io
import os
from typing import Any

from PIL import Image
from pypdf import PdfWriter


def picture(form: str = "PNG", size: tuple[int, int] = (64, 48), mode: str = "RGB", *, noisy: bool = False) -> bytes:
    """A picture; a noisy one cannot be packed well."""
    bands = len(mode)
    data = os.urandom(size[0] * size[1] * bands) if noisy else bytes(size[0] * size[1] * bands)
    out = io.BytesIO()
    Image.frombytes(mode, size, data).save(out, form)
    return out.getvalue()


def pdf(pages: int = 1, password: str | None = None) -> bytes:
    """A PDF with empty pages, locked when there is a password ("" locks with the empty one)."""
    with PdfWriter() as writer:
        for _ in range(pages):
            writer.add_blank_page(200, 200)
        if password is not None:
            writer.encrypt(password, "owner", algorithm="AES-256")
        out = io.BytesIO()
        writer.write(out)
    return out.getvalue()


def wav(seconds: float = 0.1) -> bytes:
    """Silence."""
    frames = bytes(int(8000 * seconds))
    head = (
        b"WAVEfmt " + (16).to_bytes(4, "little") + b"\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00"
    )
    body = head + b"data" + len(frames).to_bytes(4, "little") + frames
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def mp4(size_bytes: int = 200) -> bytes:
    """The beginning of a film, and noise."""
    head = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"
    return head + os.urandom(size_bytes - len(head))


def entry(file_id: str, name: str, content_type: str = "") -> dict[str, Any]:
    """Open WebUI's attachment entry."""
    return {"type": "file", "id": file_id, "url": file_id, "name": name, "content_type": content_type}
