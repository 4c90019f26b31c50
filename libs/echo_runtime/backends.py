"""Gemini endpoints for calls: one transport and one breaker for the process, the key of whoever asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from echo_constants import Bilingual
from echo_core.ports import Clock
from echo_gemini_client import AiStudioApi, EchoGeminiClient
from echo_http import CircuitBreaker, EchoTransport
from echo_runtime.call import PipeCall
from echo_runtime.keys import KeyRing
from echo_runtime.settings import Settings

#: Set by `echoctl up` when it starts the simulator, so that nobody mistakes its answers for Google's.
SIMULATOR_VARIABLE: Final = "ECHO_SIMULATOR_URL"

SIMULATOR_NOTICE: Final = Bilingual(
    en="Demo: ECHO's Gemini simulator answers here, not Gemini.",
    fr="Démo : c'est le simulateur Gemini d'ECHO qui répond, pas Gemini.",
)


def is_simulator(base_url: str, env: Mapping[str, str]) -> bool:
    """Whether an endpoint is the simulator that `echoctl up` started."""
    simulator = env.get(SIMULATOR_VARIABLE, "").rstrip("/")
    return bool(simulator) and base_url.rstrip("/") == simulator


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Gemini for one call.

    Args:
        client: asks it.
        signer: the backend and the class of the key that sign its answers, as in a shadow's `backend`.
    """

    client: EchoGeminiClient
    signer: str


class Backends:
    """Makes a client for each call; clients are cheap, connections are shared.

    Args:
        keys: finds the caller's key.
        env: the process environment.
    """

    def __init__(self, keys: KeyRing, clock: Clock, env: Mapping[str, str]) -> None:
        self._keys = keys
        self._clock = clock
        self._env = env
        self._transport = EchoTransport(clock=clock)
        self._breaker = CircuitBreaker()

    async def for_call(self, call: PipeCall, settings: Settings) -> Endpoint:
        """The endpoint that this call talks to, with the key of its user: the same one to the end of the turn.

        Raises:
            StateError: the stored keys cannot be read.
        """
        found = await self._keys.resolve(call.user_id, call.valves.GEMINI_API_KEY)

        async def key() -> str | None:
            return None if found is None else found.reveal()

        client = EchoGeminiClient(
            AiStudioApi(settings.base_url), key, self._transport, breaker=self._breaker, clock=self._clock
        )
        return Endpoint(client, f"{client.name}:{found.key_class if found is not None else ''}")

    async def client_for(self, call: PipeCall, settings: Settings) -> EchoGeminiClient:
        """The client of `for_call`. Raises as that."""
        return (await self.for_call(call, settings)).client

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def is_simulator(self, settings: Settings) -> bool:
        """Whether the endpoint is the simulator that `echoctl up` started."""
        return is_simulator(settings.base_url, self._env)
