"""What a file is by its bytes."""

import pytest

from attached_files import mp4, pdf, picture, wav
from echo_protocol.sniffing import decode_text, sniff


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (picture("PNG"), "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (picture("WEBP"), "image/webp"),
        (picture("GIF"), "image/gif"),
        (picture("BMP"), "image/bmp"),
        (picture("TIFF"), "image/tiff"),
        (b"\x00\x00\x00\x18ftypheic", "image/heic"),
        (b"\x00\x00\x00\x18ftypavif", "image/avif"),
        (pdf(), "application/pdf"),
        (b"\xef\xbb\xbf\n%PDF-1.4", "application/pdf"),
        (wav(), "audio/wav"),
        (b"ID3\x04\x00", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "audio/mpeg"),
        (b"\xff\xf1\x50\x80", "audio/aac"),
        (b"OggS\x00", "audio/ogg"),
        (b"fLaC\x00", "audio/flac"),
        (b"FORM\x00\x00\x00\x00AIFF", "audio/aiff"),
        (b"\x00\x00\x00\x20ftypM4A ", "audio/mp4"),
        (mp4(), "video/mp4"),
        (b"\x00\x00\x00\x14ftypqt  ", "video/quicktime"),
        (b"\x00\x00\x00\x14ftyp3gp5", "video/3gpp"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "video/webm"),
        (b"\x1aE\xdf\xa3\xa3B\x82\x88matroska", "video/x-matroska"),
        (b"PK\x03\x04", ""),
        (b"plain words", ""),
        (b"", ""),
        (b"\xff\xff\xff\xff", ""),
    ],
)
def test_bytes_tell_the_type(data: bytes, mime_type: str) -> None:
    assert sniff(data[:4096]) == mime_type


def test_the_declared_type_only_chooses_between_sound_and_picture() -> None:
    assert sniff(mp4(), "audio/x-m4a") == "audio/mp4"
    assert sniff(b"\x1aE\xdf\xa3\x9fB\x82\x84webm", "audio/webm") == "audio/webm"
    assert sniff(picture("PNG"), "application/pdf") == "image/png"
    assert sniff(b"words", "image/png") == ""


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é✓".encode(), "é✓"),
        (b"\xef\xbb\xbfx", "x"),
        ("é".encode("utf-16"), "é"),
        (b"caf\xe9", "café"),
        (b"", ""),
        (b"a\x00b", None),
        (bytes(range(128, 256)) * 3, None),
        (b"\x01\x02\x03", None),
    ],
)
def test_text_is_told_from_the_rest(data: bytes, text: str | None) -> None:
    assert decode_text(data) == text


def test_a_character_that_is_cut_off_at_the_end_is_dropped() -> None:
    assert decode_text("a✓".encode()[:-1], cut=True) == "a"
    assert decode_text(b"caf\xe9, s'il", cut=True) == "café, s'il"
