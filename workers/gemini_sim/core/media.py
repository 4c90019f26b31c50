"""Which inline data the server takes."""

import re
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid

#: Source: supported formats, documented; images of other kinds (gif, svg, the misspelt jpg) are refused, third-party.
_SUPPORTED: Final = re.compile(
    r"image/(?:png|jpeg|webp|heic|heif)|audio/[\w.+-]+|video/[\w.+-]+|text/[\w.+-]+|"
    r"application/(?:pdf|rtf|x-javascript|x-python)"
)


def _blobs(part: dict[str, Any]) -> list[dict[str, Any]]:
    inner = part.get("functionResponse", {}).get("parts", [])
    return [row["inlineData"] for row in (part, *inner) if "inlineData" in row]


def check_media(contents: list[dict[str, Any]]) -> None:
    """Every inline blob names a MIME type that is supported; parameters such as a charset are ignored.

    Raises:
        GoogleRefusal: 400. Source: text third-party.
    """
    for content in contents:
        for part in content["parts"]:
            for blob in _blobs(part):
                mime = str(blob.get("mimeType", ""))
                if not _SUPPORTED.fullmatch(mime.partition(";")[0].strip().lower()):
                    raise invalid(f"Unsupported MIME type: {mime}")
