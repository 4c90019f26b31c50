"""Asks Gemini whether it accepts a key, without spending tokens."""

from collections.abc import Awaitable, Callable
from typing import Final, Literal

import httpx

from echo_runtime.keys import ApiKey

#: Source: https://ai.google.dev/api/models (models.list; free of charge).
_PATH: Final = "/v1beta/models"
_DEADLINE_S: Final = 15.0
_LIMITED: Final = 429
_REFUSED: Final = frozenset({400, 401, 403})

Verdict = Literal["accepted", "refused", "limited", "unreachable"]


class GeminiKeyProbe:
    """Tests keys against `models?pageSize=1`.

    Args:
        base_url: gives the endpoint's scheme and host, read anew at each test.
        transport: how to reach it; None = the network.
    """

    def __init__(
        self, base_url: Callable[[], Awaitable[str]], transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._base_url = base_url
        self._transport = transport

    async def __call__(self, key: ApiKey) -> Verdict:
        """What Gemini says of the key. A wrong key is answered with 400 or 401, a barred one with 403."""
        headers = {"x-goog-api-key": key.reveal()}
        url = (await self._base_url()).rstrip("/") + _PATH
        try:
            async with httpx.AsyncClient(transport=self._transport, timeout=_DEADLINE_S) as client:
                response = await client.get(url, params={"pageSize": "1"}, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL):
            return "unreachable"
        if response.is_success:
            return "accepted"
        if response.status_code in _REFUSED:
            return "refused"
        return "limited" if response.status_code == _LIMITED else "unreachable"
