"""Deterministic token counts, and the prompt as the sequence of segments that implicit caching compares."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from echo_workers.gemini_sim.core.models import ServerModel

#: Source: "a token is about four characters", documented.
_BYTES_A_TOKEN: Final = 4
#: Tokens of one image by model generation. Source: 258 up to 2.5 documented; about 1,120 on Gemini 3 documented.
_IMAGE_TOKENS: Final = {True: 1_120, False: 258}
_AUDIO_BYTES_A_TOKEN: Final = 500
_VIDEO_BYTES_A_TOKEN: Final = 2_000


def text_tokens(text: str) -> int:
    """Tokens of a text: one for four UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN)


@dataclass(frozen=True, slots=True)
class Segment:
    """One part, tool list or system text of a prompt.

    Args:
        data: the bytes that caching compares.
        tokens: what it costs.
        modality: TEXT, IMAGE, AUDIO, VIDEO or DOCUMENT.
        text: a text segment can be cached up to a byte; any other only whole.
    """

    data: bytes
    tokens: int
    modality: str
    text: bool


def _media(blob: dict[str, Any], model: ServerModel, stored_bytes: int) -> tuple[int, str]:
    mime = str(blob.get("mimeType", ""))
    size = stored_bytes or len(blob.get("data", "")) * 3 // 4
    if mime.startswith("image/"):
        return _IMAGE_TOKENS[model.generation >= 3], "IMAGE"
    if mime.startswith("audio/"):
        return max(32, size // _AUDIO_BYTES_A_TOKEN), "AUDIO"
    if mime.startswith("video/"):
        return max(263, size // _VIDEO_BYTES_A_TOKEN), "VIDEO"
    if mime == "application/pdf":
        return max(258, size // 100), "DOCUMENT"
    return max(1, size // _BYTES_A_TOKEN), "TEXT"


def part_segment(
    part: dict[str, Any], model: ServerModel, signed_tokens: int, raw: Any, stored_bytes: int = 0
) -> Segment:
    """The segment of one part.

    Args:
        part: the part with camelCase names.
        model: decides what an image costs.
        signed_tokens: thought tokens that the part's signature carries; they come back as prompt tokens.
            Source: Gemini API stream with a thought signature, recorded (prompt count rises by the thoughts).
        raw: the part as it was sent; its bytes in the order sent are what caching compares.
        stored_bytes: size of the file that `fileData` names.
    """
    data = json.dumps(raw, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    modality, is_text = "TEXT", False
    if "inlineData" in part or "fileData" in part:
        tokens, modality = _media(part["inlineData" if "inlineData" in part else "fileData"], model, stored_bytes)
    elif "text" in part:
        tokens, is_text = text_tokens(part["text"]), True
    else:
        tokens = _data_tokens(part, model)
    return Segment(data, tokens + signed_tokens, modality, is_text)


def _data_tokens(part: dict[str, Any], model: ServerModel) -> int:
    answer = part.get("functionResponse")
    if answer is None:
        body = {name: value for name, value in part.items() if name not in ("thoughtSignature", "thought")}
        return text_tokens(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    bare = {name: value for name, value in answer.items() if name != "parts"}
    blobs = [extra["inlineData"] for extra in answer.get("parts", []) if "inlineData" in extra]
    return text_tokens(json.dumps(bare, ensure_ascii=False, separators=(",", ":"))) + sum(
        _media(blob, model, 0)[0] for blob in blobs
    )


def json_segment(value: Any) -> Segment:
    """The segment of a tool list: compared byte by byte like a text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Segment(text.encode("utf-8", "surrogatepass"), text_tokens(text), "TEXT", True)


def details(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    """`promptTokensDetails`: tokens by modality, TEXT first."""
    sums: dict[str, int] = {}
    for segment in segments:
        sums[segment.modality] = sums.get(segment.modality, 0) + segment.tokens
    order = sorted(sums, key=lambda name: (name != "TEXT", name))
    return [{"modality": name, "tokenCount": sums[name]} for name in order if sums[name]]
