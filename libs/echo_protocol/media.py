"""Attachments as Open WebUI and OpenAI write them → media parts that Gemini takes."""

import base64
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from echo_protocol.parts import Part, file_data_part, inline_data_part, text_part

_DATA_URI: Final = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.IGNORECASE)
#: What Gemini reads inline. Source: Gemini API docs, pages on image, audio, video and document understanding.
_INLINE_TYPES: Final = frozenset(
    {
        "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif",
        "audio/wav", "audio/x-wav", "audio/mp3", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac",
        "audio/m4a", "audio/mp4", "audio/webm", "audio/opus",
        "video/mp4", "video/mpeg", "video/mov", "video/quicktime", "video/avi", "video/x-flv", "video/mpg",
        "video/webm", "video/wmv", "video/3gpp", "application/pdf",
    }
)  # fmt: skip
_SAME_TYPE: Final = {
    "application/json": "text/plain",
    "image/jpg": "image/jpeg",
    "audio/x-wav": "audio/wav",
    "audio/mpeg3": "audio/mpeg",
}
_AUDIO_FORMATS: Final = {"mp3": "audio/mpeg", "wav": "audio/wav", "": "audio/wav"}
_URL_SAFE: Final = str.maketrans("-_", "+/")
#: A request with inline media may have 20 MB on older endpoints. Source: Gemini API docs, Files API.
MAX_INLINE_BYTES: Final = 20_000_000


def media_part(url: object) -> Part | None:
    """An address of an attachment as a part; None when there is no address.

    A data URI becomes inlineData, a Google file fileData. What Gemini would refuse for ever after (another type, too
    large, an address that it cannot open) becomes a short text that says so, because a refused part in the history
    would make the chat unusable.
    """
    if not isinstance(url, str) or not url:
        return None
    head = _DATA_URI.match(url)
    if head is None:
        if url.startswith("gs://") or "://generativelanguage.googleapis.com/" in url[:64]:
            return file_data_part("application/octet-stream", url)
        return text_part(f"[attachment: {url[:500]}]")
    mime_type = (head[1] or "text/plain").strip().lower()
    mime_type = _SAME_TYPE.get(mime_type, mime_type)
    body = url[head.end() :]
    data = body if ";base64" in head[2].lower() else base64.b64encode(unquote_to_bytes(body)).decode("ascii")
    return inline_or_note(mime_type, data)


def inline_or_note(mime_type: str, data: str) -> Part:
    """A media part, or a text that says why Gemini cannot have it."""
    if mime_type not in _INLINE_TYPES and not mime_type.startswith("text/"):
        return text_part(f"[attachment left out: type {mime_type} is not supported]")
    size_bytes = len(data) * 3 // 4
    if size_bytes > MAX_INLINE_BYTES:
        return text_part(f"[attachment left out: {mime_type}, {size_bytes} bytes is too large]")
    clean = _clean_base64(data)
    if not clean:
        return text_part(f"[attachment left out: the data of this {mime_type} cannot be read]")
    return inline_data_part(mime_type, clean)


def _clean_base64(data: str) -> str:
    """Standard base64 without blanks, "" for what is none: Gemini refuses it, in every later turn again."""
    text = "".join(data.split()).translate(_URL_SAFE)
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return ""
    return text


def data_uri(item: Any) -> tuple[str, str] | None:
    """(declared type, base64) of an entry of a content list that carries its bytes; None for any other entry."""
    if not isinstance(item, Mapping):
        return None
    if item.get("type") == "input_audio":
        audio = item.get("input_audio")
        if not isinstance(audio, Mapping) or not isinstance(audio.get("data"), str):
            return None
        kind = str(audio.get("format") or "").lower()
        return _AUDIO_FORMATS.get(kind, f"audio/{kind}"), audio["data"]
    holder = item.get("image_url") or item.get("url") or item.get("file") or item.get("file_data")
    if isinstance(holder, Mapping):
        holder = holder.get("url") or holder.get("file_data")
    head = _DATA_URI.match(holder) if isinstance(holder, str) else None
    if head is None or not isinstance(holder, str):
        return None
    body = holder[head.end() :]
    if ";base64" not in head[2].lower():
        body = base64.b64encode(unquote_to_bytes(body)).decode("ascii")
    return head[1].strip().lower(), body


def item_part(item: Any) -> Part | None:
    """One entry of a message's content list; None for an entry that holds nothing for the model."""
    if isinstance(item, str):
        return text_part(item) if item else None
    if not isinstance(item, Mapping):
        return None
    match item.get("type"):
        case "text" | "input_text" | "output_text":
            text = item.get("text")
            return text_part(text) if isinstance(text, str) and text else None
        case "image_url" | "input_image" | "image":
            holder = item.get("image_url") or item.get("url")
            return media_part(holder.get("url") if isinstance(holder, Mapping) else holder)
        case "input_audio":
            audio = item.get("input_audio")
            if isinstance(audio, Mapping) and isinstance(audio.get("data"), str):
                kind = str(audio.get("format") or "").lower()
                return inline_or_note(_AUDIO_FORMATS.get(kind, f"audio/{kind}"), audio["data"])
        case "file" | "input_file":
            file = item.get("file", item)
            return media_part(file.get("file_data")) if isinstance(file, Mapping) else None
    return None
