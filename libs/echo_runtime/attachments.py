"""What users attach, as parts that Gemini takes for ever after: judged by bytes, made small, or left out with a word.

A part that Gemini refuses would make every later turn of the chat fail, so whatever cannot be sent becomes a short text
for the model and a notice for the user. Source: docs/design.md section 8, first paragraph.
"""

import base64
import binascii
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import anyio
from anyio import to_thread

from echo_constants import Bilingual
from echo_ingestion import DocumentError
from echo_protocol import Notice, Part, TextPart, file_data_part, inline_data_part, text_part
from echo_protocol.attached import attached_text, spelled, vault_part, video_links
from echo_protocol.media import data_uri, item_part
from echo_protocol.sniffing import SNIFF_BYTES, decode_text, sniff
from echo_runtime import _owui_files, _owui_knowledge
from echo_runtime import attachment_notes as notes
from echo_runtime.attachment_files import (
    MAX_MESSAGE_INLINE_BYTES,
    MAX_MESSAGE_TEXT_BYTES,
    MAX_TEXT_BYTES,
    Budget,
    Found,
)
from echo_runtime.call import PipeCall
from echo_runtime.document_desk import DocumentReader, Opened, whole_text
from echo_runtime.pdfs import MAX_PDF_BYTES, PdfFault, UnusablePdf, opened
from echo_runtime.pictures import MAX_PICTURE_BYTES, UnreadablePicture, fitted
from echo_state_manager.vault import Vault
from echo_utils import defused

log = logging.getLogger(__name__)

#: Sound, films and PDF inside the request; larger ones go through the Files API.
MAX_INLINE_BYTES: Final = 4_000_000
#: Source: Gemini API docs, Files API.
MAX_FILE_BYTES: Final = 2_000_000_000
#: A picture that is larger is not even opened.
_MAX_PICTURE_FILE_BYTES: Final = 100_000_000
#: Reading a PDF that was made to be slow must not hold up an answer for ever.
_PDF_LIMIT_S: Final = 30.0
#: Files of one knowledge collection that come with a question. Source: our choice; each has a preview.
_MAX_COLLECTION_FILES: Final = 30
_PLAYED: Final = frozenset(
    {
        "audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac", "audio/mp4", "audio/webm",
        "video/mp4", "video/mpeg", "video/quicktime", "video/avi", "video/x-flv", "video/webm", "video/wmv",
        "video/3gpp",
    }
)  # fmt: skip
#: Text by its bytes, but more than that to a reader.
_READ_ANYWAY: Final = (".csv", ".tsv", ".tab", ".html", ".htm", ".xhtml", ".eml", ".rtf")
_SENT_PICTURES: Final = ("image/heic", "image/heif")


