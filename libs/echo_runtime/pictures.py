"""Pictures of users in a form and size that Gemini takes. Everything here blocks: call it in a thread."""

import io
import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.Image import Image

#: Source: docs/design.md section 8.
MAX_PICTURE_BYTES: Final = 1_000_000
#: Gemini looks at no more than 3,072 pixels a side. Source: Gemini API docs, Image understanding.
_MAX_SIDE_PX: Final = 3_072
#: More would take a gigabyte to unpack.
_MAX_PIXELS: Final = 120_000_000
#: Sent as they are when they are small enough. Source: Gemini API docs, Image understanding.
_SENT_AS_THEY_ARE: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}
_QUALITIES: Final = (90, 80, 65, 50)


class UnreadablePicture(ValueError):
    """The bytes are no picture that can be unpacked."""


def fitted(data: bytes, mime_type: str, limit_bytes: int = MAX_PICTURE_BYTES) -> tuple[bytes, str]:
    """A picture of at most `limit_bytes`, and its type; small ones in a form that Gemini knows come back as they are.

    Others become JPEG, or WebP where they are transparent, smaller step by step until they fit. Of a moving picture
    the first frame counts.

    Args:
        data: a whole file.
        mime_type: as `sniff` found it.
        limit_bytes: the most that may come back.

    Raises:
        UnreadablePicture: damaged, empty or too large to be unpacked.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd metadata, large pictures: judged here
            with Image.open(io.BytesIO(data)) as picture:
                if picture.width * picture.height > _MAX_PIXELS:
                    raise UnreadablePicture(f"{picture.width} x {picture.height} pixels")
                known = _SENT_AS_THEY_ARE.get(mime_type) == picture.format
                picture.load()
                if known and len(data) <= limit_bytes:
                    return data, mime_type
                return _smaller(picture, limit_bytes)
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise UnreadablePicture(str(error)) from error


def _smaller(picture: "Image", limit_bytes: int) -> tuple[bytes, str]:
    from PIL import ImageOps

    turned = ImageOps.exif_transpose(picture)
    clear = "A" in turned.getbands() or "transparency" in turned.info
    mode, form, mime_type = ("RGBA", "WEBP", "image/webp") if clear else ("RGB", "JPEG", "image/jpeg")
    flat = turned.convert(mode)
    side_px = _MAX_SIDE_PX
    while True:
        flat.thumbnail((side_px, side_px))
        for quality in _QUALITIES:
            packed = io.BytesIO()
            flat.save(packed, form, quality=quality)
            if packed.tell() <= limit_bytes:
                return packed.getvalue(), mime_type
        side_px = max(flat.size) * 2 // 3
