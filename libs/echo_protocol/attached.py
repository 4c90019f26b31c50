"""Attachments as parts: how a text file, a kept file and a video address are written for the model."""

import re
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import quoteattr

from echo_protocol.contents import Content
from echo_protocol.models import ModelInfo
from echo_protocol.parts import FileDataPart, InlineDataPart, Part, TextPart, file_data_part, text_part

#: Begins the address of a file in the owner's vault; it is replaced by a real one when a request is sent.
VAULT_SCHEME: Final = "echo-vault:"
#: How the part of an attached text file begins.
ATTACHED_FILE: Final = "<attached_file name="

#: How Gemini spells some types. Source: Gemini API docs, pages on audio and video understanding.
_SPELLINGS: Final = {
    "audio/mpeg": "audio/mp3",
    "audio/x-wav": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "video/quicktime": "video/mov",
}
#: Source: Gemini API docs, Video understanding ("up to 10 videos per request").
MAX_VIDEO_LINKS: Final = 10
_VIDEO_LINK: Final = re.compile(
    r"https?://(?:(?:www\.|m\.|music\.)?youtube\.com/(?:watch\?(?:[^\s#]*&)?v=|shorts/|live/|embed/)|youtu\.be/)"
    r"([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])",
    re.IGNORECASE,
)
_WATCH: Final = "https://www.youtube.com/watch?v="
_CLOSING: Final = re.compile(r"</(attached_file)", re.IGNORECASE)
_KEPT: Final = re.compile(
    rb'\{"fileData":\{"mimeType":"[^"\\]*","fileUri":"' + VAULT_SCHEME.encode() + rb'([0-9a-f]{64})"\}\}'
)

_LINKED: Final = re.compile(
    rb'\{"fileData":\{"mimeType":"[^"\\]*","fileUri":"(' + re.escape(_WATCH).encode() + rb'[A-Za-z0-9_-]{11})"\}\}'
)


def spelled(mime_type: str) -> str:
    """A media type as Gemini writes it."""
    return _SPELLINGS.get(mime_type, mime_type)


def attached_text(name: str, text: str) -> TextPart:
    """A text file; what it says is data, and its end cannot be forged from inside."""
    body = _CLOSING.sub(r"&lt;/\1", text)
    return text_part(f"{ATTACHED_FILE}{quoteattr(name)}>\n{body}\n</attached_file>")


def vault_part(mime_type: str, sha256: str) -> FileDataPart:
    """A file that is kept in the owner's vault, by digest."""
    return file_data_part(spelled(mime_type), VAULT_SCHEME + sha256)


def kept_files(body: bytes) -> list[tuple[int, int, str]]:
    """Where in a serialised request files of the vault are named: (start, end, sha256) of each whole part.

    Only what `content_json` writes is found: inside a text the quotes are escaped, so no text can pass for a part.
    """
    if b'"' + VAULT_SCHEME.encode() not in body:
        return []
    return [(found.start(), found.end(), found[1].decode()) for found in _KEPT.finditer(body)]


def linked_videos(body: bytes) -> list[tuple[int, int, str]]:
    """As `kept_files`, for videos that are named by their address at YouTube."""
    if b'"' + _WATCH.encode() not in body:
        return []
    return [(found.start(), found.end(), found[1].decode()) for found in _LINKED.finditer(body)]


def video_links(text: str) -> list[str]:
    """Addresses of YouTube videos in a text, each once, in the one form that Gemini's docs use."""
    ids = dict.fromkeys(found[1] for found in _VIDEO_LINK.finditer(text))
    return [f"{_WATCH}{video}" for video in list(ids)[:MAX_VIDEO_LINKS]]


def media_kind(mime_type: str) -> str:
    """`image`, `audio`, `video`, `pdf`, or "" for text and anything else: the words of `Capabilities.input_media`."""
    kind = mime_type.partition("/")[0]
    return "pdf" if mime_type == "application/pdf" else kind if kind in ("image", "audio", "video") else ""


def within_media(contents: Sequence[Content], model: ModelInfo) -> tuple[Content, ...]:
    """Contents in which media that the model cannot take are words that say so; the same object when nothing is."""
    changed = [Content(content.role, _within(content.parts, model)) for content in contents]
    same = all(new.parts is old.parts for new, old in zip(changed, contents, strict=True))
    return tuple(contents) if same else tuple(changed)


def _within(parts: tuple[Part, ...], model: ModelInfo) -> tuple[Part, ...]:
    taken = model.capabilities.input_media
    if all(_kind_of(part) in ("", *taken) for part in parts):
        return parts
    return tuple(
        text_part(f"[{kind}: this model cannot read it]") if (kind := _kind_of(part)) not in ("", *taken) else part
        for part in parts
    )


def _kind_of(part: Part) -> str:
    return media_kind(part.mime_type) if isinstance(part, InlineDataPart | FileDataPart) else ""