class Attachments:
    """Reads what belongs to the user messages of one call.

    Args:
        call: whose rights count.
        vault: where large files are kept; None where nothing may be kept (temporary chats, several writers).
        documents: reads what is neither text nor media; None leaves that to Open WebUI.
    """

    def __init__(self, call: PipeCall, vault: Vault | None, documents: DocumentReader | None = None) -> None:
        self._call = call
        self._vault = vault
        self._documents = documents
        self._previews: list[str] = []
        self.notices: list[Notice] = []

    async def parts(self, content: Any, files: Sequence[Any] = ()) -> list[Part]:
        """`read` in one list, with the previews first."""
        words, attached = await self.read(content, files)
        return [*map(text_part, self.take_previews()), *words, *attached]

    def take_previews(self) -> tuple[str, ...]:
        """The artifacts that stand for documents of what was read since the last call."""
        previews, self._previews = tuple(self._previews), []
        return previews

    async def read(self, content: Any, files: Sequence[Any] = ()) -> tuple[list[Part], list[Part]]:
        """The parts of one user message: its words and pictures, and the videos that it links with its files.

        Long documents are in neither: `take_previews` has what stands for them.

        Args:
            content: text or OpenAI content blocks, pictures as data URIs.
            files: Open WebUI's attachment entries; pictures among them are in `content` already.
        """
        budget = Budget()
        items = [content] if isinstance(content, str) else content if isinstance(content, list) else []
        said = [part for item in items if (part := await self._item(item, budget)) is not None]
        words = " ".join(part.text for part in said if isinstance(part, TextPart))
        links = dict.fromkeys([*video_links(words), *(link for entry in files for link in _links_of(entry))])
        films = [file_data_part("video/mp4", link) for link in links]
        entries = [one for entry in files if not _is_picture(entry) for one in await self._unfolded(entry)]
        attached = [await self._entry(entry, budget) for entry in entries]
        return _harmless(said), _harmless([*films, *(part for part in attached if part is not None)])

    async def cleaned(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """An API caller's messages with media that Gemini takes, in the same form."""
        clean: list[Mapping[str, Any]] = []
        for message in messages:
            content = message.get("content")
            if message.get("role") in ("user", "tool") and isinstance(content, list):
                budget = Budget()
                message = {**message, "content": [await self._clean_item(item, budget) for item in content]}
            clean.append(message)
        return clean

    async def _clean_item(self, item: Any, budget: Budget) -> Any:
        uri = data_uri(item)
        if uri is None:
            return item
        part = await self._data(uri[0], uri[1], "", budget)
        if isinstance(part, TextPart):
            return {"type": "text", "text": part.text}
        body = part.wire.get("inlineData") if part is not None else None
        if body is None:
            return item
        return {"type": "image_url", "image_url": {"url": f"data:{body['mimeType']};base64,{body['data']}"}}

    async def _item(self, item: Any, budget: Budget) -> Part | None:
        uri = data_uri(item)
        return item_part(item) if uri is None else await self._data(uri[0], uri[1], "", budget)

    async def _data(self, declared: str, encoded: str, name: str, budget: Budget) -> Part | None:
        """A data URI; decoded in a thread, because pictures have megabytes."""
        try:
            data = await to_thread.run_sync(_decoded, encoded)
        except ValueError:
            return self._left_out(notes.NO_DATA, name)
        return await self._file(Found(name=name, declared=declared, data=data, size_bytes=len(data)), budget)

    async def _unfolded(self, entry: Any) -> Sequence[Any]:
        """The files of a knowledge collection or folder that this user may read, in its place; else the entry."""
        kind = entry.get("type") if isinstance(entry, Mapping) else ""
        if kind not in ("collection", "folder", "note"):
            return [entry]
        found = await _owui_knowledge.entries_of(entry, self._call.user)
        if found is None:
            return [entry]
        if len(found) > _MAX_COLLECTION_FILES:
            told = {"name": str(entry.get("name") or ""), "most": _MAX_COLLECTION_FILES, "count": len(found)}
            self.notices.append(Notice(notes.COLLECTION_CUT, told))
        return found[:_MAX_COLLECTION_FILES]

    async def _entry(self, entry: Any, budget: Budget) -> Part | None:
        """One of Open WebUI's attachment entries."""
        if not isinstance(entry, Mapping) or _links_of(entry):
            return None
        name = str(entry.get("name") or "")
        kind = str(entry.get("type") or "file")
        held = entry.get("file") if isinstance(entry.get("file"), Mapping) else {}
        said = (held or {}).get("data") if isinstance((held or {}).get("data"), Mapping) else {}
        if kind in ("text", "doc", "web_search") and isinstance(said, Mapping) and said.get("content"):
            return self._text(name, str(said["content"]), len(str(said["content"]).encode()), budget)
        file_id = str(entry.get("id") or (held or {}).get("id") or "")
        if kind != "file" or not file_id:
            return self._left_out(notes.OTHER_SOURCE, name, kind=kind)
        found = await _owui_files.uploaded_file(file_id, self._call.user)
        if found is None:
            return self._left_out(notes.GONE, name)
        return await self._file(
            Found(
                name=found.name or name,
                declared=found.declared_type,
                path=found.path,
                size_bytes=found.size_bytes,
                extracted=found.text,
                file_id=file_id,
            ),
            budget,
        )

    async def _file(self, found: Found, budget: Budget) -> Part | None:
        if not found.size_bytes:
            return self._left_out(notes.EMPTY, found.name)
        mime_type = sniff(await found.head(SNIFF_BYTES), found.declared)
        if mime_type.startswith("image/"):
            return await self._picture(found, mime_type, budget)
        if mime_type == "application/pdf":
            return await self._pdf(found, budget)
        if mime_type in _PLAYED:
            return await self._media(found, mime_type, budget)
        if self._documents is not None and (mime_type or not await _is_short_text(found)):
            return await self._document(self._documents, found, mime_type, budget)
        cut = found.size_bytes > MAX_TEXT_BYTES
        text = None if mime_type else decode_text(await found.head(MAX_TEXT_BYTES), cut=cut)
        if text is not None:
            return self._text(found.name, text, found.size_bytes, budget)
        if found.extracted:
            return self._text(found.name, found.extracted, len(found.extracted.encode()), budget)
        return self._left_out(notes.UNKNOWN_TYPE, found.name, kind=mime_type or found.declared or "?")

    async def _document(self, documents: DocumentReader, found: Found, mime_type: str, budget: Budget) -> Part | None:
        """Whole where it is short and there is room, else its preview, which goes before the words."""
        name = found.name or notes.NAMELESS.render(self._call.locale)
        try:
            opened = await _opened(documents, found, mime_type)
        except DocumentError as error:
            log.info("a document of %d bytes was not read: %s", found.size_bytes, error)
            if found.extracted:
                return self._text(found.name, found.extracted, len(found.extracted.encode()), budget)
            return self._left_out(error.sentence, name, **error.fields)
        text = whole_text(opened)
        size_bytes = len(text.encode()) if opened.document.chars <= MAX_TEXT_BYTES else opened.document.chars
        short = opened.document.text_is_all and size_bytes <= min(MAX_TEXT_BYTES, budget.text_bytes)
        if opened.kept and not short:
            await self._stand_in(documents, opened, name)
            return None
        return self._text(name, text, size_bytes, budget)

    async def _picture(self, found: Found, mime_type: str, budget: Budget) -> Part:
        if found.size_bytes > _MAX_PICTURE_FILE_BYTES:
            return self._too_large(found, _MAX_PICTURE_FILE_BYTES)
        if mime_type in _SENT_PICTURES:
            return await self._media(found, mime_type, budget)
        limit_bytes = min(MAX_PICTURE_BYTES, max(budget.inline_bytes, 1))
        try:
            data, mime_type = await to_thread.run_sync(fitted, await found.whole(), mime_type, limit_bytes)
        except UnreadablePicture as error:
            log.info("a picture of %d bytes was left out: %s", found.size_bytes, error)
            return self._left_out(notes.NO_PICTURE, found.name)
        return await self._inline(data, mime_type, budget)

    async def _pdf(self, found: Found, budget: Budget) -> Part | None:
        if found.size_bytes > MAX_PDF_BYTES:
            if self._documents is not None:
                return await self._document(self._documents, found, "application/pdf", budget)
            return self._too_large(found, MAX_PDF_BYTES)
        try:
            with anyio.fail_after(_PDF_LIMIT_S):
                data = await to_thread.run_sync(opened, await found.whole(), abandon_on_cancel=True)
        except TimeoutError:
            return self._left_out(notes.NO_DATA, found.name)
        except UnusablePdf as error:
            if error.fault is PdfFault.TOO_LONG and self._documents is not None:
                return await self._document(self._documents, found, "application/pdf", budget)
            return self._left_out(notes.PDF_FAULTS[error.fault], found.name)
        if self._documents is not None and self._documents.keeps and found.size_bytes > MAX_INLINE_BYTES:
            await self._preview_too(self._documents, found)
        return await self._media(found.holding(data), "application/pdf", budget)

    async def _preview_too(self, documents: DocumentReader, found: Found) -> None:
        """A preview beside a large PDF, which Google keeps for 48 hours and compaction may take out of the chat."""
        try:
            opened = await _opened(documents, found, "application/pdf")
        except DocumentError as error:
            log.info("a PDF of %d bytes has no preview: %s", found.size_bytes, error)
            return
        await self._stand_in(documents, opened, found.name or notes.NAMELESS.render(self._call.locale))

    async def _stand_in(self, documents: DocumentReader, opened: Opened, name: str) -> None:
        """Put a document's preview before the words."""
        preview, searched_chars = await documents.preview(opened, name)
        self._previews.append(preview)
        if documents.encrypts:
            self.notices.append(Notice(notes.NOT_SEARCHED, {"name": name}))
        elif 0 < searched_chars < opened.document.chars:
            told = {"name": name, "searched": searched_chars, "chars": opened.document.chars}
            self.notices.append(Notice(notes.SEARCHED_IN_PART, told))

    async def _media(self, found: Found, mime_type: str, budget: Budget) -> Part:
        """Inline while it is small and there is room, else through the vault and the Files API."""
        most_bytes = MAX_INLINE_BYTES if self._vault is not None else MAX_MESSAGE_INLINE_BYTES
        if found.size_bytes <= min(most_bytes, budget.inline_bytes):
            return await self._inline(await found.whole(), mime_type, budget)
        if self._vault is None or found.size_bytes > MAX_FILE_BYTES:
            return self._too_large(found, MAX_FILE_BYTES if self._vault is not None else MAX_MESSAGE_INLINE_BYTES)
        source = found.data if found.path is None else found.path
        kept = await self._vault.put(source, mime_type=mime_type, name=found.name, file_id=found.file_id)
        return vault_part(kept.mime_type, kept.sha256)

    async def _inline(self, data: bytes, mime_type: str, budget: Budget) -> Part:
        budget.inline_bytes -= len(data)
        encoded = await to_thread.run_sync(lambda: base64.b64encode(data).decode("ascii"))
        return inline_data_part(spelled(mime_type), encoded)

    def _text(self, name: str, text: str, size_bytes: int, budget: Budget) -> Part:
        room_bytes = min(MAX_TEXT_BYTES, budget.text_bytes)
        name = name or notes.NAMELESS.render(self._call.locale)
        if room_bytes < min(size_bytes, MAX_TEXT_BYTES):
            return self._left_out(notes.TEXT_FULL, name, most_kb=MAX_MESSAGE_TEXT_BYTES // 1024)
        kept = text.encode()[:room_bytes].decode("utf-8", "ignore")
        budget.text_bytes -= len(kept.encode())
        if size_bytes <= MAX_TEXT_BYTES:
            return attached_text(name, kept)
        fields = {"name": name, "kept_kb": MAX_TEXT_BYTES // 1024, "size_kb": -(-size_bytes // 1024)}
        notice = Notice(notes.TEXT_CUT, fields)
        self.notices.append(notice)
        return attached_text(name, f"{kept}\n[… {notice.render(self._call.locale)}]")

    def _too_large(self, found: Found, most_bytes: int) -> Part:
        size_mb, most_mb = -(-found.size_bytes // 1_000_000), most_bytes // 1_000_000
        return self._left_out(notes.TOO_LARGE, found.name, size_mb=size_mb, most_mb=most_mb)

    def _left_out(self, text: Bilingual, name: str, **fields: object) -> TextPart:
        name = name or notes.NAMELESS.render(self._call.locale)
        notice = Notice(text, {"name": name, **fields})
        self.notices.append(notice)
        return text_part(f"[{notice.render(self._call.locale)}]")


def _harmless(parts: Iterable[Part]) -> list[Part]:
    """The parts with text that can pass for no artifact."""
    return [text_part(defused(part.text)) if isinstance(part, TextPart) else part for part in parts]


async def _opened(documents: DocumentReader, found: Found, mime_type: str) -> Opened:
    """Raises as `DocumentReader.open`."""
    return await documents.open(
        found.data if found.path is None else found.path,
        name=found.name or "document",
        mime_type=mime_type or found.declared,
        file_id=found.file_id,
        chars=MAX_TEXT_BYTES + 1,
    )


async def _is_short_text(found: Found) -> bool:
    """Whether a file needs no reader: UTF-8 that fits into the message and is no table, page or mail."""
    if found.size_bytes > MAX_TEXT_BYTES or found.name.lower().endswith(_READ_ANYWAY):
        return False
    data = await found.whole()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return decode_text(data) is not None


def _decoded(encoded: str) -> bytes:
    """The bytes of a data URI's body, base64 of either alphabet.

    Raises:
        ValueError: it is none.
    """
    plain = "".join(encoded.split()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _is_picture(entry: Any) -> bool:
    """What Open WebUI itself puts into the content. Source: `is_raster_image_content_type`, release 0.12.4."""
    if not isinstance(entry, Mapping):
        return True
    kind = str(entry.get("content_type") or "").partition(";")[0].strip().lower()
    return entry.get("type") == "image" or (kind.startswith("image/") and kind != "image/svg+xml")


def _links_of(entry: Any) -> Iterable[str]:
    url = entry.get("url") if isinstance(entry, Mapping) else None
    return video_links(url) if isinstance(url, str) else []
