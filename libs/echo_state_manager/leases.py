"""Jobs that one process of all does, once a period: who is at it, and which period is done. Kept in identity.db."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Final

from echo_core.ports import Clock
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore

_KEY: Final = "lease:{job}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What is known of a job.

    Args:
        holder: who is at it, "" = nobody.
        until_s: when that ends unless it is renewed, epoch seconds; a process that died keeps a job no longer.
        done: the last period that was done, -1 = none.
    """

    holder: str = ""
    until_s: float = 0.0
    done: int = -1


class JobLeases:
    """Leases of one process. Any method may raise what `IdentityStore` raises.

    Args:
        identity: where they are.
        clock: time.
        holder: names this process; no two have the same name.
    """

    def __init__(self, identity: IdentityStore, clock: Clock, holder: str) -> None:
        self._identity = identity
        self._clock = clock
        self._holder = holder

    async def take(self, job: str, period: int, ttl_s: float) -> bool:
        """Take a job for a period; False where it is done already or another process is at it."""

        def taken(lease: Lease) -> Lease | None:
            busy = lease.holder not in ("", self._holder) and lease.until_s > self._clock.now_s()
            return None if busy or lease.done >= period else self._held(lease, ttl_s)

        return await self._change(job, taken)

    async def renew(self, job: str, ttl_s: float) -> bool:
        """Keep a job for longer; False where another process has taken it, because this one was too slow."""
        return await self._change(job, lambda lease: self._held(lease, ttl_s) if self._is_mine(lease) else None)

    async def finish(self, job: str, period: int) -> None:
        """Note that a period is done, and let go of the job."""
        await self._change(
            job,
            lambda lease: Lease(done=max(period, lease.done)) if self._is_mine(lease) else None,
        )

    async def give_up(self, job: str) -> None:
        """Let go of a job that is not done."""
        await self._change(job, lambda lease: Lease(done=lease.done) if self._is_mine(lease) else None)

    def _is_mine(self, lease: Lease) -> bool:
        return lease.holder == self._holder

    def _held(self, lease: Lease, ttl_s: float) -> Lease:
        return replace(lease, holder=self._holder, until_s=self._clock.now_s() + ttl_s)

    async def _change(self, job: str, change: Callable[[Lease], Lease | None]) -> bool:
        """Write what `change` makes of a lease; whether it made anything."""
        changed: list[Lease] = []

        def revise(text: str | None) -> str:
            lease = Lease(**json.loads(text)) if text else Lease()
            after = change(lease)
            changed[:] = [] if after is None else [after]
            return json.dumps(asdict(after or lease))

        await self._identity.revise_setting(INSTANCE_OWNER, _KEY.format(job=job), revise)
        return bool(changed)
