"""What a tool returned, as the model and the page get it: text cut to size, images as parts, nothing lost."""

import base64
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from anyio import to_thread

from echo_constants import StateError
from echo_core.ports import ShadowStore, ToolOutcome, ToolRequest
from echo_protocol import InlineDataPart, Part, TextPart, inline_data_part, split_tool_output, wrap_tool_output
from echo_runtime import _owui
from echo_runtime.call import PipeCall
from echo_runtime.own_tools import READ_TOOL_OUTPUT, SEARCH_WEB, kept_for, output_id, search_sources
from echo_utils import well_formed

log = logging.getLogger(__name__)

#: About 60,000 tokens: one result may not fill the window. Source: our choice; the window has 1,048,576 tokens.
MAX_RESULT_CHARS: Final = 240_000
#: What the results of one step may have together. Source: our choice, about a quarter of the window.
MAX_STEP_CHARS: Final = 960_000
#: What is kept of one result. Source: our choice; it is in memory a few times while it is written.
MAX_KEPT_CHARS: Final = 100_000_000
#: From this size on, reading a result leaves the event loop. Source: our choice, about 2 ms of JSON.
_LARGE_CHARS: Final = 500_000
#: Source: Gemini API docs, Function calling, Multimodal function responses (images and documents).
_MEDIA_TYPES: Final = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
#: Base64 characters of the media in one result: a request may have 20 MB inline. Source: Gemini API docs, Files.
_MAX_MEDIA_CHARS: Final = 8_000_000
_MAGIC: Final = ((b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"%PDF-", "application/pdf"))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A result taken apart: text for the model, media for it, entries for the card."""

    text: str
    media: tuple[Part, ...] = ()
    files: tuple[Mapping[str, Any], ...] = ()
    embeds: tuple[str, ...] = ()


class ResultReader:
    """Reads the results of one answer's tools.

    Args:
        call: whose files and rights count.
        store: where what is cut off is kept; None keeps nothing.
        answer_id: the message under which it is kept.
        sees_media: whether the model takes images in a functionResponse.
    """

    def __init__(self, call: PipeCall, store: ShadowStore | None, answer_id: str, *, sees_media: bool) -> None:
        self._call = call
        self._store = store
        self._answer_id = answer_id
        self._sees_media = sees_media

    async def read(self, request: ToolRequest, tool: Mapping[str, Any], raw: Any, limit_chars: int) -> ToolOutcome:
        """The outcome of one call.

        Args:
            request: the call.
            tool: its entry in `__tools__`.
            raw: what the tool returned.
            limit_chars: what the model may be shown of the text.
        """
        taken = split_tool_output(raw)
        seen = await self._seen(request, tool, taken.value)
        media, notes = self._offered((*seen.media, *taken.media))
        text = await self._fitting(request, "\n".join((seen.text, *notes)) if notes else seen.text, limit_chars)
        response = wrap_tool_output(text)
        if taken.transients:
            response["artifacts"] = list(taken.transients)
        return ToolOutcome(
            card_id=request.card_id,
            response=response,
            text=text,
            media=media,
            files=(*seen.files, *(await self._shown(taken.media))),
            embeds=seen.embeds,
            sources=self._sources(request, tool, seen.text),
        )

    def _sources(self, request: ToolRequest, tool: Mapping[str, Any], text: str) -> tuple[dict[str, Any], ...]:
        if tool.get("type") != "builtin" or len(text) > _LARGE_CHARS:
            return ()
        if request.name == SEARCH_WEB:  # Open WebUI itself shows the card only
            return search_sources(text)
        try:
            return tuple(_owui.tool_sources(request.name, request.args, text, tool))
        except Exception as error:  # sources are an extra; a result of an unforeseen shape still counts
            log.warning("no sources from %s: %s", request.name, type(error).__name__)
            return ()

    async def _seen(self, request: ToolRequest, tool: Mapping[str, Any], value: Any) -> _Seen:
        if isinstance(value, bytes | bytearray | memoryview):
            return await self._binary(bytes(value))
        plain = _plain_text(value)
        if plain is not None:
            return _Seen(await _well_formed(plain))
        large = _size(value) > _LARGE_CHARS
        try:
            text, files, embeds = await _owui.readable_result(
                self._call.request, request.name, value, tool, self._call.metadata, self._call.user, off_loop=large
            )
        except (TypeError, ValueError) as error:  # a value that JSON has no word for
            log.info("result of %s is not JSON: %s", request.name, error)
            text, files, embeds = await to_thread.run_sync(_as_json, value), [], []
        images = [entry for entry in files if isinstance(entry, Mapping) and entry.get("type") == "image"]
        media = [part for entry in images if (part := await self._image(str(entry.get("url") or ""))) is not None]
        shown = await self._shown(media) if any(_is_data(entry) for entry in images) else images
        return _Seen(await _well_formed(text), tuple(media), tuple(shown), tuple(embeds))

    async def _binary(self, data: bytes) -> _Seen:
        kind = next((mime for magic, mime in _MAGIC if data.startswith(magic)), None)
        if kind is not None:
            part = inline_data_part(kind, await to_thread.run_sync(_base64, data))
            return _Seen(f"[{kind}, {len(data)} bytes]", (part,), tuple(await self._shown([part])))
        try:
            return _Seen(data.decode("utf-8"))
        except UnicodeDecodeError:
            return _Seen(f"[The tool returned {len(data)} bytes of binary data, which cannot be shown as text.]")

    async def _image(self, url: str) -> InlineDataPart | None:
        data_uri = url if url.startswith("data:") else await _owui.image_data_uri(url, self._call.user)
        head, comma, data = (data_uri or "").partition(",")
        mime_type = head.removeprefix("data:").partition(";")[0]
        return inline_data_part(mime_type, data) if comma and mime_type else None

    def _offered(self, parts: Sequence[Part]) -> tuple[tuple[Part, ...], list[str]]:
        """The media that the model takes, and a note for each that it does not."""
        media: list[Part] = []
        notes: list[str] = []
        left = _MAX_MEDIA_CHARS
        for part in parts:
            if isinstance(part, TextPart):
                notes.append(part.text)
            elif not isinstance(part, InlineDataPart):
                notes.append("[The tool returned a file that cannot be passed on.]")
            elif not self._sees_media:
                notes.append(f"[{part.mime_type}: shown to the user; this model does not see media in tool results.]")
            elif part.mime_type not in _MEDIA_TYPES:
                notes.append(f"[{part.mime_type}: Gemini does not take this type in a tool result.]")
            elif len(part.data) > left:
                notes.append(f"[{part.mime_type}: too large for a tool result ({len(part.data) * 3 // 4} bytes).]")
            else:
                left -= len(part.data)
                media.append(part)
        return tuple(media), notes

    async def _shown(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """Card entries of images; in a saved chat they become the user's files, so that no chat JSON holds bytes."""
        shown: list[dict[str, Any]] = []
        for part in parts:
            if not isinstance(part, InlineDataPart) or not part.mime_type.startswith("image/"):
                continue
            url = f"data:{part.mime_type};base64,{part.data}"
            if self._call.is_saved and self._call.speaks_responses:
                url = await _owui.keep_image(self._call.request, self._call.metadata, self._call.user, url)
            shown.append({"type": "image", "url": url})
        return shown

    async def _fitting(self, request: ToolRequest, text: str, limit_chars: int) -> str:
        """A result that leaves room for the conversation; the model is told how to read on."""
        total = len(text)
        if total <= limit_chars:
            return text
        how = "The rest is lost."
        if self._store is not None:
            name = output_id(self._answer_id, request.card_id)
            key = kept_for(request.card_id, self._call.user_id)
            try:
                await self._store.keep_tool_output(self._answer_id, key, text[:MAX_KEPT_CHARS])
                how = f'Read on with {READ_TOOL_OUTPUT}(id="{name}", range="{limit_chars}-{2 * limit_chars}").'
            except StateError as error:
                log.warning("a tool's result could not be kept: %s", error)
        return f"{text[:limit_chars]}\n\n[These are the first {limit_chars} of {total} characters. {how}]"


