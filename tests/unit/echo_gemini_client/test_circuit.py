"""What a caller is told when a circuit is open."""

from collections.abc import Awaitable, Callable

import pytest

from echo_constants import EchoError
from echo_gemini_client import NetworkUnreachable, errors
from echo_gemini_client._attempts import Attempts
from echo_http import BreakerSettings, CircuitBreaker, RetryPolicy
from scripted import FakeClock

KEY = ("ai_studio", "gemini.test", "m")


async def unreachable() -> str:
    raise NetworkUnreachable("refused")


async def run(
    breaker: CircuitBreaker, operation: Callable[[], Awaitable[str]], waits: list[str], max_total_wait_s: float = 60
) -> str:
    async def on_wait(_: float, error: EchoError) -> None:
        waits.append(error.code)

    policy = RetryPolicy(max_attempts=3, max_total_wait_s=max_total_wait_s)
    attempts = Attempts(policy, breaker, FakeClock(), lambda: 0.0, key=KEY, idempotent=False, on_wait=on_wait)
    return await attempts.run(operation)


async def test_a_call_that_opened_the_circuit_itself_tells_its_own_failure() -> None:
    breaker = CircuitBreaker(BreakerSettings(failures_to_open=1, open_s=100))
    waits: list[str] = []
    with pytest.raises(NetworkUnreachable) as caught:
        await run(breaker, unreachable, waits)
    assert caught.value.detail == "refused"
    assert waits == ["gemini_network_unreachable"]


async def test_a_call_that_finds_it_open_is_told_how_long() -> None:
    breaker = CircuitBreaker(BreakerSettings(failures_to_open=1, open_s=100))
    breaker.failed(KEY, FakeClock().monotonic_s())
    with pytest.raises(errors.ModelPaused) as caught:
        await run(breaker, unreachable, [])
    assert "Try again in 100 s" in caught.value.user_message("en")
    assert "Réessayez dans 100 s" in caught.value.user_message("fr")


async def test_a_short_pause_is_waited_out() -> None:
    async def answer() -> str:
        return "answer"

    breaker = CircuitBreaker(BreakerSettings(failures_to_open=1, open_s=5))
    breaker.failed(KEY, FakeClock().monotonic_s())
    waits: list[str] = []
    assert await run(breaker, answer, waits) == "answer"
    assert waits == ["gemini_model_paused"]
