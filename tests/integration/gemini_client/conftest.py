from collections.abc import AsyncIterator, Callable

import pytest

from echo_gemini_client import AiStudioApi, ClientSettings, CodeAssistApi, EchoGeminiClient
from echo_http import EchoTransport, ProxySettings, StreamLimits, TransportSettings
from http_servers import InstantClock
from sim_fixture import RunningSim, running_sim, sim

__all__ = ["running_sim", "sim"]


@pytest.fixture
async def transport() -> AsyncIterator[EchoTransport]:
    transport = EchoTransport(settings=TransportSettings(proxies=ProxySettings()))
    yield transport
    await transport.aclose()


@pytest.fixture
def make_client(sim: RunningSim, transport: EchoTransport) -> Callable[..., EchoGeminiClient]:
    """Clients of the simulator; waits are instant and without jitter."""

    async def key() -> str:
        return "integration-key-0123456789"

    def make(*, code_assist: bool = False, limits: StreamLimits | None = None) -> EchoGeminiClient:
        api = CodeAssistApi(base_url=sim.base_url, project="demo") if code_assist else AiStudioApi(sim.base_url)
        return EchoGeminiClient(
            api,
            key,
            transport,
            settings=ClientSettings(limits=limits or StreamLimits()),
            clock=InstantClock(),
            random_source=lambda: 0.0,
        )

    return make


@pytest.fixture
def client(make_client: Callable[..., EchoGeminiClient]) -> EchoGeminiClient:
    return make_client()
