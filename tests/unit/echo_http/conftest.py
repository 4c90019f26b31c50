import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from echo_http import EchoTransport, ProxySettings, TransportSettings
from http_servers import Certificates


@pytest.fixture
async def make_transport() -> AsyncIterator[Callable[..., EchoTransport]]:
    """Builds transports without environment proxies, closed after the test."""
    made: list[EchoTransport] = []

    def make(**arguments: object) -> EchoTransport:
        settings = arguments.pop("settings", None) or TransportSettings(proxies=ProxySettings())
        transport = EchoTransport(settings=settings, **arguments)  # type: ignore[arg-type]
        made.append(transport)
        return transport

    yield make
    for transport in made:
        await transport.aclose()


@pytest.fixture
def transport(make_transport: Callable[..., EchoTransport]) -> EchoTransport:
    return make_transport()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Open WebUI runs under uvloop where it can, workers and tests under asyncio: both must do."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