def limit_of(calls: int) -> int:
    """How many characters each of the results of one step may have."""
    return min(MAX_RESULT_CHARS, MAX_STEP_CHARS // max(1, calls))


def _plain_text(value: Any) -> str | None:
    """A long text that needs no reading; Open WebUI's own would parse and write it again on the event loop."""
    if isinstance(value, list) and value and all(_is_text_block(item) for item in value):
        value = value[0]["text"] if len(value) == 1 else "\n".join(item["text"] for item in value)
    if isinstance(value, str) and len(value) > _LARGE_CHARS and not value.startswith("data:"):
        return value
    return None


def _is_text_block(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "text" and isinstance(item.get("text"), str)


def _is_data(entry: Mapping[str, Any]) -> bool:
    return str(entry.get("url") or "").startswith("data:")


def _size(value: Any) -> int:
    """Characters of text in a value, counted no further than needed."""
    size = 0
    for text in _strings(value):
        size += len(text) + 8
        if size > _LARGE_CHARS:
            break
    return size


def _strings(value: Any) -> Iterator[str]:
    """The strings in a value, "" for everything else, so that a value that holds itself is found large, too."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        yield item if isinstance(item, str) else ""


async def _well_formed(text: str) -> str:
    if text.isascii():
        return text
    return await to_thread.run_sync(well_formed, text) if len(text) > _LARGE_CHARS else well_formed(text)


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # keys that are no strings, a value that holds itself
        return str(value)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
