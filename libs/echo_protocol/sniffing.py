"""What a file is, told by its bytes: names and declared types lie."""

import re
from collections.abc import Callable
from typing import Final

#: Bytes from the beginning of a file that `sniff` needs.
SNIFF_BYTES: Final = 4_096

#: Fixed beginnings, the longest first where one begins another. Source: the formats' own specifications.
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"BM", "image/bmp"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
    (b"0&\xb2u\x8ef\xcf\x11", "video/wmv"),
)
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/avi"}
#: Major brands of ISO media files by their beginning; any other is MP4. Source: ISO/IEC 14496-12, mp4ra.org.
_BRANDS: Final = (
    (b"hei", "image/heic"),
    (b"hev", "image/heic"),
    (b"mif1", "image/heif"),
    (b"msf1", "image/heif"),
    (b"avi", "image/avif"),
    (b"M4A", "audio/mp4"),
    (b"M4B", "audio/mp4"),
    (b"qt", "video/quicktime"),
    (b"3g", "video/3gpp"),
)
#: A PDF may have up to 1,024 bytes of anything before its header. Source: Adobe PDF reference, implementation note 13.
_PDF_HEADER_BYTES: Final = 1_024
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def sniff(head: bytes, declared: str = "") -> str:
    """The media type of a file, "" when its bytes belong to no kind that is known here (text does not).

    Args:
        head: its first `SNIFF_BYTES`, or all of it.
        declared: what somebody says it is; decides only between sound and picture of one container.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and decode_text(head) is not None:
        return ""  # UTF-16 begins like a rare frame of MPEG sound
    for magic, mime_type in _MAGIC:
        if head.startswith(magic):
            return mime_type
    for look in _LOOKS:
        found = look(head, declared)
        if found:
            return found
    return ""


def decode_text(data: bytes, *, cut: bool = False) -> str | None:
    """The text of a file: UTF-8, UTF-16 with its mark, or else Windows-1252; None for what is not text.

    Args:
        data: the file or its beginning.
        cut: it is the beginning only; a character that is cut off at the end is dropped.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            even = data[: len(data) // 2 * 2] if encoding == "utf-16" else data
            text = even.decode(encoding, "ignore")
            return None if _CONTROL.search(text) else text
    if b"\x00" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        cut_off = (
            cut and error.end == len(data) and len(data) - error.start < 4 and error.reason == "unexpected end of data"
        )
        text = data[: error.start].decode("utf-8") if cut_off else data.decode("cp1252", "replace")
    return None if _CONTROL.search(text) or text.count("\ufffd") > len(text) // 50 else text


def _pdf(head: bytes, _: str) -> str:
    return "application/pdf" if b"%PDF-" in head[:_PDF_HEADER_BYTES] else ""


def _riff(head: bytes, _: str) -> str:
    return _RIFF.get(head[8:12], "") if head[:4] == b"RIFF" else ""


def _aiff(head: bytes, _: str) -> str:
    return "audio/aiff" if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC") else ""


def _iso_media(head: bytes, declared: str) -> str:
    if head[4:8] != b"ftyp":
        return ""
    brand = head[8:12]
    if brand == b"mif1" and b"avif" in head[16:64]:
        return "image/avif"
    found = next((mime_type for begins, mime_type in _BRANDS if brand.startswith(begins)), "video/mp4")
    return "audio/mp4" if found == "video/mp4" and declared.startswith("audio/") else found


def _matroska(head: bytes, declared: str) -> str:
    if head[:4] != b"\x1aE\xdf\xa3":
        return ""
    if b"webm" not in head[:64]:
        return "video/x-matroska"
    return "audio/webm" if declared.startswith("audio/") else "video/webm"


def _mpeg_audio(head: bytes, _: str) -> str:
    """A frame header: eleven set bits, then version, layer and rates that are not reserved."""
    if len(head) < 4 or head[0] != 0xFF:
        return ""
    if head[1] & 0xF6 == 0xF0:  # layer 0: ADTS
        return "audio/aac"
    layer, rate, sampling = head[1] & 0x06, head[2] >> 4, (head[2] >> 2) & 3
    sound = head[1] & 0xE0 == 0xE0 and head[1] & 0x18 != 0x08 and layer and rate not in (0, 15) and sampling != 3
    return "audio/mpeg" if sound else ""


_LOOKS: Final[tuple[Callable[[bytes, str], str], ...]] = (_pdf, _riff, _aiff, _iso_media, _matroska, _mpeg_audio)
