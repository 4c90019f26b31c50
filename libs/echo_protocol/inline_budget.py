"""Media inside a request that has become too large: which of them go, the oldest first, and what stands for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from echo_protocol.parts import text_part

#: What a request may have as a whole. Source: Google's 400 text, "Request payload size exceeds the limit: 20971520
#: bytes"; newer pages of the Gemini API docs (Files API) speak of 100 MB, which not every endpoint takes.
MAX_REQUEST_BYTES: Final = 20_000_000
#: Media leave in steps of this size, so that the beginning of a chat's requests changes rarely. Source: our choice.
_STEP_BYTES: Final = 4_000_000

#: One grey pixel as PNG: a functionResponse takes neither addresses of files nor text beside its media.
#: Source: google-genai's types, FunctionResponsePart.file_data ("not supported in Gemini API").
_PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
_GONE: Final = "left out: the request had become too large"


@dataclass(frozen=True, slots=True)
class InlineMedia:
    """One medium of a decoded request.

    Args:
        part: the object that holds it; to be changed in place.
        where: whose it is: the user's, the model's own, or a tool's.
    """

    part: dict[str, Any]
    where: Literal["user", "model", "tool"]

    @property
    def mime_type(self) -> str:
        """Its type as it was sent."""
        return str(self.part["inlineData"].get("mimeType") or "")

    @property
    def data(self) -> str:
        """Base64."""
        return str(self.part["inlineData"].get("data") or "")

    def leave_out(self) -> None:
        """Put in its place what every model takes there."""
        if self.where == "tool":
            self.part["inlineData"] = {"mimeType": "image/png", "data": _PIXEL, "displayName": _GONE}
            return
        words = dict(text_part(f"[{self.mime_type}: {_GONE}]").wire)
        self.part.clear()
        self.part.update(words)

    def replace_by(self, wire: Mapping[str, Any]) -> None:
        """Put another part in its place."""
        self.part.clear()
        self.part.update(wire)


def surplus_media(request: Mapping[str, Any], size_bytes: int) -> list[InlineMedia]:
    """The oldest media that have to leave a request of this size, in whole steps; [] while it may stay as it is.

    Args:
        request: decoded GenerateContentRequest.
        size_bytes: of its serialised form.
    """
    over_bytes = size_bytes - MAX_REQUEST_BYTES
    if over_bytes <= 0:
        return []
    leaving: list[InlineMedia] = []
    left_bytes = -(-over_bytes // _STEP_BYTES) * _STEP_BYTES
    for medium in _media(request):
        if left_bytes <= 0:
            break
        leaving.append(medium)
        left_bytes -= len(medium.data)
    return leaving


def _media(request: Mapping[str, Any]) -> Iterator[InlineMedia]:
    for content in request.get("contents") or ():
        for part in content.get("parts") or ():
            if "inlineData" in part:
                yield InlineMedia(part, "model" if content.get("role") == "model" else "user")
            response = part.get("functionResponse")
            for held in (response.get("parts") or ()) if isinstance(response, Mapping) else ():
                if "inlineData" in held:
                    yield InlineMedia(held, "tool")
