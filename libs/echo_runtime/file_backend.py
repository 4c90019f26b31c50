"""Puts real addresses in the place of vault references when a request is sent, and uploads what Google does not have.

Google keeps an upload for 48 hours and for one project only. The sealed history names files by digest, so it stays the
same for ever; the address is looked up here, in the moment of sending. Source: docs/design.md section 5, last lines.
"""

import datetime as dt
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from echo_constants import Bilingual, EchoError, Locale, UpstreamError
from echo_core.ports import Clock, GenerateRequest, OnWait
from echo_events import NoticeShown
from echo_gemini_client import EchoGeminiClient, GeminiFiles, PermissionRefused, RequestRefused
from echo_protocol import Notice, file_data_part, text_part
from echo_protocol.attached import kept_files, linked_videos
from echo_runtime import attachment_notes as notes
from echo_runtime.backends import Endpoint
from echo_runtime.call import PipeCall
from echo_runtime.request_size import MovedMedia, within_limit
from echo_runtime.vaults import Vaults
from echo_runtime.waiting import show_now
from echo_state_manager.vault import Upload, Vault, VaultFile
from echo_utils import dumps

log = logging.getLogger(__name__)

#: An address is not used when it ends sooner than an answer may take. Source: our choice.
_MARGIN_S: Final = 3_600
#: For an answer that names no end. Source: Gemini API docs, Files API (48 hours).
_LIFE_S: Final = 47 * 3_600
#: Films are taken apart by Google before they can be used. Source: our choice; an hour of film takes about a minute.
_READY_LIMIT_S: Final = 300
_LOOK_EVERY_S: Final = 2.0
_MAX_REFUSED_VIDEOS: Final = 1_024

#: Told to the page: a status line, and the next one replaces it.
Tell = Callable[[NoticeShown], Awaitable[None]]


class FileNotReady(UpstreamError):
    """Google takes very long to prepare an uploaded file."""

    code = "gemini_file_not_ready"
    message = Bilingual(en="Google is still processing {name}.", fr="Google traite encore {name}.")
    remedy = Bilingual(en="Ask again in a few minutes.", fr="Reposez la question dans quelques minutes.")


