from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from echo_core.ports import OnWait
from echo_gemini_client import AiStudioApi, Api, ClientSettings, EchoGeminiClient
from echo_http import CircuitBreaker, EchoTransport, ProxySettings, TransportSettings
from gemini_scripts import KEY, Waits
from http_servers import Certificates, InstantClock


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def make_client() -> AsyncIterator[Callable[..., EchoGeminiClient]]:
    """Builds clients for a base URL; waits are instant and without jitter."""
    transport = EchoTransport(settings=TransportSettings(proxies=ProxySettings()))

    def make(
        url: str,
        *,
        api: Api | None = None,
        key: str | None = KEY,
        key_source: Callable[[], Awaitable[str | None]] | None = None,
        settings: ClientSettings | None = None,
        breaker: CircuitBreaker | None = None,
        on_wait: OnWait | None = None,
    ) -> EchoGeminiClient:
        async def source() -> str | None:
            return key

        return EchoGeminiClient(
            api or AiStudioApi(url),
            key_source or source,
            transport,
            settings=settings,
            breaker=breaker,
            on_wait=on_wait,
            clock=InstantClock(),
            random_source=lambda: 0.0,
        )

    yield make
    await transport.aclose()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))
