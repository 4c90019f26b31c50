"""Asks Gemini whether it accepts a key, without spending tokens."""

from collections.abc import Awaitable, Callable
from typing import Final, Literal

import httpx

from echo_constants import AuthError, EchoError, LimitError
from echo_gemini_client import AiStudioApi, ClientSettings, EchoGeminiClient, WireCall
from echo_http import EchoTransport, RetryPolicy, StreamLimits
from echo_runtime.keys import ApiKey

#: `simulated`: the simulator answers in Gemini's place, so nobody was asked.
Verdict = Literal["accepted", "refused", "limited", "unreachable", "simulated"]

#: Somebody waits in front of the page: one attempt, and short limits.
_IMPATIENT: Final = ClientSettings(
    limits=StreamLimits(connect_s=10.0, first_byte_s=15.0, idle_s=15.0), retries=RetryPolicy(max_attempts=1)
)


class GeminiKeyProbe:
    """Tests keys over the same way that answers take, so that a proxy or certificate problem shows here, too.

    Args:
        base_url: gives the endpoint, read anew at each test.
        transport: makes the way to it.
    """

    def __init__(
        self,
        base_url: Callable[[], Awaitable[str]],
        transport: Callable[[], httpx.AsyncBaseTransport] = EchoTransport,
    ) -> None:
        self._base_url = base_url
        self._transport = transport

    async def __call__(self, key: ApiKey) -> Verdict:
        """What Gemini says of the key, asked for one entry of its model list (free of charge).

        Source: https://ai.google.dev/api/models (models.list).
        """

        async def secret() -> str:
            return key.reveal()

        api = AiStudioApi(await self._base_url())
        call = WireCall(method="GET", url=f"{api.root}/models?pageSize=1", idempotent=True)
        async with self._transport() as transport:
            try:
                await EchoGeminiClient(api, secret, transport, settings=_IMPATIENT).call_json(call)
            except AuthError:
                return "refused"
            except LimitError:
                return "limited"
            except EchoError:
                return "unreachable"
        return "accepted"