class FileBackend:
    """A ModelBackend over another one. One instance a call.

    Args:
        inner: the client of the caller's key.
        vault: the caller's files.
        scope: names endpoint and key, so that an address is used only where it is valid.
        clock: for expiry and waits.
        tell: shows a status line.
        locale: the caller's language.
        refused_videos: links that Google did not open, shared by all calls.
        keeps: whether media that a request has no room for may go into the vault.
        moved: those that are there, shared by all calls.
    """

    def __init__(
        self,
        inner: EchoGeminiClient,
        vault: Vault,
        scope: str,
        clock: Clock,
        tell: Tell,
        locale: Locale,
        refused_videos: dict[str, None],
        *,
        keeps: bool = True,
        moved: MovedMedia | None = None,
    ) -> None:
        self.name = inner.name
        self.client = inner
        self._vault = vault
        self.scope = scope
        self._clock = clock
        self._tell = tell
        self._locale = locale
        self._refused_videos = refused_videos
        self._told: set[str] = set()
        self._keeps = keeps
        self._moved = moved or MovedMedia()

    @asynccontextmanager
    async def stream_generate(
        self, request: GenerateRequest, *, on_wait: OnWait | None = None
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """As `ModelBackend.stream_generate`.

        When Google refuses a request with files, it is sent once more: addresses that it does not know any more are
        made anew, and linked videos that it does not open are left out.
        """
        async with AsyncExitStack() as stack:
            sent = await self._with_addresses(request)
            try:
                chunks = await stack.enter_async_context(self.client.stream_generate(sent, on_wait=on_wait))
            except (PermissionRefused, RequestRefused) as error:
                if not await self._mended(request, error):
                    raise
                sent = await self._with_addresses(request)
                chunks = await stack.enter_async_context(self.client.stream_generate(sent, on_wait=on_wait))
            yield chunks

    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        """As `ModelBackend.generate`."""
        return await self.client.generate(await self._with_addresses(request))

    async def count_tokens(self, request: GenerateRequest) -> int:
        """As `ModelBackend.count_tokens`."""
        return await self.client.count_tokens(await self._with_addresses(request))

    async def list_models(self) -> list[dict[str, Any]]:
        """As `ModelBackend.list_models`."""
        return await self.client.list_models()

    def keep_nothing(self) -> None:
        """From now on no media go into the vault: in a chat with several writers they may be somebody else's."""
        self._keeps = False

    async def addressed(self, request: GenerateRequest) -> GenerateRequest:
        """The same request with the addresses that its files have now; what Google does not have is uploaded.

        Raises:
            EchoError: as `GeminiFiles.upload`.
        """
        return await self._with_addresses(request)

    async def _mended(self, request: GenerateRequest, error: EchoError) -> bool:
        """Whether something was done that another try may profit from."""
        files = {row[2] for row in kept_files(request.body_json)}
        if files and isinstance(error, PermissionRefused):
            scope = self.scope
            for sha256 in files:
                await self._vault.remember(sha256, scope, None)
            return True
        links = {row[2] for row in linked_videos(request.body_json)} - self._refused_videos.keys()
        for link in links:
            if len(self._refused_videos) >= _MAX_REFUSED_VIDEOS:
                self._refused_videos.pop(next(iter(self._refused_videos)))
            self._refused_videos[link] = None
        if links:
            await self._tell(NoticeShown(notes.VIDEO_REFUSED.render(self._locale), "warning"))
        return bool(links)

    async def _with_addresses(self, request: GenerateRequest) -> GenerateRequest:
        """The same request when it is small enough and names no file of the vault and no video that was refused."""
        request, left_out = await within_limit(request, self._vault if self._keeps else None, self._moved)
        if left_out:
            await self._say(notes.MEDIA_LEFT_OUT)
        body = request.body_json
        files = kept_files(body)
        refused = [row for row in linked_videos(body) if row[2] in self._refused_videos]
        if not files and not refused:
            return request
        closed = dumps(text_part(f"[{notes.VIDEO_REFUSED.render(self._locale)}]").wire)
        parts = dict.fromkeys((row[2] for row in refused), closed)
        if files:
            scope = self.scope
            parts |= {sha256: await self._part(sha256, scope) for sha256 in dict.fromkeys(row[2] for row in files)}
        pieces: list[bytes] = []
        end = 0
        for start, stop, what in sorted([*files, *refused]):
            pieces += (body[end:start], parts[what])
            end = stop
        return replace(request, body_json=b"".join((*pieces, body[end:])))

    async def _part(self, sha256: str, scope: str) -> bytes:
        """The part that stands for a file: its address, or words when there is none."""
        file = await self._vault.find(sha256)
        if file is None:
            return await self._missing(sha256, Notice(notes.FILE_VANISHED))
        upload = file.uploads.get(scope)
        if upload is None or upload.expires_s < self._clock.now_s() + _MARGIN_S:
            try:
                upload = await self._upload(file)
            except RequestRefused as error:
                log.warning("a file of %d bytes was refused: %s", file.size_bytes, error)
                return await self._missing(sha256, Notice(notes.FILE_REFUSED, {"name": file.name}))
            await self._vault.remember(sha256, scope, upload)
        await self._vault.used(sha256)
        return dumps(file_data_part(file.mime_type, upload.uri).wire)

    async def _missing(self, sha256: str, notice: Notice) -> bytes:
        text = notice.render(self._locale)
        if sha256 not in self._told:
            self._told.add(sha256)
            await self._tell(NoticeShown(text, "warning"))
        return dumps(text_part(f"[{text}]").wire)

    async def _say(self, text: Bilingual) -> None:
        """Told once a call."""
        if text.en not in self._told:
            self._told.add(text.en)
            await self._tell(NoticeShown(text.render(self._locale), "warning"))

    async def _upload(self, file: VaultFile) -> Upload:
        """Send a file to Google and wait until it can be used.

        Raises:
            EchoError: as `GeminiFiles.upload`; FileNotReady; RequestRefused when Google cannot process the file.
        """
        files = GeminiFiles(self.client)
        await self._tell(NoticeShown(self._named(notes.UPLOADING, file), done=False))
        resource = await files.upload(
            self._vault.read(file.sha256), size_bytes=file.size_bytes, mime_type=file.mime_type, display_name=""
        )
        give_up_s = self._clock.monotonic_s() + _READY_LIMIT_S
        while resource.get("state") == "PROCESSING":
            if self._clock.monotonic_s() > give_up_s:
                raise FileNotReady(name=file.name)
            await self._clock.sleep(_LOOK_EVERY_S)
            resource = await files.get(str(resource["name"]))
        if resource.get("state") == "FAILED" or not resource.get("uri"):
            raise RequestRefused(f"the state of an upload is {resource.get('state')}")
        await self._tell(NoticeShown(self._named(notes.UPLOADED, file)))
        return Upload(uri=str(resource["uri"]), expires_s=self._expiry(resource))

    def _named(self, text: Bilingual, file: VaultFile) -> str:
        return text.render(self._locale, name=file.name or notes.NAMELESS.render(self._locale))

    def _expiry(self, resource: dict[str, Any]) -> float:
        try:
            return dt.datetime.fromisoformat(str(resource.get("expirationTime"))).timestamp()
        except ValueError:
            return self._clock.now_s() + _LIFE_S


class FileBackends:
    """Makes a FileBackend for each call.

    Args:
        vaults: the files of users.
        clock: for expiry and waits.
    """

    def __init__(self, vaults: Vaults, clock: Clock) -> None:
        self._vaults = vaults
        self._moved = MovedMedia()
        self._clock = clock
        self._refused_videos: dict[str, None] = {}

    def around(self, endpoint: Endpoint, call: PipeCall) -> FileBackend:
        """The same endpoint for requests that name files of the caller's vault."""
        return FileBackend(
            endpoint.client,
            self._vaults.of(call),
            f"{endpoint.client.api.base_url} {endpoint.signer}",
            self._clock,
            partial(show_now, call),
            call.locale,
            self._refused_videos,
            keeps=call.is_saved,
            moved=self._moved,
        )
