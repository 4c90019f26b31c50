"""Trying again: which failures, how long to wait, and what the circuit breaker learns."""

import math
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from echo_constants import EchoError
from echo_core.ports import Clock, OnWait
from echo_gemini_client import errors
from echo_http import CircuitBreaker, RetryPolicy

T = TypeVar("T")

#: The service answered that it cannot now, or nothing was sent at all.
_SAFE_TO_REPEAT: Final = (
    errors.QuotaPerMinute,
    errors.ModelOverloaded,
    errors.ModelPaused,
    errors.ServerFailed,
    errors.NetworkUnreachable,
)
#: Nobody knows whether the request ran.
_UNCERTAIN: Final = (errors.StreamBroken, errors.TimedOut)
_SERVICE_FAILURES: Final = (errors.ModelOverloaded, errors.NetworkUnreachable, errors.ServerFailed, *_UNCERTAIN)
_NO_VERDICT: Final = (errors.QuotaPerMinute, errors.QuotaPerDay, errors.SpendLimit, errors.KeyMissing)


class Attempts:
    """Runs one call until it succeeds, fails for good, or patience ends.

    Args:
        key: the circuit, (backend, host, model).
        idempotent: repeat even when it is not known whether the request ran.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        breaker: CircuitBreaker,
        clock: Clock,
        random: Callable[[], float],
        *,
        key: tuple[str, str, str],
        idempotent: bool,
        on_wait: OnWait | None,
    ) -> None:
        self._policy = policy
        self._breaker = breaker
        self._clock = clock
        self._random = random
        self._key = key
        self._idempotent = idempotent
        self._on_wait = on_wait
        self._made = 0
        self._waited_s = 0.0
        self._cause: EchoError | None = None

    async def run(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Run `operation`, again and again if need be.

        Raises:
            EchoError: the last failure.
        """
        while True:
            self._made += 1
            try:
                self._ask_breaker()
                result = await operation()
            except EchoError as error:
                self._tell_breaker(error)
                wait_s = self._wait_s(error)
                if wait_s is None:
                    if isinstance(error, errors.ModelPaused) and self._cause is not None:
                        raise self._cause from self._cause.__cause__  # it says more than the circuit that it opened
                    raise
                await self._wait(wait_s, error)
            except BaseException:
                self._breaker.abandoned(self._key)
                raise
            else:
                self._breaker.succeeded(self._key)
                return result

    def _ask_breaker(self) -> None:
        blocked_s = self._breaker.blocked_s(self._key, self._clock.monotonic_s())
        if blocked_s > 0:
            raise errors.ModelPaused(
                f"circuit open for {' '.join(self._key)}", retry_after_s=blocked_s, seconds=math.ceil(blocked_s)
            )

    def _tell_breaker(self, error: EchoError) -> None:
        if isinstance(error, errors.ModelPaused):
            return
        self._cause = error
        if isinstance(error, errors.ServerFailed) and self._made > 1:
            return  # one request that always crashes must not close the model for everybody
        if isinstance(error, _SERVICE_FAILURES):
            self._breaker.failed(self._key, self._clock.monotonic_s())
        elif isinstance(error, _NO_VERDICT):
            self._breaker.abandoned(self._key)
        else:
            self._breaker.succeeded(self._key)

    def _wait_s(self, error: EchoError) -> float | None:
        if not isinstance(error, _SAFE_TO_REPEAT) and not (self._idempotent and isinstance(error, _UNCERTAIN)):
            return None
        return self._policy.wait_s(
            error.retry_after_s, attempts=self._made, waited_s=self._waited_s, random=self._random
        )

    async def _wait(self, wait_s: float, error: EchoError) -> None:
        self._waited_s += wait_s
        if self._on_wait is not None:
            await self._on_wait(wait_s, error)
        await self._clock.sleep(wait_s)
