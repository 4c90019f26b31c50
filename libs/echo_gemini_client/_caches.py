"""Explicit caches of the Gemini API: beginnings of requests that Google keeps ready for a while.

Source: Gemini API reference, cachedContents; research notes on the recorded shape.
"""

import json
from typing import Any
from urllib.parse import quote

from echo_gemini_client._apis import AiStudioApi, WireCall
from echo_gemini_client._client import EchoGeminiClient


class GeminiCaches:
    """Caches of one key. Every method raises as `EchoGeminiClient.stream_generate`.

    Args:
        client: of the Gemini API (`AiStudioApi`); Code Assist has no caches.
    """

    def __init__(self, client: EchoGeminiClient) -> None:
        if not isinstance(client.api, AiStudioApi):
            raise TypeError("caches need the Gemini API")
        self._client = client
        self._root = client.api.root

    async def create(self, model: str, body_json: bytes) -> dict[str, Any]:
        """Keep a beginning; returns its resource (`name`, `expireTime`, `usageMetadata`).

        Args:
            model: the only one that may use it, without `models/`.
            body_json: a serialised CachedContent, sent as it is.
        """
        call = WireCall(method="POST", url=f"{self._root}/cachedContents", body=body_json)
        return await self._client.call_json(call, model=model)

    async def extend(self, name: str, ttl_s: float) -> dict[str, Any]:
        """Let a cache live this long from now on."""
        body = json.dumps({"ttl": f"{ttl_s:.0f}s"}).encode()
        return await self._client.call_json(self._on(name, "PATCH", body))

    async def delete(self, name: str) -> None:
        """Let go of a cache."""
        await self._client.call_json(self._on(name, "DELETE"))

    def _on(self, name: str, method: str, body: bytes | None = None) -> WireCall:
        return WireCall(method=method, url=f"{self._root}/{quote(name, safe='/')}", body=body, idempotent=True)
