"""A circuit breaker per backend and model: what keeps failing is left alone for a while. Pure; time comes in.

closed --(failures_to_open in a row)--> open --(open_s over)--> half open --success--> closed
                                         ^                         |
                                         +------ failure (twice as long, up to longest_open_s)
"""

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerSettings:
    """When to stop trying, and for how long.

    Args:
        failures_to_open: failures in a row.
        open_s: the first pause; doubled each time the trial after it fails.
        longest_open_s: the longest pause.
        trial_s: how long a trial may run before another request may try instead.
    """

    failures_to_open: int = 5
    open_s: float = 15.0
    longest_open_s: float = 240.0
    trial_s: float = 60.0


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    pause_s: float = 0.0  # 0 = closed
    open_until_s: float = 0.0
    trial_until_s: float = 0.0


class CircuitBreaker:
    """Many circuits by key, such as (backend, model). `now_s` is a monotonic clock's."""

    def __init__(self, settings: BreakerSettings | None = None) -> None:
        self._settings = settings or BreakerSettings()
        self._circuits: dict[Hashable, _Circuit] = {}

    def blocked_s(self, key: Hashable, now_s: float) -> float:
        """0 = go (after a pause this takes the one trial), else seconds until a trial is allowed."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.pause_s == 0:
            return 0.0
        free_at_s = max(circuit.open_until_s, circuit.trial_until_s)
        if now_s < free_at_s:
            return free_at_s - now_s
        circuit.trial_until_s = now_s + self._settings.trial_s
        return 0.0

    def succeeded(self, key: Hashable) -> None:
        """The service answered (also with a refusal that is about this one request)."""
        self._circuits.pop(key, None)

    def failed(self, key: Hashable, now_s: float) -> None:
        """The service failed: overloaded, 5xx, no connection, no answer."""
        settings = self._settings
        circuit = self._circuits.setdefault(key, _Circuit())
        circuit.failures += 1
        circuit.trial_until_s = 0.0
        if circuit.pause_s and now_s < circuit.open_until_s:
            return  # a request from before the pause
        if circuit.pause_s or circuit.failures >= settings.failures_to_open:
            circuit.pause_s = min(settings.longest_open_s, circuit.pause_s * 2 or settings.open_s)
            circuit.open_until_s = now_s + circuit.pause_s

    def abandoned(self, key: Hashable) -> None:
        """A request ended without a verdict (stopped by its user); its trial is free again."""
        circuit = self._circuits.get(key)
        if circuit is not None:
            circuit.trial_until_s = 0.0
