"""The Files API and embeddings of the Gemini API.

Source: Gemini API reference, Files and Embeddings (resumable upload; files live 48 hours, 2 GB each).
"""

import json
from collections.abc import AsyncIterable, Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

from echo_gemini_client import errors
from echo_gemini_client._apis import AiStudioApi, WireCall
from echo_gemini_client._client import EchoGeminiClient

#: A multiple of the server's granularity of 256 KiB. Source: official SDK.
UPLOAD_CHUNK_BYTES: Final = 8 * 1024 * 1024


class GeminiFiles:
    """Uploads of one key.

    Args:
        client: of the Gemini API (`AiStudioApi`); Code Assist has no files.
    """

    def __init__(self, client: EchoGeminiClient) -> None:
        if not isinstance(client.api, AiStudioApi):
            raise TypeError("files need the Gemini API")
        self._client = client
        self._api: AiStudioApi = client.api

    async def upload(
        self, content: AsyncIterable[bytes], *, size_bytes: int, mime_type: str, display_name: str = ""
    ) -> dict[str, Any]:
        """Upload a file; returns its resource (`name`, `uri`, `state`, `expirationTime` …).

        Raises:
            EchoError: as `EchoGeminiClient.stream_generate`; RequestRefused also when `content` has another size.
        """
        url = await self._start(size_bytes, mime_type, display_name)
        offset, waiting = 0, bytearray()
        async for piece in content:
            waiting += piece
            while len(waiting) > UPLOAD_CHUNK_BYTES:
                part = bytes(waiting[:UPLOAD_CHUNK_BYTES])
                del waiting[:UPLOAD_CHUNK_BYTES]
                await self._send_part(url, part, offset, "upload")
                offset += len(part)
        if offset + len(waiting) != size_bytes:
            raise errors.RequestRefused(f"the file has {offset + len(waiting)} bytes, {size_bytes} were announced")
        answer = await self._send_part(url, bytes(waiting), offset, "upload, finalize")
        file: dict[str, Any] = answer.get("file", answer)
        return file

    async def get(self, name: str) -> dict[str, Any]:
        """A file's resource by name (`files/abc`). Raises PermissionRefused when it is foreign, expired or unknown."""
        return await self._client.call_json(self._on(name, "GET"))

    async def delete(self, name: str) -> None:
        """Delete a file by name. Raises as `get`."""
        await self._client.call_json(self._on(name, "DELETE"))

    def _on(self, name: str, method: str) -> WireCall:
        return WireCall(method=method, url=f"{self._api.root}/{quote(name, safe='/')}", idempotent=True)

    async def _start(self, size_bytes: int, mime_type: str, display_name: str) -> str:
        file = {"mimeType": mime_type, "sizeBytes": str(size_bytes), "displayName": display_name}
        call = WireCall(
            method="POST",
            url=f"{self._api.base_url}/upload/{self._api.api_version}/files",
            body=json.dumps({"file": {key: value for key, value in file.items() if value}}).encode(),
            headers={
                "x-goog-upload-protocol": "resumable",
                "x-goog-upload-command": "start",
                "x-goog-upload-header-content-length": str(size_bytes),
                "x-goog-upload-header-content-type": mime_type,
            },
            idempotent=True,
        )
        url = (await self._client.call(call)).headers.get("x-goog-upload-url", "")
        if urlsplit(url).scheme not in ("http", "https"):
            raise errors.RequestRefused("the server gave no upload URL")
        return url

    async def _send_part(self, url: str, part: bytes, offset: int, command: str) -> dict[str, Any]:
        call = WireCall(
            method="POST",
            url=url,
            body=part,
            headers={
                "content-type": "application/octet-stream",
                "x-goog-upload-command": command,
                "x-goog-upload-offset": str(offset),
            },
            with_key=False,  # the upload id authorises, and the URL came from outside
        )
        return await self._client.call_json(call)


async def embed_texts(
    client: EchoGeminiClient,
    model: str,
    texts: Sequence[str],
    *,
    task_type: str = "",
    dimension: int | None = None,
) -> list[list[float]]:
    """Embed texts with a Gemini model; returns vectors of shape (len(texts), dim), as the server made them.

    Args:
        client: of the Gemini API.
        model: such as `gemini-embedding-001`.
        texts: at most 100 a call, the server's limit.
        task_type: such as `RETRIEVAL_DOCUMENT`, "" = none.
        dimension: None = the model's own; smaller vectors are not normalised by gemini-embedding-001.

    Raises:
        EchoError: as `EchoGeminiClient.stream_generate`.
    """
    if not isinstance(client.api, AiStudioApi):
        raise TypeError("embeddings need the Gemini API")
    more = {"taskType": task_type, "outputDimensionality": dimension}
    common = {"model": f"models/{model}", **{key: value for key, value in more.items() if value}}
    requests = [{**common, "content": {"parts": [{"text": text}]}} for text in texts]
    call = WireCall(
        method="POST",
        url=f"{client.api.root}/models/{quote(model, safe='')}:batchEmbedContents",
        body=json.dumps({"requests": requests}, ensure_ascii=False).encode(),
        idempotent=True,
    )
    answer = await client.call_json(call, model=model)
    vectors = [item.get("values", []) for item in answer.get("embeddings", [])]
    if len(vectors) != len(texts):
        raise errors.RequestRefused(f"{len(vectors)} embeddings for {len(texts)} texts")
    return vectors
